"""Plans the next write for the scalers of one job. Pure.

Each pass makes one write, so an operator may die between any two. The pods of a scaler, and the generation of the job
that they were chosen for, are in its status before the job is changed. The job is changed only over the version that
was seen, so its generation tells whether that was done: the same one, not yet; a newer one with the wanted number of
replicas, done. If others have changed the job so often that neither is certain, the scaler fails rather than resizing
the job twice.

Scalers of one job take turns by creation time. One that has begun goes on, and one that has ended never runs again.
"""

from dataclasses import dataclass, replace
from datetime import datetime, timedelta

from kubedl.training.policies.failure_policy import has_succeeded
from kubedl.training.replica_status import is_running
from kubedl.training.scaling import scaler as steps
from kubedl.training.scaling.scaler import Scaler, Status, listed
from kubedl.training.scaling.sizing import Failure, Target, new_size, with_replicas


@dataclass(frozen=True)
class Observed:
    """The scalers of a name, the jobs that can be elastic and have it, and the time."""

    name: str
    scalers: tuple[Scaler, ...]
    targets: tuple[Target, ...]
    now: datetime
    inquired: bool = False  # the API server has no other jobs of the name


@dataclass(frozen=True)
class Resize:
    """A number of replicas to write over the seen version of a job."""

    target: Target
    replicas: int


@dataclass(frozen=True)
class Plan:
    """One write at most: a status, or the size of the job; and when to look again."""

    scaler: Scaler | None = None
    status: Status | None = None
    resize: Resize | None = None
    inquire: bool = False  # ask the API server for jobs of the name, then plan again
    wake_at: datetime | None = None


def plan(observed: Observed) -> Plan:
    """Return what to write now."""
    open_ones = (
        one for one in observed.scalers if not one.is_finished and one.body.metadata.deletion_timestamp is None
    )
    waiting = sorted(open_ones, key=lambda one: (not one.is_claimed, one.order))
    if not waiting:
        return Plan()
    current, *others = waiting
    for other in others:
        if not other.is_claimed and other.status.current_scaler != current.full_name:
            return Plan(other, steps.waiting(other, current, observed.now))
    return _next(observed, current)


def _next(observed: Observed, scaler: Scaler) -> Plan:
    now = observed.now
    if scaler.body.spec.script or scaler.body.spec.env:
        message = "the operator runs nothing in pods; remove script and env"
        return _fail(scaler, Failure("ScriptNotSupported", message), now)
    found = _find(observed, scaler)
    if isinstance(found, Target):
        decided = _step(scaler, found, now)
        counted = with_replicas(decided.status, found) if decided.status is not None else None
        return replace(decided, status=counted)
    if not observed.inquired:
        return Plan(scaler, inquire=True)
    return _fail(scaler, found, now)


def _step(scaler: Scaler, target: Target, now: datetime) -> Plan:
    if scaler.takes_back:
        return _take_back(scaler, target, now)
    return _begin(scaler, target, now) if scaler.status.start_time is None else _follow(scaler, target, now)


def _find(observed: Observed, scaler: Scaler) -> Target | Failure:
    """Return the job of a scaler: the one that it began with, or the only elastic one of that name."""
    if scaler.is_claimed:
        same = [one for one in observed.targets if one.job.uid == scaler.status.job_uid]
        return same[0] if same else Failure("JobNotFound", f"the job {observed.name} was deleted")
    found = [one for one in observed.targets if scaler.job_kind in ("", one.kind.kind)]
    elastic = [one for one in found if one.job.spec.elastic is not None]
    if len(elastic) == 1:
        return elastic[0]
    if elastic:
        names = " and ".join(sorted(map(str, elastic)))
        return Failure("Ambiguous", f"{names} have this name; name one in the label training.kubedl.io/kind")
    if found:
        return Failure("NotElastic", f"{found[0]} keeps its size while it runs, since it has no spec.elastic")
    kind = scaler.job_kind or "elastic job"
    return Failure("JobNotFound", f"there is no {kind} {observed.name} in the namespace")


