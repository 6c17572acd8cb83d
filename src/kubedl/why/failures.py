"""The first death of a job: from its status, which outlives pods, or from the pods themselves. Pure."""

from collections.abc import Mapping
from dataclasses import dataclass

from kubedl.why.evidence import Evidence, Object, condition_of, numbered, part_of, text_of
from kubedl.why.facts import (
    Container,
    containers,
    limit_of,
    name_of,
    node_of,
    phase_of,
    pod_named,
    replica_of,
    template_limit,
)

FAILING = ("Restarting", "Failed")  # states of jobs that have a first death
OUT_OF_MEMORY = "OOMKilled"  # the kubelet's reason
KILLED = 128  # an exit code above it is a signal
SIGNALS = {134: "SIGABRT", 135: "SIGBUS", 136: "SIGFPE", 137: "SIGKILL", 139: "SIGSEGV", 143: "SIGTERM"}
DISRUPTIONS = frozenset(
    {
        "Deleted",
        "DeletionByPodGC",
        "DeletionByTaintManager",
        "EvictionByEvictionAPI",
        "NodeLost",
        "NodeShutdown",
        "PreemptionByScheduler",
        "Shutdown",
        "Terminated",
        "TerminationByKubelet",
    }
)


@dataclass(frozen=True)
class Death:
    """How the first replica ended."""

    replica: str  # worker 2
    pod: str
    node: str
    container: str
    exit_code: int | None
    reason: str
    message: str
    time: str
    followers: int
    limit: str  # of its memory

    @property
    def is_disruption(self) -> bool:
        """Return whether the pod was taken away, rather than failed by itself."""
        return self.reason in DISRUPTIONS or self.reason.startswith("OutOf")

    @property
    def last_line(self) -> str:
        """Return the last line of what it left, which names the error."""
        lines = [line.strip() for line in self.message.splitlines() if line.strip()]
        return lines[-1] if lines else ""

    def values(self, evidence: Evidence) -> dict[str, str]:
        """Return the values for texts of rules."""
        state = evidence.state if evidence.state in FAILING else ""
        retries, limit = text_of(evidence.status, "retries"), text_of(evidence.spec, "backoffLimit")
        ago = evidence.ago(self.time)
        if evidence.is_over:
            next_try = ""
        elif limit:
            next_try = f"retry {retries or 0} of {limit}"
        else:
            next_try = f"retry {retries}" if retries else ""
        return {
            "state_": f"{state}: " if state else "",
            "replica": self.replica,
            "pod": self.pod,
            "node": self.node,
            "where": f"{self.node or 'no node'}{f', {ago} ago' if ago else ''}",
            "container": self.container,
            "code": str(self.exit_code) if self.exit_code is not None else "",
            "signal": SIGNALS.get(self.exit_code or 0, ""),
            "reason": self.reason,
            "words": self.last_line,
            "ago_": f" {ago} ago" if ago else "",
            "limit": self.limit,
            "in_limit_": f" ({self.limit})" if self.limit else "",
            "was_first_": f" and was first; {numbered(self.followers, 'other')} followed" if self.followers else "",
            "others": f"{numbered(self.followers, 'other replica')} failed after it" if self.followers else "",
            "next_try": next_try,
            "index": self.replica.replace(" ", "-"),
        }


def first_death(evidence: Evidence) -> Death | None:
    """Return the first death, if the job failed or restarts; None if it runs on."""
    if evidence.subject != "job":
        return None
    failed = [one for pod in evidence.pods if (one := _of_pod(pod)) is not None]
    if evidence.state not in FAILING and not failed:
        return None
    kept = part_of(evidence.status, "lastFailure")
    if kept and evidence.state in FAILING:
        return _of_status(evidence, kept)
    if not failed:
        return None
    first = min(failed, key=lambda one: (not one.is_disruption, (one.exit_code or 0) <= KILLED, one.time))
    return Death(**{**first.__dict__, "followers": len(failed) - 1})


def _of_status(evidence: Evidence, kept: Mapping[str, object]) -> Death:
    role, container, pod = text_of(kept, "role"), text_of(kept, "container"), text_of(kept, "pod")
    code, followers = kept.get("exitCode"), kept.get("followers")
    return Death(
        replica=f"{role.lower()} {text_of(kept, 'index') or 0}",
        pod=pod,
        node=text_of(kept, "node"),
        container=container,
        exit_code=code if isinstance(code, int) else None,
        reason=text_of(kept, "reason"),
        message=text_of(kept, "message"),
        time=text_of(kept, "time"),
        followers=followers if isinstance(followers, int) else 0,
        limit=limit_of(pod_named(evidence, pod), container, "memory")
        or template_limit(evidence, role, container, "memory"),
    )


def _of_pod(pod: Object) -> Death | None:
    """Return how a pod ended: one that has failed, or whose container the kubelet restarts."""
    ended = _failed_container(pod)
    disrupted = condition_of(pod.get("status"), "DisruptionTarget")
    reason = text_of(disrupted, "reason") if disrupted.get("status") == "True" else text_of(pod, "status", "reason")
    if ended is None and not (reason and phase_of(pod) == "Failed"):
        return None
    state = ended.ended if ended is not None else {}
    name = ended.name if ended is not None else ""
    return Death(
        replica=replica_of(pod),
        pod=name_of(pod),
        node=node_of(pod),
        container=name,
        exit_code=ended.exit_code if ended is not None else None,
        reason=reason or text_of(state, "reason"),
        message=text_of(state, "message") or text_of(disrupted, "message") or text_of(pod, "status", "message"),
        time=text_of(state, "finishedAt"),
        followers=0,
        limit=limit_of(pod, name, "memory"),
    )


def _failed_container(pod: Object) -> Container | None:
    if phase_of(pod) == "Succeeded":
        return None
    failed = [one for one in containers(pod) if one.exit_code and not one.is_init]
    current = [one for one in failed if phase_of(pod) == "Failed" or one.waiting == "CrashLoopBackOff"]
    return min(current, key=lambda one: text_of(one.ended, "finishedAt"), default=None)
