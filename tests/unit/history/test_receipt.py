"""Receipts and price books."""

import os
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from kubedl.history.price_book import NodeLabels, PriceBook, PriceBookError, PriceBookFile, PriceEntry, read_price_book
from kubedl.history.receipt import GIB, MICROS, PodUsage, receipt

START = datetime(2026, 11, 17, 23, 0, tzinfo=UTC)
BOOK = PriceBook("EUR", (PriceEntry(pool="gpu", spot=True, gpu_hour=1.0), PriceEntry(gpu_hour=3.0, cpu_hour=0.1)))


def pod(index: int, hours: float, *, attempt: int = 0, spot: bool = False, disrupted: bool = False) -> PodUsage:
    """A worker with 2 GPUs that ran for some hours."""
    bound = START + timedelta(hours=attempt)
    return PodUsage(
        role="worker",
        index=index,
        created=bound,
        bound=bound,
        ended=bound + timedelta(hours=hours),
        disrupted=disrupted,
        cpu_millis=4000,
        memory_bytes=8 * GIB,
        gpus=2,
        node=NodeLabels("gpu", spot),
    )


def test_amounts_are_split_by_day_and_pool() -> None:
    """A job over midnight, on spot and on other nodes."""
    made = receipt(
        START - timedelta(minutes=10), START + timedelta(hours=3), [pod(0, 3), pod(1, 3, spot=True)], BOOK, START
    )
    assert (made.waiting_seconds, made.running_seconds, made.currency) == (600, 3 * 3600, "EUR")
    lines = {(line.day, line.spot): line for line in made.lines}
    assert sorted(lines) == [("2026-11-17", False), ("2026-11-17", True), ("2026-11-18", False), ("2026-11-18", True)]
    first, spot = lines["2026-11-17", False], lines["2026-11-18", True]
    assert (first.cpu_seconds, first.memory_gib_seconds, first.gpu_seconds) == (4 * 3600, 8 * 3600, 2 * 3600)
    assert first.cost_micros == pytest.approx((2 * 3.0 + 4 * 0.1) * MICROS)
    assert spot.cost_micros == 4 * MICROS


def test_lost_and_repeated_work_is_shown() -> None:
    """What was evicted is lost; what failed and was replaced is restarted; the last pod is neither."""
    pods = [pod(0, 0.5, disrupted=True), pod(0, 0.25, attempt=1), pod(0, 2, attempt=2), pod(1, 3)]
    made = receipt(START, START + timedelta(hours=4), pods, BOOK, START)
    assert (made.lost_seconds, made.restarted_seconds) == (1800, 900)


def test_a_job_without_pods_only_waited() -> None:
    """And costs nothing."""
    made = receipt(START, START + timedelta(hours=1), [], BOOK, START)
    assert (made.waiting_seconds, made.running_seconds, made.lines) == (3600, 0, ())


def test_a_job_that_runs_amounts_to_something_now() -> None:
    """Its pods count until now."""
    running = PodUsage("worker", 0, START, START, None, gpus=1)
    made = receipt(START, None, [running], PriceBook(), START + timedelta(seconds=90))
    assert (made.running_seconds, made.lines[0].gpu_seconds, made.lines[0].cost_micros) == (90, 90, 0)


def test_the_first_matching_prices_count() -> None:
    """An entry without conditions matches every node."""
    assert BOOK.entry(NodeLabels("gpu", True)) == BOOK.prices[0]
    assert BOOK.entry(NodeLabels("gpu", False)) == BOOK.prices[1]
    assert PriceBook().entry(NodeLabels()) is None


def test_the_version_follows_from_the_content() -> None:
    """So a changed price is another book, and a renamed file is not."""
    assert PriceBook("EUR").version == PriceBook("EUR").version != PriceBook("USD").version


@pytest.mark.parametrize("text", ["prices: [{gpuHour: -1}]", "prices: [{gpu: 1}]", "currency: 5", "- a", "{"])
def test_a_book_that_means_nothing_is_refused(text: str, tmp_path: Path) -> None:
    """A misspelt key would make everything free."""
    (tmp_path / "prices.yaml").write_text(text)
    with pytest.raises(PriceBookError, match="prices"):
        read_price_book(str(tmp_path / "prices.yaml"))


def test_a_broken_change_keeps_the_last_prices(tmp_path: Path) -> None:
    """A ConfigMap is edited by hand."""
    file = tmp_path / "prices.yaml"
    file.write_text("currency: EUR")
    book = PriceBookFile(str(file))
    file.write_text("currency: [")
    os.utime(file, (1, 1))
    assert book.current().currency == "EUR"
    file.write_text("currency: USD")
    os.utime(file, (2, 2))
    assert book.current().currency == "USD"


def test_two_pools_and_one_restart_by_hand() -> None:
    """A job on reserved and on spot nodes, one pod of which failed after half an hour and was replaced.

    Worker 0, reserved: 23:00 to 02:00, 3 h of 2 GPUs and 4 cores, an hour of it before midnight.
    Worker 1, spot: 23:00 to 23:30, failed, 0.5 h; again 00:00 to 02:00, 2 h; of 2 GPUs each.
    Reserved costs 3.00 for a GPU hour and 0.10 for a core hour, so 6.40 an hour; spot 1.00 for a GPU hour, so 2.00.
    """
    pods = [pod(0, 3), pod(1, 0.5, spot=True), pod(1, 2, attempt=1, spot=True)]
    made = receipt(START - timedelta(minutes=5), START + timedelta(hours=3), pods, BOOK, START)
    assert (made.waiting_seconds, made.running_seconds) == (300, 10_800)
    assert (made.restarted_seconds, made.lost_seconds) == (1800, 0)
    lines = {(line.day, line.spot): line for line in made.lines}
    assert {key: line.cost_micros for key, line in lines.items()} == {
        ("2026-11-17", False): 6_400_000,
        ("2026-11-18", False): 12_800_000,
        ("2026-11-17", True): 1_000_000,
        ("2026-11-18", True): 4_000_000,
    }
    assert sum(line.gpu_seconds for line in made.lines) == 2 * 10_800 + 2 * 1800 + 2 * 7200
    assert sum(line.cpu_seconds for line in made.lines) == 4 * (10_800 + 1800 + 7200)
    assert sum(line.memory_gib_seconds for line in made.lines) == 8 * (10_800 + 1800 + 7200)
