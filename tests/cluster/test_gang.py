"""Two gangs and room for one, placed by a real scheduler: one runs whole, the other holds nothing and waits.

GANG_SCHEDULER names the scheduler, which is that of Kubernetes in daily work; GANG_ROUNDS bounds the rounds.
"""

import os
from collections.abc import Callable, Iterator
from functools import partial

import pytest

from harness.drivers.environment import times
from harness.drivers.operator_process import Operator
from testbed.cluster import Cluster
from testbed.waiting import until
from tests.cluster import gang_rooms
from tests.cluster.gang_rooms import Room, side_by_side

Record = Callable[[str, object], None]

SCHEDULER = os.environ.get("GANG_SCHEDULER", "native")
MOST_ROUNDS = int(os.environ.get("GANG_ROUNDS", "100"))
# Longer than the scheduler takes to look at a waiting gang again: Coscheduling is reminded every five seconds.
RELEASE_SECONDS = {"coscheduling": 16}.get(SCHEDULER, 4)


@pytest.fixture
def rooms(control_plane: Cluster, namespace: str) -> Iterator[list[Room]]:
    """With the operator that serves them."""
    control_plane.up(kwok=1, keep=False)
    {"volcano": control_plane.add_volcano, "coscheduling": control_plane.add_coscheduling}.get(SCHEDULER, bool)()
    arguments = ("--namespace", namespace, "--gang-release-seconds", str(RELEASE_SECONDS))
    with gang_rooms.rooms(control_plane, namespace, SCHEDULER) as found, Operator(control_plane, arguments=arguments):
        yield found


def play(rooms: list[Room], rounds: int, what: Callable[[Room, int], None], record: Record) -> None:
    """The rounds, and how many."""
    rounds = min(rounds, MOST_ROUNDS)
    side_by_side(rooms, rounds, what)
    record("rounds", rounds)


def test_of_two_gangs_one_is_placed_whole_and_the_other_not_at_all(rooms: list[Room], record_property: Record) -> None:
    """And takes its turn when the first is gone; without gangs both would have some pods."""
    play(rooms, times(2, 100), gang_rooms.contend, record_property)


def test_the_other_says_why_it_waits(rooms: list[Room]) -> None:
    first, second = rooms[0].compete(0)
    until("its reason", partial(rooms[0].says, second, "0 of 4 pods of the gang are placed"), deadline=120)
    rooms[0].take_turns(first, second)


def test_gangs_that_start_in_order_do_not_wait_for_each_other(rooms: list[Room], record_property: Record) -> None:
    """Both have their first stage placed, and room for the second of neither; one gives its pods back."""
    play(rooms, times(2, 20), gang_rooms.contend_in_order, record_property)


def test_gangs_whose_commit_is_found_first_are_placed_whole(rooms: list[Room], record_property: Record) -> None:
    play(rooms, times(1, 20), gang_rooms.contend_with_code, record_property)


def test_a_gang_that_restarts_is_placed_whole_again(rooms: list[Room], record_property: Record) -> None:
    """One kill ends all its pods; then the two compete again, and neither is in the other's way."""
    play(rooms, times(1, 20), gang_rooms.contend_and_restart, record_property)