def _begin(scaler: Scaler, target: Target, now: datetime) -> Plan:
    """Write down the pods, then change the job, then write down that this is done."""
    since = target.generation - scaler.status.job_generation
    if scaler.is_claimed and since:
        if target.replicas == scaler.sizes[1]:
            return Plan(scaler, steps.started(scaler, now))
        if since > 1:
            message = f"others changed {target} while it was resized; it has {target.replicas} replicas now"
            return _fail(scaler, Failure("Overtaken", message), now)
    size = new_size(scaler.body, target)
    if isinstance(size, Failure):
        return _fail(scaler, size, now)
    if not scaler.is_claimed or since:
        names = target.names(*sorted((size, target.replicas)))
        return Plan(scaler, steps.claimed(scaler, names, target.job.resource.metadata, target.replicas, now))
    return Plan(scaler, resize=Resize(target, size))


def _follow(scaler: Scaler, target: Target, now: datetime) -> Plan:
    """Wait until the pods run, or are gone."""
    (before, after), replicas = scaler.sizes, target.replicas
    if (replicas < after) if scaler.adds else (replicas > after):
        message = f"others changed {target} to {replicas} replicas, while it was resized from {before} to {after}"
        return _fail(scaler, Failure("Overtaken", message), now)
    left = _not_running(scaler, target) if scaler.adds else _still_there(scaler, target)
    if not left:
        return Plan(scaler, steps.succeeded(scaler, f"{target} was resized from {before} to {after}", now))
    if target.is_finished:
        return _fail(scaler, Failure("JobFinished", f"{target} has ended before it was resized"), now)
    due = _deadline(scaler, target)
    return Plan(scaler, wake_at=due) if now < due else _give_up(scaler, target, left, now)


def _give_up(scaler: Scaler, target: Target, left: list[str], now: datetime) -> Plan:
    """The time is over: take back the pods that do not run; those that are not gone yet will go."""
    after, seconds = scaler.sizes[1], scaler.body.spec.timeout
    if not scaler.adds:
        message = f"{listed(left)} not gone after {seconds} s; {target} has {after} replicas all the same"
        return _fail(scaler, Failure("", message), now)
    message = f"{listed(left)} not running after {seconds} s"
    if target.replicas > after:
        message = f"{message}; others changed {target} to {target.replicas} replicas, which are left"
        return _fail(scaler, Failure("", message), now)
    return Plan(scaler, steps.taking_back(scaler, target.generation, message, now))


def _take_back(scaler: Scaler, target: Target, now: datetime) -> Plan:
    """Give the job its old size, unless others have changed it meanwhile."""
    if target.generation == scaler.status.job_generation and not target.is_finished:
        return Plan(scaler, resize=Resize(target, scaler.sizes[0]))
    message = f"{listed(scaler.pods)} did not run in time; {target} has {target.replicas} replicas"
    return _fail(scaler, Failure("", message), now)


def _not_running(scaler: Scaler, target: Target) -> list[str]:
    joined = {pod.metadata.name for pod in target.pods if is_running(pod) or has_succeeded(pod)}
    return [name for name in scaler.pods if name not in joined]


def _still_there(scaler: Scaler, target: Target) -> list[str]:
    """Return the pods that are there, or may be: the engine has not seen the new size yet."""
    elastic = target.job.resource.status.elastic
    has_pods = not (target.is_finished or target.is_suspended)
    if has_pods and (elastic is None or elastic.size > scaler.sizes[1]):
        return list(scaler.pods)
    there = {pod.metadata.name for pod in target.pods}
    return [name for name in scaler.pods if name in there]


def _deadline(scaler: Scaler, target: Target) -> datetime:
    """Return when the time is over; Kubernetes sets the time of a deletion to the end of the grace period."""
    since = [scaler.status.start_time]
    if not scaler.adds:
        since += [pod.metadata.deletion_timestamp for pod in target.pods if pod.metadata.name in scaler.pods]
    return max(filter(None, since)) + timedelta(seconds=scaler.body.spec.timeout)


def _fail(scaler: Scaler, failure: Failure, now: datetime) -> Plan:
    return Plan(scaler, steps.failed(scaler, failure.reason, failure.message, now))
