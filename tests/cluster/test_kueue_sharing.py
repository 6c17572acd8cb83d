"""Queues of a real Kueue that share: by priority, by borrowing, by fair shares. The API server's log is the judge."""

from collections.abc import Iterator

import pytest

from harness.drivers import audit_log, quota_log, team_queue
from harness.drivers.operator_process import Operator
from harness.drivers.team_queue import QUEUE, RESOURCE
from testbed.api import Object
from testbed.cluster import Cluster
from testbed.waiting import until
from tests.cluster.queued_jobs import NODES, QueuedJobs

RECLAIM = {"reclaimWithinCohort": "Any"}
DONE = ("Succeeded", "Failed")


@pytest.fixture
def jobs(control_plane: Cluster, namespace: str) -> Iterator[QueuedJobs]:
    """A namespace with a flavor; the queues are the test's."""
    control_plane.up(kwok=NODES, keep=False)
    control_plane.add_kueue()
    team_queue.publish_flavors(control_plane.api, namespace, {"type": "kwok"})
    with Operator(control_plane, arguments=("--namespace", namespace)):
        yield QueuedJobs(control_plane, namespace)


def is_seen(workload: Object) -> bool:
    """Whether Kueue has looked at it; of a queue on hold it says that it is inactive."""
    return bool((workload.get("status") or {}).get("conditions"))


def test_six_jobs_run_two_at_a_time_in_the_order_of_their_priority(jobs: QueuedJobs) -> None:
    """StrictFIFO; with Kueue's default a job may be tried while one of a higher priority is being queued again."""
    begin = audit_log.now()
    team_queue.publish_queue(
        jobs.cluster.api, jobs.namespace, QUEUE, 2, stopPolicy="Hold", queueingStrategy="StrictFIFO"
    )
    for number in range(3):
        jobs.submit(f"low-{number}", ends_after="1s")
        jobs.submit(f"high-{number}", priority="high", ends_after="1s")
    # One that Kueue has not seen when the queue is opened would be overtaken by those that it has.
    until("six jobs to wait", lambda: sum(map(is_seen, jobs.workloads().values())) == 6, deadline=90)
    jobs.change_queue(f"{jobs.namespace}-{QUEUE}", stopPolicy="None")
    until("all to end", lambda: len(jobs.in_state(*DONE)) == 6, deadline=120)
    assert jobs.in_state("Succeeded") == set(jobs.states())
    history = quota_log.changes(jobs.cluster, jobs.namespace, RESOURCE, begin)
    assert quota_log.peaks(history)[""] == 2
    order = [name.partition("-")[0] for name in quota_log.admitted(history)]
    # Kueue writes admissions concurrently: two that fit in the same moment reach the API server in either order.
    assert [sorted(order[place : place + 2]) for place in (0, 2, 4)] == [["high"] * 2, ["high", "low"], ["low"] * 2]


def test_what_was_borrowed_is_given_back_when_its_owner_wants_it(jobs: QueuedJobs) -> None:
    """Who borrowed is evicted without a retry, and runs again when the owner needs it no more."""
    begin = audit_log.now()
    for name in ("vision", "speech"):
        team_queue.publish_queue(
            jobs.cluster.api, jobs.namespace, name, 1, preemption=RECLAIM, cohortName=jobs.namespace
        )
    jobs.submit("first", "vision")
    jobs.submit("second", "vision")
    until("both to run, one on borrowed quota", lambda: len(jobs.in_state("Running")) == 2, deadline=90)
    jobs.submit("owner", "speech")
    until("the owner to run", lambda: "owner" in jobs.in_state("Running"), deadline=90)
    [victim] = until("who borrowed to wait", lambda: jobs.in_state("Queuing"), deadline=90)
    assert jobs.in_state("Running") == {"first", "second", "owner"} - {victim}
    jobs.end("owner")
    until("who borrowed to run again", lambda: victim in jobs.in_state("Running"), deadline=90)
    assert jobs.status(victim).get("retries", 0) == 0
    peaks = quota_log.peaks(quota_log.changes(jobs.cluster, jobs.namespace, RESOURCE, begin))
    assert {queue: most for queue, most in peaks.items() if most} == {
        "": 2,
        f"{jobs.namespace}-vision": 2,
        f"{jobs.namespace}-speech": 1,
    }


def test_two_tenants_get_equal_shares_of_what_is_left(jobs: QueuedJobs) -> None:
    """The first had all of it, and gives half of it back without a retry."""
    for name, quota in (("common", 4), ("vision", 0), ("speech", 0)):
        team_queue.publish_queue(
            jobs.cluster.api, jobs.namespace, name, quota, preemption=RECLAIM, cohortName=jobs.namespace
        )
    for number in range(4):
        jobs.submit(f"vision-{number}", "vision")
    until("the first tenant to have all", lambda: len(jobs.in_state("Running")) == 4, deadline=90)
    for number in range(4):
        jobs.submit(f"speech-{number}", "speech")

    def shares() -> dict[str, int]:
        running = [name.partition("-")[0] for name in jobs.in_state("Running")]
        return {tenant: running.count(tenant) for tenant in ("vision", "speech")}

    until("each to have half", lambda: shares() == {"vision": 2, "speech": 2}, deadline=120)
    assert not jobs.in_state("Failed")
    assert all(not jobs.status(name).get("retries") for name in jobs.states())
