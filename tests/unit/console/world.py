"""A console without a cluster: objects are put into its cache, and a table says who may list what."""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any, cast

from kubedl.console.access import Access, TokenAccess
from kubedl.console.assets import Assets
from kubedl.console.cache import Stores
from kubedl.console.feed import Feed
from kubedl.console.history_source import History
from kubedl.console.journal import Journal
from kubedl.console.kinds import NODES, PODS, job_resources
from kubedl.console.pages import Pages
from kubedl.console.people import Caller, Person
from kubedl.console.reviews import TokenReviews
from kubedl.console.rights import Question, Rights
from kubedl.console.server import Console
from kubedl.console.sessions import Seal, Tries
from kubedl.console.wire import Alive
from kubedl.history.observed_pods import EVENTS
from kubedl.kube import codec
from kubedl.kube.credentials import Credentials
from kubedl.kube.types.meta import Resource

if TYPE_CHECKING:
    from kubedl.kube.client import Client

JOBS = "pytorchjobs.training.kubedl.io"
NOW = datetime(2026, 11, 18, 12, 0, tzinfo=UTC)
KEY = b"k" * 32
ALIVE = Alive(silent_seconds=0.0, unanswered_seconds=0.0)
SERVER = Credentials("http://127.0.0.1:1", None)


@dataclass
class Clock:
    """A clock that a test moves."""

    now: float = 1000.0

    def __call__(self) -> float:
        return self.now


@dataclass
class Reviewer:
    """Answers reviews from tables, and counts them."""

    tokens: dict[str, str] = field(default_factory=dict)
    allowed: set[tuple[str, str, str]] = field(default_factory=set)  # user, resource, namespace
    acts: set[tuple[str, str, str, str]] = field(default_factory=set)  # user, verb other than list, resource, namespace
    asked: list[tuple[str, Question]] = field(default_factory=list)
    tokens_asked: int = 0

    async def may(self, caller: Caller, question: Question) -> bool:
        """Answer whether a person may; an empty namespace in the table means all."""
        user, name = caller.person.name, f"{question.resource}.{question.group}".rstrip(".")
        self.asked.append((user, question))
        if question.verb == "list":
            return (user, name, question.namespace) in self.allowed
        return (user, question.verb, name, question.namespace) in self.acts

    async def call(self, verb: str, resource: Any, path: str, *, body: Mapping[str, Any]) -> bytes:  # noqa: ANN401
        """Answer a TokenReview, as a client would."""
        assert (verb, resource.kind) == ("create", "TokenReview")
        self.tokens_asked += 1
        user = self.tokens.get(body["spec"]["token"])
        return codec.encode({"status": {"authenticated": user is not None, "user": {"username": user or ""}}})

    def allow(self, user: str, namespace: str, *resources: str) -> None:
        """Let a person list resources in a namespace, by default jobs, pods and events."""
        self.allowed |= {(user, name, namespace) for name in resources or (JOBS, "pods", "events")}

    def let(self, user: str, namespace: str, resource: str, *verbs: str) -> None:
        """Let a person do more with a resource than list it."""
        self.acts |= {(user, verb, resource, namespace) for verb in verbs}


