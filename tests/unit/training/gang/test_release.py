"""A job whose later gang is not placed gives its pods back, so that no two of them wait for each other for ever."""

from dataclasses import dataclass, field

from hypothesis import given
from hypothesis import strategies as st

from kubedl.api.conditions import find
from kubedl.training.gang.release import RELEASED
from kubedl.training.job import Replica
from kubedl.training.plan import Plan
from tests.hypothesis_settings import tried
from tests.training_builders import JobBuilder, PodBuilder, after, mpi_job, pod, tf_job
from tests.unit.training.gang.gang_builders import IN_ORDER, TOGETHER, asking, planned

HELD = pod(IN_ORDER, "PS").on("node1").running()
WAITING = tuple(pod(IN_ORDER, "Worker", index) for index in range(3))
LONG = 600  # seconds, twice the first limit: longer than any job waits the first time


def released(decided: Plan) -> bool:
    return any(event.reason == RELEASED for event in decided.events)


def test_pods_that_wait_too_long_for_a_later_gang_are_given_back() -> None:
    decided = planned(asking(IN_ORDER), HELD, *WAITING, now=LONG)
    assert released(decided)
    assert (decided.status.attempt, decided.status.retries) == (1, 0)
    assert {one.pod.metadata.name for one in decided.deletions} == {
        "mnist-ps-0",
        *(f"mnist-worker-{n}" for n in range(3)),
    }
    condition = find(decided.status.conditions, "Restarting")
    assert condition is not None
    assert "Worker could not be placed since 12:00:00 UTC" in condition.message


def test_not_before_its_time() -> None:
    decided = planned(asking(IN_ORDER), HELD, *WAITING, now=299)
    assert not released(decided)
    assert not decided.deletions
    assert decided.wake_at is not None
    assert decided.wake_at <= after(LONG)


def test_jobs_do_not_wait_equally_long() -> None:
    """Two that were created together would release together, and meet again."""
    jobs = [asking(IN_ORDER.with_metadata(uid=f"{number:08}-x")) for number in range(30)]
    by_then = [sum(released(planned(job, HELD, *WAITING, now=now)) for job in jobs) for now in (330, 420, 510, 590)]
    assert 0 < by_then[0] < by_then[1] < by_then[2] < by_then[3]


def test_it_waits_twice_as_long_each_time() -> None:
    """Where room comes late, the time becomes long enough."""
    job = asking(IN_ORDER).with_status(attempt=1)
    found = [one.attempt(1) for one in (HELD, *WAITING)]
    assert not released(planned(job, *found, now=599))
    assert released(planned(job, *found, now=1200))


def test_a_gang_that_is_placed_stays() -> None:
    assert not released(planned(asking(IN_ORDER), HELD, *(one.on("node1").running() for one in WAITING), now=LONG))


def test_a_gang_of_which_a_member_is_replaced_stays() -> None:
    job = asking(IN_ORDER.scope("Replica"))
    rest = [one.on("node1").running() for one in WAITING[1:]]
    assert not released(planned(job, HELD, WAITING[0], *rest, now=LONG))


def test_a_job_that_holds_nothing_waits_for_ever() -> None:
    job = asking(TOGETHER)
    waiting = [pod(job, "PS"), *(pod(job, "Worker", index) for index in range(3))]
    assert not released(planned(job, *waiting, now=10 * LONG))


def test_a_job_without_a_gang_is_left_alone() -> None:
    assert not released(planned(IN_ORDER, HELD, *WAITING, now=LONG))


def test_what_has_succeeded_does_not_run_again() -> None:
    job = tf_job().chief(dependsOn=[]).ps(1, dependsOn=[{"upstream": "Chief", "phase": "Succeeded"}])
    job = asking(job.workers(1, dependsOn=[{"upstream": "PS"}]).with_spec(successPolicy="AllReplicas"))
    found = (pod(job, "Chief").succeeded(), pod(job, "PS").on("node1").running(), pod(job, "Worker"))
    assert not released(planned(job, *found, now=LONG))


