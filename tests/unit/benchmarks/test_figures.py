"""How figures are made of measurements."""

import pytest

from benchmarks import objects, report
from benchmarks.__main__ import creation_lines
from benchmarks.creation import Figures, summary
from benchmarks.latency import percentile
from benchmarks.subjects import jobset_settled


def row(contender: str, rate: float, **more: float) -> Figures:
    return {"benchmark": "creation", "contender": contender, "pods/s": rate, **more}


def test_a_contender_stands_for_the_median_of_its_turns_and_the_ratio_for_that_of_neighbours() -> None:
    """The machine became twice as slow after the first pair; that says nothing about either contender."""
    fast, slow = [row("bare", 200), row("operator", 240)], [row("bare", 100), row("operator", 110)]
    figures = summary([*fast, *slow, row("bare", 100), row("operator", 130), row("bare", 90)])
    assert figures == {"bare pods/s": 100, "operator pods/s": 130, "operator/bare": 1.2}


def test_without_both_there_is_no_ratio() -> None:
    assert summary([row("bare", 100)]) == {"bare pods/s": 100}


def test_a_figure_that_a_contender_lacks_is_an_empty_cell() -> None:
    lines = creation_lines(500, [row("bare", 100.0), row("operator", 110.0, **{"rss MB": 60.5})])
    assert [cell.strip() for cell in lines[2].split("|")[1:6]] == ["bare", "100.0", "", "", ""]
    assert "60.5" in lines[3]
    assert lines[-1] == "Operator ÷ bare: **1.1** (pods/s in turn: bare 100.0; operator 110.0)."


@pytest.mark.parametrize(("percent", "expected"), [(50, 5), (99, 10), (100, 10), (1, 1)])
def test_a_percentile_is_a_value_that_was_measured(percent: float, expected: float) -> None:
    assert percentile([10, 1, 2, 3, 4, 5, 6, 7, 8, 9], percent) == expected


def test_only_the_section_between_its_marks_is_replaced() -> None:
    before = "prose\n<!-- a -->\nold\n<!-- end of a -->\nmore\n<!-- b -->\nkept\n<!-- end of b -->\n"
    after = report.replaced(before, "a", "new")
    assert after == "prose\n<!-- a -->\n\nnew\n\n<!-- end of a -->\nmore\n<!-- b -->\nkept\n<!-- end of b -->\n"
    assert report.replaced(after, "a", "new") == after
    with pytest.raises(ValueError, match="'c'"):
        report.replaced(before, "c", "new")


def test_the_page_has_every_section() -> None:
    text = report.PAGE.read_text()
    for section in ("creation", "scale", "idle"):
        report.replaced(text, section, "new")


def test_a_job_has_settled_when_its_status_counts_all_pods() -> None:
    status = objects.status(4, "2026-01-01T00:00:00Z")["status"]
    assert objects.settled(status, 4)
    assert not objects.settled(status, 5)
    assert not objects.settled({}, 4)
    assert jobset_settled({"replicatedJobsStatus": [{"name": "worker", "active": 1}]}, 4)
    assert not jobset_settled({"replicatedJobsStatus": [{"name": "worker", "active": 0}]}, 4)
