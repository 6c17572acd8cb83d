"""Costs: of what a person may list, and what has no price is unknown."""

from collections.abc import AsyncIterator
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path

import pytest

from kubedl.console import cost_pages
from kubedl.console.cost_pages import Sum
from kubedl.console.problems import RefusalError
from kubedl.console.wire_cost import CostPage, CostRow, Waste
from kubedl.history.queries.answers import SpendRow
from tests.unit.console.past import HIDDEN, Past, with_history
from tests.unit.console.world import JOBS as PYTORCH
from tests.unit.console.world import World, caller

ADA, BEN, ROOT, NOBODY = caller("ada"), caller("ben"), caller("root"), caller("nobody")
HOUR = 2_000_000  # the price of a GPU


@pytest.fixture
async def past(world: World, tmp_path: Path) -> AsyncIterator[Past]:
    """Ada may list PyTorchJobs of nlp, Ben those of vision, and root both kinds everywhere."""
    world.reviewer.allow("root", "", PYTORCH, "tfjobs.training.kubedl.io")
    async with with_history(world, tmp_path) as made:
        yield made


def spent(row: CostRow) -> dict[str, int]:
    """Millionths by currency."""
    return {one.currency: one.micros for one in row.costs}


async def test_sums_are_of_what_a_person_may_list(past: Past) -> None:
    """By team, user, queue and day; jobs of other kinds and namespaces are in no sum."""
    page = await past.world.pages.of_costs.cost(ADA, "30", "")
    assert [row.name for row in page.teams] == ["nlp"]
    assert [row.name for row in page.users] == ["mei.lin", "tomas.k"]
    assert {row.name: row.gpu_seconds for row in page.queues} == {"gpus": 8 * 3660, "": 2 * 3600}
    assert [row.name for row in page.by_day] == ["2026-11-16", "2026-11-17"]
    assert HIDDEN not in repr(page)
    assert "vision" not in repr(page)
    assert page.hidden_namespaces == 1
    whole = await past.world.pages.of_costs.cost(ROOT, "30", "")
    assert [row.name for row in whole.teams] == ["nlp", "vision"]
    assert whole.total.gpu_seconds == page.total.gpu_seconds + 2 * 3600
    assert not (await past.world.pages.of_costs.cost(NOBODY, "30", "")).teams


async def test_every_sum_has_the_same_total(past: Past) -> None:
    page = await past.world.pages.of_costs.cost(ADA, "30", "")
    assert spent(page.total) == {"EUR": round(8 * HOUR * 3660 / 3600) + HOUR}
    for rows in (page.teams, page.users, page.queues, page.by_day):
        assert sum(spent(row).get("EUR", 0) for row in rows) == spent(page.total)["EUR"]
        assert sum(row.gpu_seconds for row in rows) == page.total.gpu_seconds


async def test_what_has_no_price_is_unknown(past: Past) -> None:
    """A group of which nothing has a price has no cost at all, not one of nothing; a part of a group is named."""
    page = await past.world.pages.of_costs.cost(ADA, "30", "")
    of_user = {row.name: row for row in page.users}
    assert list(of_user["tomas.k"].costs) == []
    assert of_user["tomas.k"].unpriced_gpu_seconds == 3600
    assert of_user["mei.lin"].unpriced_gpu_seconds == 0
    assert page.total.unpriced_gpu_seconds == 3600


async def test_waste_is_that_of_the_same_jobs(past: Past) -> None:
    page = await past.world.pages.of_costs.cost(ADA, "30", "")
    # The first pod of bert was bound at once, and evicted after a minute; the others waited for two.
    assert page.total.waste == Waste(jobs=3, waiting_seconds=240, restarted_seconds=0, lost_seconds=60)
    assert page.teams[0].waste == page.total.waste


@pytest.mark.parametrize(
    ("days", "first", "jobs"), [("7", "2026-11-12", 3), ("", "2026-10-20", 3), ("90", "2026-08-21", 4)]
)
async def test_ranges_end_today(past: Past, days: str, first: str, jobs: int) -> None:
    page = await past.world.pages.of_costs.cost(ADA, days, "")
    assert (page.first, page.last, page.days) == (first, "2026-11-18", int(days or 30))
    assert page.total.waste is not None
    assert page.total.waste.jobs == jobs


async def test_last_month_is_that_of_the_calendar(past: Past) -> None:
    """Also in the first days of a year."""
    page = await past.world.pages.of_costs.cost(ADA, "month", "")
    assert (page.first, page.last, page.days) == ("2026-10-01", "2026-10-31", 31)
    pages = replace(past.world.pages, now=lambda: datetime(2027, 1, 1, 0, 30, tzinfo=UTC))
    page = await pages.of_costs.cost(ADA, "month", "")
    assert (page.first, page.last) == ("2026-12-01", "2026-12-31")


async def test_another_range_is_refused(past: Past) -> None:
    with pytest.raises(RefusalError, match="no range of 365 days") as refusal:
        await past.world.pages.of_costs.cost(ADA, "365", "")
    assert refusal.value.status == 400


async def test_a_foreign_namespace_and_one_that_is_not_there_answer_alike(past: Past) -> None:
    answers = []
    for namespace in ("vision", "absent"):
        with pytest.raises(RefusalError) as refusal:
            await past.world.pages.of_costs.cost(ADA, "30", namespace)
        answers.append((refusal.value.status, str(refusal.value).replace(namespace, "")))
    assert answers[0] == answers[1]
    assert answers[0][0] == 403


async def test_one_namespace_can_be_chosen(past: Past) -> None:
    page = await past.world.pages.of_costs.cost(ROOT, "30", "vision")
    assert [row.name for row in page.teams] == ["vision"]
    assert page.total.gpu_seconds == 3600


async def test_lists_are_bounded_and_say_so(past: Past, monkeypatch: pytest.MonkeyPatch) -> None:
    """The total is of everything."""
    whole = await past.world.pages.of_costs.cost(ADA, "30", "")
    monkeypatch.setattr(cost_pages, "MOST", 1)
    page = await past.world.pages.of_costs.cost(ADA, "30", "")
    assert (len(page.users), page.more_users) == (1, 1)
    assert page.total == whole.total


async def test_without_a_database_the_answer_says_so(world: World) -> None:
    page = await world.pages.of_costs.cost(ADA, "", "")
    assert isinstance(page, CostPage)
    assert not page.installed
    assert list(page.total.costs) == []


def test_two_currencies_are_not_added() -> None:
    """Both are shown, beside the part that has no price."""

    def part(currency: str, micros: int) -> SpendRow:
        amounts = {"cpu_seconds": 1, "memory_gib_seconds": 1, "gpu_seconds": 60}
        return SpendRow(
            group=("nlp", "priced" if micros else "unpriced"), currency=currency, cost_micros=micros, **amounts
        )

    total = Sum()
    for row in (part("EUR", 5), part("USD", 7), part("EUR", 1), part("", 0)):
        total.add(row)
    found = total.row("nlp")
    assert (spent(found), found.gpu_seconds, found.unpriced_gpu_seconds) == ({"EUR": 6, "USD": 7}, 240, 60)