def test_the_workers_of_an_mpi_job_are_given_back_too() -> None:
    job = asking(mpi_job().launcher().workers(1))
    assert released(planned(job, pod(job, "Worker").on("node1").running(), pod(job, "Launcher"), now=LONG))


def test_it_starts_again_after_a_pause_and_when_all_old_pods_are_gone() -> None:
    """Pods of the next attempt would else take the room before others can."""
    job = asking(IN_ORDER.scope("Replica"))
    status = planned(job, HELD, *WAITING, now=LONG).status
    later = job.with_status(attempt=1, conditions=status.conditions, replica_statuses=status.replica_statuses)
    soon = planned(later, now=LONG + 149)
    assert (soon.creations, soon.status.reason, soon.wake_at) == ((), RELEASED, after(LONG + 150))
    assert not planned(later, WAITING[0].going(), now=LONG + 150).creations
    assert len(planned(later, now=LONG + 150).creations) == 1


def test_the_pause_begins_with_the_latest_release() -> None:
    job = asking(IN_ORDER).with_status(attempt=1).said("Restarting", reason=RELEASED)
    found = [one.attempt(1) for one in (HELD, *WAITING)]
    decided = planned(job, *found, now=2 * LONG)
    condition = find(decided.status.conditions, "Restarting")
    assert condition is not None
    assert condition.last_transition_time == after(2 * LONG)


@dataclass
class Contender:
    """A job, its pods with the time of their creation, and when it began to run."""

    job: JobBuilder
    pods: dict[Replica, PodBuilder] = field(default_factory=dict)
    placed: set[Replica] = field(default_factory=set)
    began: int | None = None
    ended: bool = False

    def step(self, now: int) -> None:
        shown = [one.on("n").running() if replica in self.placed else one for replica, one in self.pods.items()]
        decided = planned(self.job, *shown, now=now)
        self.job = self.job.with_status(
            attempt=decided.status.attempt,
            conditions=decided.status.conditions,
            replica_statuses=decided.status.replica_statuses,
            start_time=decided.status.start_time,
        )
        if decided.deletions:
            self.pods, self.placed = {}, set()
        for made in decided.creations:
            new = pod(self.job, made.replica.role, made.replica.index).attempt(made.attempt)
            self.pods[made.replica] = new._metadata(creation_timestamp=after(now))  # noqa: SLF001

    def waiting(self) -> list[list[Replica]]:
        """Its gangs that are not placed."""
        roles: dict[str, list[Replica]] = {}
        for replica in self.pods:
            if replica not in self.placed:
                roles.setdefault(replica.role, []).append(replica)
        return list(roles.values())


@tried(daily=8)
@given(st.lists(st.uuids(), min_size=2, max_size=3, unique=True), st.randoms(use_true_random=False))
def test_jobs_that_hold_what_the_others_need_all_end(uids: list[object], random: object) -> None:
    """On room for one of them, with a scheduler that takes gangs in any order."""
    jobs = [Contender(asking(IN_ORDER).with_metadata(uid=str(uid))) for uid in uids]
    for now in range(0, 100_000, 30):
        for one in jobs:
            if one.ended:
                continue
            one.step(now)
            if one.began is not None and now - one.began > 60:
                one.ended, one.pods, one.placed = True, {}, set()
        if all(one.ended for one in jobs):
            return
        gangs = [(one, gang) for one in jobs if not one.ended for gang in one.waiting()]
        random.shuffle(gangs)  # type: ignore[attr-defined]
        for one, gang in gangs:
            if len(gang) <= 4 - sum(len(other.placed) for other in jobs):
                one.placed |= set(gang)
                if len(one.placed) == 4:
                    one.began = now
    raise AssertionError([(one.placed, one.job.build().status.attempt) for one in jobs])
