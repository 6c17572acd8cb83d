"""F8: a leader that is frozen while it writes, and wakes up when another leads."""

from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, contextmanager
from functools import partial

import pytest

from harness.fleet import Fleet
from harness.proxied import ProxiedOperator
from harness.stage import Stage, times
from testbed import namespaces
from testbed.cluster import Cluster
from testbed.faultproxy.exchange import Call
from testbed.waiting import until

PAIRS = times(2, 8)  # of operators, each with a lease of its own
ROUNDS = times(2, 125)  # takeovers of each pair
# Shorter, and the pairs would starve each other on two cores: a leader that is not frozen would be late too.
LEASE = ("--lease-seconds", "6", "--lease-renew-seconds", "4", "--lease-retry-seconds", "0.5")
JOBS, PODS = 3, 4  # made anew for each takeover


@pytest.mark.usefixtures("cluster")
def test_a_leader_that_was_frozen_writes_nothing_more(
    ready_stage: Stage, control_plane: Cluster, record_property: Callable[[str, object], None]
) -> None:
    """It exits as soon as it wakes, the other has done its work, and no pod was made twice."""
    record_property("repetitions", PAIRS * ROUNDS)

    def takeovers(_: int) -> None:
        with namespaces.fresh(control_plane.api, "brain") as namespace, _pair(ready_stage, namespace) as pair:
            fleet = Fleet(ready_stage, namespace)
            leader, standby = pair
            for number in range(ROUNDS):
                taken = standby.count("patch", "leases")
                _freeze_while_writing(fleet, leader, f"round-{number}")
                until("the other to take the lease", partial(_more_than, standby, taken), deadline=30)
                fleet.until_pods(JOBS * PODS, deadline=60)
                _wakes_up_to_die(leader)
                fleet.run(fleet.pods())
                fleet.until_all(state="Running")
                fleet.delete_jobs(list(fleet.jobs()))
                _clear(fleet)
                leader.start()
                leader, standby = standby, leader
            assert set(fleet.ever().values()) == {1}

    with ThreadPoolExecutor(PAIRS) as pool:
        list(pool.map(takeovers, range(PAIRS)))


@contextmanager
def _pair(stage: Stage, namespace: str) -> Iterator[tuple[ProxiedOperator, ProxiedOperator]]:
    """Two operators, of which the first leads."""
    arguments = ("--namespace", namespace, "--lease-namespace", namespace, *LEASE)
    with ExitStack() as stack:
        first, second = (
            stack.enter_context(ProxiedOperator(stage, f"{namespace}-{which}", arguments)) for which in "ab"
        )
        first.start()
        until("the first to hold the lease", lambda: first.count("create", "leases"), deadline=30)
        second.start()
        yield first, second


def _freeze_while_writing(fleet: Fleet, leader: ProxiedOperator, prefix: str) -> None:
    before = leader.count("create", "pods")
    fleet.create([f"{prefix}-{number}" for number in range(JOBS)], {"Worker": PODS})
    until("the leader to write", lambda: leader.count("create", "pods") > before, deadline=30, interval=0.002)
    leader.freeze()


def _wakes_up_to_die(leader: ProxiedOperator) -> None:
    before = _writes(leader)
    leader.resume()
    code = leader.wait_ended()
    assert code == 1
    assert _writes(leader) == before


def _more_than(standby: ProxiedOperator, taken: int) -> bool:
    return standby.count("patch", "leases") > taken


def _writes(leader: ProxiedOperator) -> list[Call]:
    return [call for call in leader.writes() if call.resource != "leases"]


def _clear(fleet: Fleet) -> None:
    """The kubelets end what the garbage collector deletes."""

    def gone() -> bool:
        fleet.take(fleet.leaving())
        return not fleet.jobs() and not fleet.pods() and not fleet.leaving()

    until("the round to be cleared away", gone, deadline=60)
