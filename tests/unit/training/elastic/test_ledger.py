"""The ledger against cases that were computed by hand."""

from decimal import Decimal

import pytest

from kubedl.training.elastic.ledger import (
    Entry,
    Ledger,
    Receipt,
    changed_members,
    closed,
    joined,
    left,
    opened,
    receipt,
    saved_members,
    took_back,
)

HOUR = 3600


def entry(pool: str = "spot", begin: int = 0, share: float = 1.0) -> Entry:
    """A pod that starts."""
    return Entry(pool, "0.918" if pool == "spot" else "3.06", "3.06", share, begin, begin)


def figures(ledger: Ledger, now: int, kept: float = 0, size: int = 1) -> Receipt:
    """Of a job whose cold start is nine minutes."""
    return receipt(ledger, now, size=size, kept=kept, cold_start=540, on_demand_hourly="3.06")


def test_every_paid_second_is_in_one_account() -> None:
    # Starts for 540 s, trains 1,000 s, saves 30 s, changes 60 s, trains 500 s, of which 200 s are lost.
    ledger = opened(Ledger(), "a", entry())
    ledger = joined(ledger, ["a"], 540)
    ledger = saved_members(ledger, ["a"], 30)
    ledger = changed_members(ledger, ["a"], 60)
    ledger = took_back(ledger, ["a"], progress=100, per_second=0.5)
    ledger = closed(ledger, "a", 2130)
    bill = figures(ledger, 9999)
    assert (bill.paid, bill.start, bill.save, bill.change, bill.lost) == (2130, 540, 30, 60, 200)
    assert bill.useful == 1300
    assert bill.goodput == pytest.approx(1300 / 2130)
    assert not bill.estimated


def test_money_by_the_prices_at_which_pods_were_scheduled() -> None:
    # 10 h of spot and 2 h of on-demand instead of 11 h of work and a cold start of 0.15 h.
    ledger = joined(opened(Ledger(), "s", entry("spot")), ["s"], 540)
    ledger = closed(ledger, "s", 10 * HOUR)
    ledger = joined(opened(ledger, "d", entry("on-demand", 10 * HOUR)), ["d"], 10 * HOUR + 540)
    ledger = closed(ledger, "d", 12 * HOUR)
    bill = figures(ledger, 12 * HOUR, kept=11 * HOUR)
    assert bill.cost == Decimal("15.3")  # 9.18 + 6.12
    assert bill.base == Decimal("34.119")  # 3.06 · 11.15
    assert bill.saved == 1 - Decimal("15.3") / Decimal("34.119")
    assert bill.saved_by_price == 1 - Decimal("15.3") / Decimal("36.72")


def test_a_price_that_changes_counts_for_later_pods_only() -> None:
    dear = Entry("spot", "1.836", "3.06", 1.0, HOUR, HOUR)
    ledger = closed(opened(Ledger(), "a", entry()), "a", HOUR)
    ledger = closed(opened(ledger, "b", dear), "b", 2 * HOUR)
    assert figures(ledger, 2 * HOUR).cost == Decimal("2.754")


def test_a_pod_on_a_part_of_a_node_pays_that_part_in_every_account() -> None:
    ledger = joined(opened(Ledger(), "a", entry(share=0.25)), ["a"], 400)
    ledger = saved_members(ledger, ["a"], 40)
    bill = figures(closed(ledger, "a", HOUR), HOUR)
    assert (bill.paid, bill.start, bill.save, bill.useful) == (900, 100, 10, 790)
    assert bill.cost == Decimal("0.2295")


def test_a_pod_that_never_joined_only_started() -> None:
    bill = figures(closed(opened(Ledger(), "a", entry()), "a", 300), 300)
    assert (bill.paid, bill.start, bill.useful, bill.goodput) == (300, 300, 0, 0)


def test_a_member_that_waits_for_others_is_not_useful() -> None:
    ledger = joined(opened(Ledger(), "a", entry()), ["a"], 100)
    ledger = joined(left(ledger, ["a"], 1000), ["a"], 1300)
    assert figures(closed(ledger, "a", 2000), 2000).start == 100 + 300


def test_an_end_that_nobody_saw_is_the_first_look_after_it_and_is_marked() -> None:
    ledger = opened(Ledger(), "a", entry())
    bill = figures(closed(ledger, "a", 700, estimated=True), 700)
    assert (bill.paid, bill.estimated) == (700, True)


def test_closing_twice_counts_once() -> None:
    once = closed(opened(Ledger(), "a", entry()), "a", 500)
    assert closed(once, "a", 900) == once
    assert opened(once, "b", entry()).open.keys() == {"b"}


def test_a_pod_that_is_seen_again_keeps_its_entry() -> None:
    ledger = joined(opened(Ledger(), "a", entry()), ["a"], 540)
    assert opened(ledger, "a", entry(begin=800)) == ledger
    assert joined(ledger, ["a"], 900) == ledger


def test_pods_that_still_run_are_paid_for_until_now() -> None:
    ledger = joined(opened(Ledger(), "a", entry()), ["a"], 540)
    assert (figures(ledger, 1000).paid, figures(ledger, 1000).useful) == (1000, 460)
    assert ledger.open.keys() == {"a"}


def test_four_members_lose_four_times_as_much() -> None:
    ledger = Ledger()
    for uid in "abcd":
        ledger = opened(ledger, uid, entry())
    ledger = took_back(joined(ledger, "abcd", 0), "abcd", progress=900, per_second=1.0)
    assert figures(ledger, HOUR, size=4).lost == HOUR
    assert figures(ledger, HOUR, size=4).useful == 3 * HOUR


def test_a_node_without_a_price_has_hours_and_no_money() -> None:
    ledger = closed(opened(Ledger(), "a", Entry("spot", "", "", 1.0, 0, 0)), "a", HOUR)
    bill = receipt(ledger, HOUR, size=1, kept=0, cold_start=0, on_demand_hourly="")
    assert bill.paid == HOUR
    assert (bill.cost, bill.base, bill.saved, bill.saved_by_price) == (None, None, None, None)


def test_an_empty_ledger_has_no_goodput() -> None:
    assert figures(Ledger(), 0).goodput == 0
