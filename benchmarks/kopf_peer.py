"""The same job by an ordinary kopf operator: `kopf run -m benchmarks.kopf_peer`.

On creation of a job it makes the Service and the pods and sets the status, which kopf then patches.
To kopf's advantage it uses aiohttp directly instead of a model-based client, posts no Kubernetes
events, and does not watch pods.
"""

import contextlib
from typing import Any

import kopf

from benchmarks import objects
from benchmarks.api_connection import connect
from testbed.cluster import Cluster
from testbed.instance import chosen_index


@kopf.on.login()
def log_in(**given: Any) -> kopf.ConnectionInfo | None:  # noqa: ANN401
    """By KUBECONFIG."""
    return kopf.login_with_kubeconfig(**given)


@kopf.on.startup()
async def configure(settings: kopf.OperatorSettings, memo: kopf.Memo, **_: Any) -> None:  # noqa: ANN401
    """One session for all handlers."""
    settings.posting.enabled = False
    memo.closing = contextlib.AsyncExitStack()
    memo.connection = await memo.closing.enter_async_context(connect(Cluster(chosen_index()), user="kopf"))


@kopf.on.cleanup()
async def close(memo: kopf.Memo, **_: Any) -> None:  # noqa: ANN401
    await memo.closing.aclose()


@kopf.on.create(objects.GROUP, objects.VERSION, objects.PLURAL)
async def create(body: kopf.Body, patch: kopf.Patch, memo: kopf.Memo, **_: Any) -> None:  # noqa: ANN401
    """Everything that a job needs."""
    job = dict(body)
    namespace = body["metadata"]["namespace"]
    replicas = body["spec"]["tfReplicaSpecs"][objects.ROLE]["replicas"]
    await memo.connection.create(objects.services_path(namespace), objects.service(job))
    for index in range(replicas):
        await memo.connection.create(objects.pods_path(namespace), objects.pod(job, index, replicas))
    patch.status["replicaStatuses"] = {objects.ROLE: {"active": replicas}}
