"""Facts about pods, as rules need them: who waits for what, who ended how, and what was printed. Pure."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from kubedl.why.evidence import Evidence, Object, condition_of, items_of, part_of, text_of

LABELS = "training.kubedl.io"


@dataclass(frozen=True)
class Container:
    """A container of a pod and what the kubelet says about it."""

    pod: Object
    status: Object
    is_init: bool

    @property
    def name(self) -> str:
        return text_of(self.status, "name")

    @property
    def image(self) -> str:
        """Return the image as the user wrote it."""
        lists = ("initContainers", "containers")
        given = [one for field in lists for one in items_of(self.pod, "spec", field) if one.get("name") == self.name]
        return (text_of(given[0], "image") if given else "") or text_of(self.status, "image")

    @property
    def waiting(self) -> str:
        """Return the reason why it waits; empty if it does not."""
        return text_of(self.status, "state", "waiting", "reason")

    @property
    def words(self) -> str:
        """Return what the kubelet says about why it waits."""
        return text_of(self.status, "state", "waiting", "message")

    @property
    def ended(self) -> Object:
        """Return how it ended, now or before its last restart; empty if it has not."""
        return part_of(self.status, "state", "terminated") or part_of(self.status, "lastState", "terminated")

    @property
    def has_started(self) -> bool:
        """Return whether it has run since the pod came to its node; one that waits for its next try has."""
        state = part_of(self.status, "state")
        is_or_was = state.get("running") is not None or state.get("terminated") is not None
        return is_or_was or self.waiting == "CrashLoopBackOff"

    @property
    def exit_code(self) -> int:
        """Return the exit code; 0 if it has not ended."""
        code = self.ended.get("exitCode")
        return code if isinstance(code, int) else 0


def name_of(pod: Object) -> str:
    """Return the name of a pod."""
    return text_of(pod, "metadata", "name")


def node_of(pod: Object) -> str:
    """Return the node of a pod."""
    return text_of(pod, "spec", "nodeName")


def replica_of(pod: Object) -> str:
    """Return a replica as people call it: worker 2; the name of the pod if it is none."""
    labels = part_of(pod, "metadata", "labels")
    role, index = labels.get(f"{LABELS}/replica-type"), labels.get(f"{LABELS}/replica-index")
    return f"{role} {index}" if role and index else name_of(pod)


def containers(pod: Object) -> Iterator[Container]:
    """Yield the containers of a pod, init containers first."""
    for field, is_init in (("initContainerStatuses", True), ("containerStatuses", False)):
        for status in items_of(pod, "status", field):
            yield Container(pod, status, is_init)


def registry_of(image: str) -> str:
    """Return the registry of an image: what stands before the first slash, if it is a host; else Docker Hub."""
    first, slash, _ = image.partition("/")
    return first if slash and ("." in first or ":" in first or first == "localhost") else "docker.io"


def waiting_containers(evidence: Evidence, *reasons: str) -> list[Container]:
    """Return the containers that wait for one of these reasons."""
    return [one for pod in evidence.pods for one in containers(pod) if one.waiting in reasons]


def unscheduled(evidence: Evidence) -> list[tuple[Object, str]]:
    """Return the pods that the scheduler cannot place, each with its message."""
    found = []
    for pod in evidence.pods:
        condition = condition_of(pod.get("status"), "PodScheduled")
        if condition.get("status") == "False" and not node_of(pod):
            found.append((pod, text_of(condition, "message")))
    return found


def is_ready(pod: Object) -> bool:
    """Return whether a pod is ready."""
    return condition_of(pod.get("status"), "Ready").get("status") == "True"


def phase_of(pod: Object) -> str:
    """Return the phase of a pod."""
    return text_of(pod, "status", "phase")


def events_with(evidence: Evidence, *reasons: str) -> list[Object]:
    """Return the events with one of these reasons, the newest last."""
    return [one for one in evidence.events if one.get("reason") in reasons]


def pod_named(evidence: Evidence, name: str) -> Object:
    """Return a pod by name; empty if it is not there."""
    return next((pod for pod in evidence.pods if name_of(pod) == name), {})


def about(event: Object) -> str:
    """Return the name of the object that an event is about."""
    return text_of(event, "involvedObject", "name")


def roles_of(evidence: Evidence) -> Mapping[str, Any]:
    """Return the roles of a job by name."""
    for name, value in evidence.spec.items():
        if name.endswith("ReplicaSpecs") and isinstance(value, Mapping):
            return value
    return {}


def size_of(evidence: Evidence) -> int:
    """Return how many replicas a job has."""
    total = 0
    for role in roles_of(evidence).values():
        count = role.get("replicas", 1) if isinstance(role, Mapping) else 1
        total += count if isinstance(count, int) else 1
    return total


def limit_of(pod: Object, container: str, resource: str) -> str:
    """Return the limit of a container, as it was written."""
    for one in items_of(pod, "spec", "containers"):
        if one.get("name") == container or not container:
            return text_of(one, "resources", "limits", resource)
    return ""


def template_limit(evidence: Evidence, role: str, container: str, resource: str) -> str:
    """Return the limit in the template of a role, for a pod that is gone."""
    for name, value in roles_of(evidence).items():
        if name.lower() == role.lower():
            return limit_of({"spec": part_of(value, "template", "spec")}, container, resource)
    return ""


def log_lines(evidence: Evidence, most: int | None = None) -> list[tuple[str, str]]:
    """Return the last lines of pods, each with the replica that printed it, and of the last failure."""
    found: list[tuple[str, str]] = []
    failure = part_of(evidence.status, "lastFailure")
    said = text_of(failure, "message")
    if said and most is None:
        who = f"{text_of(failure, 'role').lower()} {text_of(failure, 'index') or 0}"
        found += [(who, line) for line in said.splitlines()]
    logs = evidence.get("logs")
    for name, lines in logs.items() if isinstance(logs, Mapping) else ():
        who = replica_of(pod_named(evidence, name)) or name
        listed = lines if isinstance(lines, list) else []
        found += [(who, str(line)) for line in (listed[-most:] if most else listed)]
    return found
