"""What counts as a defect of followed logs."""

import pytest

from proofs.cli.followed_logs import defects

LINES = 1000  # the proof has more


def _run(replica: str, mark: str, count: int = LINES, *, end: bool = True) -> list[str]:
    return [f"[{replica}] {mark} {number}" for number in [*range(1, count + 1), *([f"end {count}"] if end else [])]]


def _all() -> list[str]:
    """Four replicas, of which one was replaced after some lines."""
    whole = [
        line for index, name in enumerate(("master-0", "worker-0", "worker-2")) for line in _run(name, f"m{index}")
    ]
    return [*whole, *_run("worker-1", "old", 500, end=False), *_run("worker-1", "new")]


def test_every_line_once_and_in_order_is_no_defect() -> None:
    assert defects("\n".join(_all())) == []


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (lambda lines: lines[:10] + lines[11:], "master-0 m0: 12 in place of 11"),
        (lambda lines: [*lines[:10], lines[9], *lines[10:]], "master-0 m0: 10 in place of 11"),
        (lambda lines: [lines[1], lines[0], *lines[2:]], "master-0 m0: 2 in place of 1"),
        (lambda lines: lines[:-1], "worker-1 never ended"),
        (lambda lines: lines[: -LINES - 1], "worker-1 was not replaced"),
        (lambda lines: [line for line in lines if "worker-2" not in line], "worker-2 never ended"),
        (
            lambda lines: [line for line in lines if line != f"[worker-0] m1 {LINES}"],
            f"worker-0 m1: end {LINES} after {LINES - 1} lines",
        ),
    ],
)
def test_a_line_that_is_missing_doubled_or_out_of_order_is_one(change: object, said: str) -> None:
    assert said in defects("\n".join(change(_all())))  # type: ignore[operator]