class World:
    """The parts of a console in one loop."""

    def __init__(self) -> None:
        self.clock, self.reviewer, self.stores = Clock(), Reviewer(), Stores()
        self.feed = Feed(self.stores, Journal(self.clock, most=100))
        self.rights = Rights(self.reviewer.may, self.clock)
        self.pages = Pages(self.stores, self.feed, self.rights, lambda: NOW)
        self.reviews = TokenReviews(cast("Client", self.reviewer), self.clock)
        self._version = 0

    def have(self, history: History) -> None:
        """Let the console have a history."""
        self.pages = replace(self.pages, history=history)

    def console(
        self, access: Access | None = None, assets: Assets | None = None, *, local: bool = False, path: str = ""
    ) -> Console:
        """Return the console, by default one where people paste tokens."""
        wanted = access or TokenAccess(self.reviews, SERVER, Seal(KEY, self.clock), Tries(self.clock), path)
        parts = wanted, self.pages, assets or Assets(), lambda: ALIVE, "prod-1", "0"
        return Console(*parts, loopback_only=local, path=path)

    def put_job(self, namespace: str, name: str, **status: Any) -> str:  # noqa: ANN401 - a status is whatever it is
        """Create or change a job; returns its uid."""
        return self.put_whole_job(namespace, name, {}, {}, status)

    def put_whole_job(
        self, namespace: str, name: str, metadata: dict[str, Any], spec: dict[str, Any], status: dict[str, Any]
    ) -> str:
        """Create or change a job with these fields; returns its uid."""
        uid = f"uid-{namespace}-{name}"
        resource = job_resources()["pytorchjob"]
        body = {"metadata": {**self._metadata(namespace, name, uid), **metadata}, "spec": spec, "status": status}
        self.stores.jobs["pytorchjob"].put(codec.decode(codec.encode(body), resource.type))
        return uid

    def delete_job(self, namespace: str, name: str) -> None:
        """Delete a job."""
        store = self.stores.jobs["pytorchjob"]
        store.remove(next(job.metadata.key for job in store if job.metadata.key == (namespace, name)))

    def put_pod(
        self, namespace: str, name: str, owner: str, node: str = "", phase: str = "Running", **requests: str
    ) -> None:
        """Create or change a pod of a job; without an owner it is one of anything else.

        Of its requests `gpu` means nvidia.com/gpu; `version` is the apiVersion of the owner.
        """
        version = requests.pop("version", "training.kubedl.io/v1alpha1")
        job = owner.removeprefix(f"uid-{namespace}-")
        reference = {"apiVersion": version, "kind": "PyTorchJob", "name": job, "uid": owner, "controller": True}
        metadata = {**self._metadata(namespace, name, f"uid-{name}"), "ownerReferences": [reference] if owner else []}
        wanted = {"nvidia.com/gpu" if key == "gpu" else key: value for key, value in requests.items()}
        container = {"name": "pytorch", "resources": {"requests": wanted}}
        body = {"metadata": metadata, "spec": {"containers": [container], "nodeName": node}, "status": {"phase": phase}}
        self.stores.pods.put(codec.decode(codec.encode(body), PODS.type))

    def put_node(self, name: str, *, ready: str = "True", cordoned: bool = False, gpus: int = 0) -> None:
        """Create or change a node of 8 CPUs and 64 GiB."""
        labels = {"nvidia.com/gpu.product": "NVIDIA-A100-SXM4-80GB"} if gpus else {}
        body = {
            "metadata": {**self._metadata("", name, f"uid-{name}"), "labels": labels},
            "spec": {"unschedulable": cordoned},
            "status": {
                "allocatable": {"cpu": "8", "memory": "64Gi", "nvidia.com/gpu": str(gpus)},
                "conditions": [{"type": "Ready", "status": ready}],
            },
        }
        self.stores.nodes.put(codec.decode(codec.encode(body), NODES.type))

    def put(self, resource: Resource[Any], namespace: str, name: str, **fields: Any) -> str:  # noqa: ANN401
        """Create or change an object of a kind that pages show beside jobs; returns its uid."""
        store = next(one.store for one in self.stores.followed() if one.resource == resource)
        uid = f"uid-{resource.plural}-{namespace}-{name}"
        metadata = {**self._metadata(namespace, name, uid), **fields.pop("metadata", {})}
        store.put(codec.decode(codec.encode({"metadata": metadata, **fields}), resource.type))
        return uid

    def put_event(self, namespace: str, name: str, about: str, uid: str) -> None:
        """Create an event."""
        involved = {"kind": about, "name": "x", "uid": uid}
        body = {"metadata": self._metadata(namespace, name, f"uid-{name}"), "involvedObject": involved, "reason": name}
        self.stores.events.put(codec.decode(codec.encode(body), EVENTS.type))

    def _metadata(self, namespace: str, name: str, uid: str) -> dict[str, Any]:
        self._version += 1
        return {"namespace": namespace, "name": name, "uid": uid, "resourceVersion": str(self._version)}


def caller(name: str) -> Caller:
    """Return somebody who is signed in."""
    return Caller(Person(name), SERVER)
