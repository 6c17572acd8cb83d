"""Lives that a job of any kind can have, with one replica of each of its roles; no kind is named here.

In what order pods come, who must succeed, and what a death costs follow from the kind's own declaration.
"""

from collections.abc import Callable

from harness.scenarios import register
from harness.scenarios.driver import KINDS, Job, ScenarioDriver
from kubedl.training.job import Job as JobView
from kubedl.training.job import Replica
from kubedl.training.kind import Kind

Play = Callable[[ScenarioDriver, Kind], None]
NAME = "any"


def succeeds(world: ScenarioDriver, kind: Kind) -> None:
    """Started in order, and done when those have succeeded who must."""
    job = create(world, kind)
    start(job, kind, attempt=0)
    finish(job, kind)


def is_killed(world: ScenarioDriver, kind: Kind) -> None:
    """The last replica is killed: it comes back alone or with all others, as the kind's jobs are restarted."""
    job = create(world, kind)
    start(job, kind, attempt=0)
    *others, last = _pods(job)
    job.fail(last, 137)
    if kind.restart_scope(job.view) == "Job":
        job.until_status(attempt=1, retries=1)
        job.vanish(*others)
        start(job, kind, attempt=1)
    else:
        job.until("the replacement", lambda: job.pods() == {**dict.fromkeys(others, 0), last: 1})
        job.run(last)
        job.until_status(state="Running", retries=1)


def is_resumed(world: ScenarioDriver, kind: Kind) -> None:
    """Suspended while all run, and resumed when the last is gone."""
    job = create(world, kind)
    start(job, kind, attempt=0)
    job.change(suspend=True)
    job.until_status(state="Suspended")
    job.vanish(*_pods(job))
    job.until("nobody to be active", lambda: not any(role["active"] for role in _counts(job)))
    job.change(suspend=False)
    start(job, kind, attempt=0)


def create(world: ScenarioDriver, kind: Kind, name: str = NAME) -> Job:
    """A job with one replica of each role."""
    # A kill is the same for all; without cleaning there are fewer writes, each of which is a crash point twice.
    role = {"replicas": 1, "restartPolicy": "ExitCode"}
    return world.create(kind.kind, name, {declared.name: role for declared in kind.roles}, cleanPodPolicy="None")


def start(job: Job, kind: Kind, attempt: int) -> None:
    """Run pods as they come: each role after those that it waits for."""
    there: list[str] = []
    while waiting := [role for role in kind.roles if role.name not in there]:
        free = [role.name for role in waiting if all(one.upstream in there for one in role.after)]
        if not free:
            raise ValueError(
                f"{kind.kind}: these roles wait for each other: {', '.join(role.name for role in waiting)}"
            )
        there += free
        come = {pod: attempt for pod in _pods(job) if _role(pod) in {role.lower() for role in there}}
        job.until(f"pods {come}", lambda come=come: job.pods() == come)  # type: ignore[misc]
        job.run(*(pod for pod in come if _role(pod) in {role.lower() for role in free}))
    job.until_status(state="Running")


def finish(job: Job, kind: Kind) -> None:
    """Let those succeed who must, one after the other."""
    deciding = [_pod(replica) for replica in needed(job.view, kind)]
    for number, pod in enumerate(deciding, 1):
        job.succeed(pod)
        if number < len(deciding):
            job.until_succeeded(number)
    job.until_status(state="Succeeded")


def needed(job: JobView, kind: Kind) -> list[Replica]:
    """The fewest whose success is the job's: everybody but those without whom it is done too."""
    deciding = list(job.replicas())
    for replica in tuple(deciding):
        rest = [other for other in deciding if other != replica]
        if kind.succeeded(job, {other.role: frozenset({other.index}) for other in rest}):
            deciding = rest
    return deciding


PLAYS: tuple[Play, ...] = (succeeds, is_killed, is_resumed)


def _pods(job: Job) -> list[str]:
    return [_pod(replica) for replica in job.view.replicas()]


def _pod(replica: Replica) -> str:
    return f"{replica.role.lower()}-{replica.index}"


def _role(pod: str) -> str:
    return pod.rpartition("-")[0]


def _counts(job: Job) -> list[dict[str, int]]:
    return list(job.status().get("replicaStatuses", {}).values())


def _of(kind: Kind, play: Play) -> Callable[[ScenarioDriver], None]:
    return lambda world: play(world, kind)


for _kind in KINDS.values():
    for _play in PLAYS:
        register(f"{_kind.kind.lower()}_{_play.__name__}", _of(_kind, _play))
