"""A job as the server has it, and its row in a list."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any

from kubedl.client.kinds import short_word
from kubedl.kube.types.meta import Record

QUEUE_LABEL = "kueue.x-k8s.io/queue-name"
USER = "kubedl.io/user"  # annotation: who submitted it, as far as the object says so
SUCCEEDED, FAILED = "Succeeded", "Failed"


class JobSummary(Record, frozen=True, omit_defaults=False):
    """A row of a list: what the server's own table says about a job."""

    name: str
    namespace: str
    kind: str
    state: str
    ready: str
    gpus: int | None
    queue: str
    created: datetime
    message: str
    restarts: int
    model_version: str
    uid: str = ""
    user: str = ""
    gone: bool = False  # it was deleted, and the history knows it

    @property
    def word(self) -> str:
        """Return its kind as people type it."""
        return short_word(self.kind)


@dataclass(frozen=True)
class HasManifest:
    """An object by its manifest, the whole of it, and the parts that all objects have."""

    manifest: Mapping[str, Any] = field(repr=False)

    @property
    def metadata(self) -> Mapping[str, Any]:
        """Return the metadata."""
        found: Mapping[str, Any] = self.manifest["metadata"]
        return found

    @property
    def spec(self) -> Mapping[str, Any]:
        """Return the spec."""
        found: Mapping[str, Any] = self.manifest.get("spec") or {}
        return found

    @property
    def status(self) -> Mapping[str, Any]:
        """Return the status; empty if no operator has seen the object."""
        found: Mapping[str, Any] = self.manifest.get("status") or {}
        return found


@dataclass(frozen=True)
class Job(HasManifest):
    """One job. `manifest` is the whole object; the rest are the parts that everybody asks for."""

    kind: str
    name: str
    namespace: str
    result: object = field(default=None, compare=False)  # what a function returned, after a wait for its end
    gone: bool = False  # it was deleted, and this is what the history knows

    @classmethod
    def of(cls, manifest: Mapping[str, Any]) -> "Job":
        """Return the job of a manifest that the server sent."""
        metadata = manifest["metadata"]
        return cls(manifest, manifest["kind"], metadata["name"], metadata.get("namespace", ""))

    def __str__(self) -> str:
        return f"{self.kind.lower()}/{self.name}"

    def _repr_mimebundle_(self, **_: object) -> dict[str, str]:
        """Return it in the forms that a notebook may choose from."""
        from kubedl.client.job_page import Page  # noqa: PLC0415 - for notebooks only

        page = Page(self)
        return {"text/html": page.html(), "text/plain": page.text()}

    @property
    def uid(self) -> str:
        """Return the uid."""
        return str(self.metadata.get("uid", ""))

    @property
    def word(self) -> str:
        """Return its kind as people type it."""
        return short_word(self.kind)

    @property
    def state(self) -> str:
        """Return the state; empty if no operator has seen the job."""
        return str(self.status.get("state") or "")

    @property
    def message(self) -> str:
        """Return why it waits, or how it ended."""
        return str(self.status.get("message") or "")

    @property
    def created(self) -> datetime:
        """Return when it was created."""
        return parse_time(self.metadata.get("creationTimestamp")) or datetime.now(UTC)

    @property
    def started(self) -> datetime | None:
        """Return when it started or was last resumed."""
        return parse_time(self.status.get("startTime"))

    @property
    def finished(self) -> datetime | None:
        """Return when it ended."""
        return parse_time(self.status.get("completionTime"))

    @property
    def queue(self) -> str:
        """Return the queue that it names."""
        policy = self.spec.get("schedulingPolicy") or {}
        return str((self.metadata.get("labels") or {}).get(QUEUE_LABEL) or policy.get("queue") or "")

    @property
    def is_succeeded(self) -> bool:
        """Return whether it succeeded."""
        return self.has_condition(SUCCEEDED)

    @property
    def is_failed(self) -> bool:
        """Return whether it failed."""
        return self.has_condition(FAILED)

    @property
    def is_finished(self) -> bool:
        """Return whether it ended, well or badly."""
        return self.is_succeeded or self.is_failed

    def condition(self, kind: str) -> Mapping[str, Any] | None:
        """Return the condition of a type, in any letter case."""
        for condition in self.status.get("conditions") or ():
            if str(condition.get("type", "")).lower() == kind.lower():
                found: Mapping[str, Any] = condition
                return found
        return None

    def has_condition(self, kind: str) -> bool:
        """Return whether a condition is true."""
        condition = self.condition(kind)
        return condition is not None and condition.get("status") == "True"

    @property
    def roles(self) -> Mapping[str, Mapping[str, Any]]:
        """Return the roles of the job by name: the field of the spec that holds replicas and templates."""
        for name, value in self.spec.items():
            if name.endswith("ReplicaSpecs") and isinstance(value, Mapping):
                return value
        return {}


def parse_time(text: object) -> datetime | None:
    """Return a time of the API server."""
    if not isinstance(text, str):
        return None
    try:
        return datetime.fromisoformat(text)
    except ValueError:
        return None
