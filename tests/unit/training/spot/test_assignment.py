"""Which replica belongs to which pool: who changes first, who stays, and in what steps they go back."""

import pytest

from kubedl.api.spot import MOST_POOLS, SpotStatus
from kubedl.schema.structural import schema_of
from kubedl.training.elastic.terms import Reason
from kubedl.training.spot.assignment import Assigned, Placed, State, begin, place, read, try_others, write
from kubedl.training.spot.choosing import Choice, Mode
from kubedl.training.spot.pools import Pools
from tests.training_builders import after
from tests.unit.training.spot.played_pools import POOLS

TWO = Pools(spot=(POOLS[0],), on_demand=(POOLS[2],))
THREE = Pools(spot=POOLS[:2], on_demand=(POOLS[2],))
STATES = {"t": State.TRAINING, "w": State.WAITING, "s": State.STARTING, "a": State.ABSENT, "p": State.WAITING}
NAMES = {"s": "spot", "o": "on-demand", "c": "cheap"}


def named(letters: str) -> Assigned:
    return tuple(NAMES[letter] for letter in letters)


def placed(letters: str) -> tuple[Placed, ...]:
    """For "w" the scheduler has found no node; at "p" it has not looked yet."""
    return tuple(Placed(STATES[letter], after(0), letter == "w") for letter in letters)


def choice(mode: Mode, on_demand: int, *, may_move: bool = True) -> Choice:
    return Choice(mode, on_demand, Reason.BEHIND_LINE, (), may_move)


CASES = {
    "those without a node go": ("ssss", "tttw", Mode.ON_DEMAND, 1, "ssso"),
    "the first one of them first": ("ssss", "wttw", Mode.ON_DEMAND, 1, "osss"),
    "who trains or starts stays": ("ssss", "ttss", Mode.ON_DEMAND, 2, "ssss"),
    "so do those that may get a node yet": ("ssss", "apap", Mode.ON_DEMAND, 4, "ssss"),
    "in the end all go": ("sssos", "twstp", Mode.LAST, 5, "ooooo"),
    "one tries spot first": ("oooo", "tttt", Mode.SPOT, 0, "ooos"),
    "none goes while spot has no node for one": ("ooos", "tttw", Mode.SPOT, 0, "ooos"),
    "none goes while one starts": ("ooos", "ttts", Mode.SPOT, 0, "ooos"),
    "then as many as there are": ("ooos", "tttt", Mode.SPOT, 0, "ooss"),
    "and the rest": ("ooss", "tttt", Mode.SPOT, 0, "ssss"),
    "whoever waits goes at once": ("oooo", "ttww", Mode.SPOT, 0, "ooss"),
    "whoever may get a node where it is waits for that": ("oooo", "apap", Mode.SPOT, 0, "oooo"),
    "and keeps nobody": ("oooo", "ttpt", Mode.SPOT, 0, "ooos"),
    "those that never do stay": ("oooo", "tttt", Mode.SPOT, 3, "ooos"),
    "on-demand is not given back on the line": ("ooss", "tttt", Mode.ON_DEMAND, 1, "ooss"),
}


@pytest.mark.parametrize("name", CASES)
def test_places(name: str) -> None:
    assigned, states, mode, on_demand, expected = CASES[name]
    least = on_demand if mode is Mode.SPOT else 0
    found = place(named(assigned), placed(states), choice(mode, on_demand), TWO, min_size=1, least=least)
    assert found == named(expected)


def test_nobody_who_trains_moves_unless_allowed() -> None:
    for mode, assigned, on_demand in ((Mode.LAST, "ssss", 4), (Mode.SPOT, "oooo", 0)):
        stay = choice(mode, on_demand, may_move=False)
        assert place(named(assigned), placed("tttt"), stay, TWO, min_size=1, least=0) == named(assigned)


def test_if_nobody_can_be_spared_all_go_together() -> None:
    assert place(named("oo"), placed("tt"), choice(Mode.SPOT, 0), TWO, min_size=2, least=0) == named("ss")


def test_the_first_ones_begin_on_demand_and_new_ones_on_spot() -> None:
    assert begin((None, None, None), TWO, 1, Mode.SPOT) == named("oss")
    assert begin(("on-demand", "gone", None), TWO, 0, Mode.SPOT) == named("oss")
    assert begin((None, None), TWO, 0, Mode.LAST) == named("oo")


def test_the_next_pool_of_the_same_sort_is_tried_after_a_while() -> None:
    assigned = named("sso")
    states = (*placed("wt"), Placed(State.WAITING, after(0)))
    assert try_others(assigned, assigned, states, THREE, after(599)) == (assigned, after(600))
    assert try_others(assigned, assigned, states, THREE, after(600)) == (named("cso"), None)
    assert try_others(assigned, assigned, states, TWO, after(6000)) == (assigned, None)


def test_one_that_has_just_changed_its_pool_is_tried_there_first() -> None:
    """How long it has waited says something of the pool that it comes from."""
    assert try_others(named("sso"), named("oco"), placed("www"), THREE, after(900)) == (named("sso"), None)
    assert try_others(named("s"), (None,), placed("w"), THREE, after(900)) == (named("s"), None)


def test_the_status_says_it_by_rank() -> None:
    assert write(named("osso")) == {"on-demand": "0,3", "spot": "1-2"}
    assert read(write(named("osso")), 4) == named("osso")
    assert read({"spot": "nonsense,1"}, 2) == (None, "spot")


def test_a_status_that_somebody_has_edited_costs_no_more_than_that_of_the_operator() -> None:
    """More pools than a job can have are not read, nor ranks that it does not have."""
    assert read({f"pool-{number}": f"{number},100-4000" for number in range(20)}, 12)[7:9] == ("pool-7", None)
    schema = schema_of(SpotStatus, defaults=False)
    assert schema["properties"]["pools"]["maxProperties"] == MOST_POOLS


def test_a_choice_is_kept_by_itself() -> None:
    """What was placed stays so while nothing else changes: no replica goes back and forth."""
    for mode, on_demand in ((Mode.SPOT, 0), (Mode.ON_DEMAND, 2), (Mode.LAST, 4)):
        once = place(named("ssss"), placed("ttww"), choice(mode, on_demand), TWO, min_size=1, least=0)
        states = tuple(
            Placed(State.ABSENT) if new != "spot" else one for one, new in zip(placed("ttww"), once, strict=True)
        )
        assert place(once, states, choice(mode, on_demand), TWO, min_size=1, least=0) in (once, named("ssss"))
