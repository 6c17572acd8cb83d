"""F8: a leader that is frozen while it writes, and wakes up when another leads."""

from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, contextmanager

import pytest

from harness.drivers.environment import Stage, times
from harness.drivers.proxied_operator import ProxiedOperator
from harness.scenarios.many_jobs import Fleet
from testbed import namespaces
from testbed.api import Api
from testbed.cluster import Cluster
from testbed.faultproxy.handler import Call
from testbed.waiting import until

PAIRS = times(2, 6)  # of operators, each with a lease of its own
ROUNDS = times(2, 167)  # takeovers of each pair
LEASE = ("--lease-seconds", "3", "--lease-renew-seconds", "2", "--lease-retry-seconds", "0.5")
JOBS, PODS = 3, 4  # made anew for each takeover


@pytest.mark.usefixtures("cluster")
def test_a_leader_that_was_frozen_writes_nothing_more(
    ready_stage: Stage, control_plane: Cluster, record_property: Callable[[str, object], None]
) -> None:
    """It exits as soon as it wakes, the other has done its work, and no pod was made twice."""
    record_property("repetitions", PAIRS * ROUNDS)

    def takeovers(_: int) -> None:
        with namespaces.fresh(control_plane.api, "brain") as namespace, _pair(ready_stage, namespace) as pair:
            fleet = Fleet(ready_stage, namespace, tend=pair.tend)
            for number in range(ROUNDS):
                fleet.create([f"round-{number}-{job}" for job in range(JOBS)], {"Worker": PODS})
                pair.freeze_the_leader_while_it_writes()
                pair.until_the_other_leads()
                fleet.until_pods(JOBS * PODS)
                pair.wake_up_to_die()
                fleet.run(fleet.pods())
                fleet.until_all(state="Running")
                fleet.delete_jobs(list(fleet.jobs()))
                _clear(fleet)
            assert set(fleet.ever().values()) == {1}

    with ThreadPoolExecutor(PAIRS) as pool:
        list(pool.map(takeovers, range(PAIRS)))


class Pair:
    """Two operators with one lease, each started again when it has ended, as their Deployment would.

    A machine that is too busy makes a leader late without our help, and it exits; so who leads is seen, not assumed.
    """

    def __init__(self, api: Api, namespace: str, first: ProxiedOperator, second: ProxiedOperator) -> None:
        self._api = api
        self._lease = f"/apis/coordination.k8s.io/v1/namespaces/{namespace}/leases/kubedl-operator-{namespace}"
        self._both = (first, second)
        self._frozen: ProxiedOperator | None = None

    def tend(self) -> None:
        """Start what has ended, but not in place of the one that is frozen: that would never have led."""
        for one in self._both:
            if one is not self._frozen and not one.runs:
                one.start()

    def freeze_the_leader_while_it_writes(self) -> None:
        """In the middle of it."""
        before = [one.count("create", "pods") for one in self._both]

        def writes() -> bool:
            self.tend()
            return [one.count("create", "pods") for one in self._both] != before

        until("a leader to write", writes, deadline=60, interval=0.002)
        self._frozen = until("the leader to be frozen", self._freeze_leader, deadline=60, interval=0.002)

    def _freeze_leader(self) -> ProxiedOperator | None:
        """Whoever holds the lease, and held it still when it was frozen.

        The proxies do not say who that is: they count a call when it has ended, maybe after the end of its caller.
        """
        leader = self._holder()
        if leader is None or not leader.runs:
            self.tend()
            return None
        leader.freeze()
        if self._holder() is leader:
            return leader
        leader.resume()
        return None

    def _holder(self) -> ProxiedOperator | None:
        identity = self._api.get(self._lease)["spec"]["holderIdentity"]
        return next((one for one in self._both if identity and identity in one.log()), None)

    def until_the_other_leads(self) -> None:
        """Then the lease of the one that is frozen was over."""
        (other,) = (one for one in self._both if one is not self._frozen)

        def leads() -> bool:
            self.tend()
            return self._holder() is other

        until("the other to take the lease", leads, deadline=60)

    def wake_up_to_die(self) -> None:
        """Whoever was frozen has nothing to say any more."""
        frozen, self._frozen = self._frozen, None
        assert frozen is not None
        before = _writes(frozen)
        frozen.resume()
        assert frozen.wait_ended() == 1
        assert _writes(frozen) == before


@contextmanager
def _pair(stage: Stage, namespace: str) -> Iterator[Pair]:
    arguments = ("--namespace", namespace, "--lease-namespace", namespace, *LEASE)
    with ExitStack() as stack:
        first, second = (
            stack.enter_context(ProxiedOperator(stage, f"{namespace}-{which}", arguments)) for which in "ab"
        )
        yield Pair(stage.cluster.api, namespace, first, second)


def _writes(leader: ProxiedOperator) -> list[Call]:
    return [call for call in leader.writes() if call.resource != "leases"]


def _clear(fleet: Fleet) -> None:
    """The kubelets end what the garbage collector deletes."""

    def gone() -> bool:
        fleet.take(fleet.leaving())
        return not fleet.jobs() and not fleet.pods() and not fleet.leaving()

    fleet.until("the round to be cleared away", gone)
