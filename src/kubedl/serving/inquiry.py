"""Questions of a plan to the API server. They are answered between two passes of planning; nothing is written."""

from dataclasses import dataclass, field
from typing import Any

from kubedl.kube import codec
from kubedl.kube.client import Client
from kubedl.kube.errors import ApiError, NotFoundError
from kubedl.kube.types.core import PODS, SERVICE_ACCOUNTS
from kubedl.kube.types.meta import ObjectKey
from kubedl.serving.workload.model_init_container import DeliveryMode
from kubedl.serving.workload.template import Body


@dataclass(frozen=True)
class PullSecrets:
    """The pull secrets of a ServiceAccount. The answer is a tuple of names."""

    account: ObjectKey


@dataclass(frozen=True)
class DryRun:
    """A dry run of creating a pod. The answer is the pod as the API server would store it."""

    workload: str
    mode: DeliveryMode
    namespace: str
    pod: Body = field(compare=False)  # determined by the other fields


Question = PullSecrets | DryRun
Answer = Any  # as documented at the question, or the ApiError


class UnansweredError(Exception):
    """The plan needs the answer to a question."""

    def __init__(self, question: Question) -> None:
        super().__init__(str(question))
        self.question = question


async def ask(client: Client, question: Question) -> Answer:
    """Return the answer of the API server. Nothing is written."""
    try:
        if isinstance(question, PullSecrets):
            return await _pull_secrets(client, question.account)
        path, params = PODS.path(question.namespace), {"dryRun": "All"}
        return codec.decode(await client.call("create", PODS, path, params=params, body=question.pod), dict[str, Any])
    except ApiError as error:
        return error


async def _pull_secrets(client: Client, account: ObjectKey) -> tuple[str, ...]:
    try:
        found = await client.get(SERVICE_ACCOUNTS, account)
    except NotFoundError:
        return ()  # the API server reports this for the pod
    return tuple(secret.name for secret in found.image_pull_secrets or () if secret.name)
