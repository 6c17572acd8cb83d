"""Two gangs and room for one, placed by a real scheduler: one runs whole, the other holds nothing and waits."""

import random
from collections.abc import Callable, Iterator
from functools import partial

import pytest

from harness.drivers.environment import times
from harness.drivers.operator_process import Operator
from testbed.cluster import Cluster
from testbed.waiting import until
from tests.cluster.slot_jobs import NODES, PODS, SlotJobs

Record = Callable[[str, object], None]


class Gangs(SlotJobs):
    """Two of them compete for slots that suffice for one."""

    def has_restarted(self, name: str) -> bool:
        return bool(self.status(name).get("attempt") == 1)

    def compete(self, *names: str) -> tuple[str, str]:
        """Create two jobs in any order; returns the one that was placed, and the other."""
        for name in random.sample(names, 2):
            self.create(name, schedulingPolicy={"gangScheduler": "native"})
        until("all pods", lambda: len(self.pods()) == 2 * PODS, deadline=30)
        return self.whole(*names)

    def whole(self, *names: str) -> tuple[str, str]:
        """Wait until one job is placed whole, while no other holds a slot; returns it, and the other."""
        until("one gang on nodes", lambda: max(self.placed().values(), default=0) == PODS, deadline=60)
        first = max(names, key=lambda name: self.placed()[name])
        assert self.placed() == {first: PODS}
        return first, next(name for name in names if name != first)

    def take_turns(self, first: str, second: str) -> None:
        """The first goes, and the second is placed; then it goes too."""
        self.delete(first)
        until(f"all pods of {second} on nodes", lambda: self.placed()[second] == PODS, deadline=60)
        self.delete(second)
        until("no pods", lambda: not self.pods(), deadline=60)


@pytest.fixture
def gangs(control_plane: Cluster, namespace: str) -> Iterator[Gangs]:
    """With room for one of them."""
    control_plane.up(kwok=NODES, keep=False)
    made = Gangs(control_plane, namespace)
    with Operator(control_plane, arguments=("--namespace", namespace)):
        made.offer(PODS // NODES)
        yield made
        made.offer(None)


def test_of_two_gangs_one_is_placed_whole_and_the_other_not_at_all(gangs: Gangs, record_property: Record) -> None:
    """The other says why it waits, and is placed when the first is gone; without gangs both would have some pods."""
    rounds = times(2, 100)
    for number in range(rounds):
        first, second = gangs.compete(f"a{number}", f"b{number}")
        until("its reason", partial(gangs.says, second, "0 of 4 pods of the gang are placed"), deadline=30)
        gangs.take_turns(first, second)
    record_property("rounds", rounds)


def test_a_gang_that_restarts_is_placed_whole_again(gangs: Gangs, record_property: Record) -> None:
    """One kill ends all its pods; then the two compete again, and neither is in the other's way."""
    rounds = times(1, 20)
    for number in range(rounds):
        first, _ = gangs.compete(f"a{number}", f"b{number}")
        gangs.fail(f"{first}-worker-0")
        until("the restart to count", partial(gangs.has_restarted, first), deadline=60)
        gangs.take_turns(*gangs.whole(f"a{number}", f"b{number}"))
    record_property("rounds", rounds)
