"""What the proof about states of pages counts as a figure that is 0, and that each kind of fault is found."""

import pytest

from proofs.console.states_pages import Page
from proofs.console.states_table import Table
from proofs.console.windows import Shown

PAGE = Page("queues", "/queues", "Queues", ("shared",))
WELL = Shown("Live shared", "shared\n0 wait, 3 admitted", "Queues", 8, False, False, "", (), "/queues", (), (), 1)


def shown(**fields: object) -> Shown:
    """The page in health, with something else about it."""
    return Shown(**{name: getattr(WELL, name) for name in WELL.__struct_fields__} | fields)


def test_zeros_stand_alone() -> None:
    """Not those of other figures, dates, addresses and fractions; what goes on by itself does not matter."""
    main = "0 jobs since <1 min\n10 jobs\n0.0 %\tof 7\n2026-11-09 00:30\n0/2\nv1.0\n10.0.0.1\nGPUs\t0\n0 of 0"
    assert shown(main=main).zeros == {"0 jobs since # min", "0.0 % of #", "GPUs 0", "0 of 0"}


@pytest.mark.parametrize(
    ("fields", "figure"),
    [
        ({"missing": ("shared",)}, "wrong words"),
        ({"main": "shared, of llama-lora"}, "wrong words"),
        ({"heading": ""}, "dead pages"),
        ({"links": 0}, "dead pages"),
        ({"errors": ("TypeError",)}, "dead pages"),
        ({"main": "0 admitted"}, "unknown drawn as 0"),
    ],
)
def test_each_fault_is_counted(fields: dict[str, object], figure: str) -> None:
    """And nothing of a page that is as it should be."""
    table = Table([PAGE])
    table.judge("well", PAGE, WELL)
    table.judge("down", PAGE, WELL, never=("llama-lora",))
    table.stayed("down", WELL)
    assert {name: table.figures()[name] for name in ("visited", figure)} == {"visited": 2, figure: 0}
    table.judge("dead", PAGE, shown(**fields), never=("llama-lora",))
    assert {name: table.figures()[name] for name in ("visited", figure)} == {"visited": 3, figure: 1}


def test_a_page_that_was_loaded_again_and_one_that_is_not_dimmed() -> None:
    table = Table([PAGE])
    table.stayed("dead", shown(loads=2))
    table.judge("stale", PAGE, WELL, stale=True)
    table.judge("loading", PAGE, WELL, skeleton=True)
    table.insist("signed out", "a dialog", WELL, holds=False)
    assert (table.figures()["loaded again"], table.figures()["wrong words"]) == (1, 3)
