"""Runs of the main container of a pod that have ended: each has a log, and a key in the storage. Pure."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from string import ascii_letters, digits

from kubedl.history.observation import ENDED
from kubedl.history.observed_pods import RecordedContainerStatus, RecordedPod, Terminated
from kubedl.kube.types.meta import ObjectKey

_USUAL = frozenset(f"-._{ascii_letters}{digits}")


@dataclass(frozen=True)
class ContainerRun:
    """One run of the main container, from its start to its end."""

    pod: ObjectKey
    uid: str
    created: datetime
    kind: str
    job: str
    job_uid: str
    container: str
    restart: int  # number of restarts before it
    started: datetime | None = None  # to the second

    def key(self, prefix: str, cluster: str) -> str:
        """Return the key of its log: the same after every start of the recorder, and another for every run."""
        # Whoever makes a pod may name any owner, and a storage refuses keys of more than 1024 bytes for ever.
        kind, job_uid = self.kind[:63], self.job_uid[:36]
        names = (cluster, self.pod.namespace, kind, self.job, job_uid, self.pod.name, self.uid)
        place = "/".join(_safe(name) for name in names)
        head = f"{prefix.strip('/')}/" if prefix.strip("/") else ""
        return f"{head}{place}/{_safe(self.container)}-{self.restart}.log.gz"


def ended_runs(pod: RecordedPod, main_containers: Mapping[str, str]) -> list[ContainerRun]:
    """Return the ended runs of the main container whose logs the kubelet still has: the last, and the one before.

    A container that will be restarted may have been, before the API server is told: then the log of this run would be
    taken for that of the next. So it counts when the next one runs. `main_containers` has the name of the main
    container of each kind of job.
    """
    owner, status = pod.metadata.controller, main_status(pod, main_containers)
    if owner is None or status is None:
        return []
    restarts: list[tuple[int, Terminated]] = []
    if status.restart_count > 0 and status.last_state.terminated is not None:
        restarts.append((status.restart_count - 1, status.last_state.terminated))
    if status.state.terminated is not None and _is_last(pod, status.state.terminated):
        restarts.append((status.restart_count, status.state.terminated))
    created = pod.metadata.creation_timestamp or datetime.fromtimestamp(0, UTC)
    place = (pod.metadata.key, pod.metadata.uid, created, owner.kind, owner.name, owner.uid, status.name)
    return [ContainerRun(*place, restart, end.started_at) for restart, end in restarts]


def _is_last(pod: RecordedPod, end: Terminated) -> bool:
    policy = pod.spec.restart_policy
    return pod.status.phase in ENDED or policy == "Never" or (policy == "OnFailure" and end.exit_code == 0)


def main_status(pod: RecordedPod, main_containers: Mapping[str, str]) -> RecordedContainerStatus | None:
    """Return the status of the main container: the one with the name of its kind, else the first."""
    owner = pod.metadata.controller
    wanted = main_containers.get(owner.kind, "") if owner is not None else ""
    statuses = {status.name: status for status in pod.status.container_statuses}
    first = pod.spec.containers[0].name if pod.spec.containers else ""
    return statuses.get(wanted) or statuses.get(first)


def _safe(name: str) -> str:
    """Return a name as one part of a key; `..` and slashes would be another place."""
    return "".join(letter if letter in _USUAL else "_" for letter in name[:253]).strip(".") or "_"
