"""Which partitions are created, as each database accepts them."""

from datetime import UTC, datetime
from typing import Any

import pytest

from kubedl.history import partitions
from kubedl.history.tables import MONTHLY

NOW = datetime(2026, 11, 17, tzinfo=UTC)


class FakeConnection:
    """Answers what partitions and rows there are, and keeps the statements that change something."""

    def __init__(self, family: str, there: list[str], later: str = "") -> None:
        self.dialect = type("Dialect", (), {"name": family})()
        self.there, self.later, self.changes = there, later, list[str]()

    def execute(self, statement: Any, parameters: dict[str, Any] | None = None) -> Any:  # noqa: ANN401
        """One statement; `later` is the day of a row in the partition `later`."""
        text = str(statement)
        if "PARTITION_NAME" in text or "pg_inherits" in text:
            return [(name,) for name in self.there]
        if text.startswith("SELECT 1"):
            return type("Rows", (), {"first": lambda _: (1,) if self.later and f"'{self.later}" in text else None})()
        self.changes.append(text)
        return []

    def commit(self) -> None:
        """Nothing to do."""


@pytest.mark.parametrize(
    ("connection", "created"),
    [
        (FakeConnection("mysql", ["y2026m11"]), ["y2026m12", "y2027m01", "y2027m02"]),
        # Made while a clock was a year ahead: MySQL adds partitions at the end only.
        (FakeConnection("mysql", ["y2027m11", "y2027m12"]), []),
        (FakeConnection("mysql", ["y2026m12"]), ["y2027m01", "y2027m02"]),
        # Written before this recorder had created the month: PostgreSQL refuses it then.
        (FakeConnection("postgresql", [], "2026-11-01"), ["y2026m12", "y2027m01", "y2027m02"]),
        (FakeConnection("postgresql", []), ["y2026m11", "y2026m12", "y2027m01", "y2027m02"]),
    ],
)
def test_a_month_that_the_database_refuses_keeps_back_no_other(connection: Any, created: list[str]) -> None:  # noqa: ANN401
    partitions.create_missing(connection, NOW)
    changes = [text for text in connection.changes if "jobs" in text]
    assert [name for name in ("y2026m11", "y2026m12", "y2027m01", "y2027m02") if name in " ".join(changes)] == created
    assert bool(connection.changes) == bool(created)
    assert len(connection.changes) in (0, len(MONTHLY), len(MONTHLY) * len(created))


def test_partitions_of_an_administrator_are_left_alone() -> None:
    """Retention would end at a name that is no month."""
    there: Any = FakeConnection("postgresql", ["jobs_y2026m11", "jobs_archive", "jobs_later"])
    assert partitions.existing(there, "jobs") == ["y2026m11"]
