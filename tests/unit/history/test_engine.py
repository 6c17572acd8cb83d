"""Addresses of databases, and cursors, as people write them."""

import base64
from typing import Any

import pytest

from kubedl.history import engine
from kubedl.history.queries.cursor import Cursor, InvalidCursorError


@pytest.mark.parametrize(
    ("text", "query"),
    [
        ("postgres://u:p@db/kubedl?sslmode=verify-full", {"ssl": "verify-full"}),
        ("postgresql://u:p@db/kubedl?ssl=require", {"ssl": "require"}),
        ("postgresql://u:p@db/kubedl?sslmode=disable&ssl=require", {"ssl": "require"}),
        ("postgresql://u:p@db/kubedl", {}),
        ("mysql://u:p@db/kubedl?charset=utf8mb4", {"charset": "utf8mb4"}),
    ],
)
def test_tls_is_asked_for_as_in_the_url_that_a_cloud_gives(text: str, query: dict[str, str]) -> None:
    """`sslmode` is libpq's word, and asyncpg's is another."""
    assert dict(engine.parse_url(text).query) == query


def test_a_migration_may_take_longer_than_a_statement(monkeypatch: pytest.MonkeyPatch) -> None:
    """An index of a large table would be given up at every attempt."""
    given: list[Any] = []
    monkeypatch.setattr(engine, "create_async_engine", lambda _, **options: given.append(options["connect_args"]))
    for seconds in (engine.SECONDS, None):
        engine.create_engine(engine.parse_url("postgresql://u:p@db/kubedl"), seconds=seconds)
    assert [options["command_timeout"] for options in given] == [30.0, None]


@pytest.mark.parametrize("plain", ["0001-01-01T00:00:00+23:59 uid", "2026-11-17T00:00:00+00:00 \0", "2026-11-17 uid"])
def test_a_cursor_of_somebody_else_is_refused(plain: str) -> None:
    """Before it is in a query."""
    with pytest.raises(InvalidCursorError):
        Cursor.decode(base64.urlsafe_b64encode(plain.encode()).decode())
