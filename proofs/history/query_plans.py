"""How a database executes a query of the product: the statements that it sends, explained with real rows and times."""

from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from typing import Any

from sqlalchemy import event
from sqlalchemy.ext.asyncio import AsyncConnection, AsyncEngine

PREFIXES = {"postgresql": "EXPLAIN (ANALYZE, COSTS OFF, SUMMARY OFF) ", "mysql": "ANALYZE "}
MOST_LINES = 40  # of one plan; those of other partitions repeat


@dataclass(frozen=True)
class Plan:
    """The plan of one query."""

    family: str
    question: str
    milliseconds: float
    lines: tuple[str, ...]


async def explained(
    engine: AsyncEngine, connection: AsyncConnection, ask: Callable[[AsyncConnection], Awaitable[object]]
) -> tuple[str, ...]:
    """Return the plans of all statements of a query, a line each."""
    sent: list[tuple[str, Any]] = []

    def remember(_: object, __: object, statement: str, parameters: Any, *___: object) -> None:  # noqa: ANN401
        sent.append((statement, parameters))

    event.listen(engine.sync_engine, "before_cursor_execute", remember)
    try:
        await ask(connection)
    finally:
        event.remove(engine.sync_engine, "before_cursor_execute", remember)
    lines: list[str] = []
    for statement, parameters in sent:
        answer = await connection.exec_driver_sql(PREFIXES[engine.dialect.name] + statement, parameters)
        if engine.dialect.name == "mysql":
            lines.append(" | ".join(answer.keys()))
        lines += [" | ".join("" if part is None else str(part) for part in row) for row in answer]
    return tuple(lines)


def page_of_plans(rows: int, memory: str, plans: Sequence[Plan]) -> str:
    """Return a page of documentation."""
    about = (
        f"How PostgreSQL and MariaDB execute each query among {rows:,} jobs of a year in monthly partitions, with\n"
        f"{memory} of memory for the database. Written by `python -m proofs.history.query_times`. Milliseconds are\n"
        "medians, and include the client. Of a long plan the beginning is shown: the other partitions repeat it."
    )
    parts = ["# Plans of the history's queries", about]
    for family in dict.fromkeys(plan.family for plan in plans):
        parts.append(f"## {family}")
        for plan in (plan for plan in plans if plan.family == family):
            shown = [*plan.lines[:MOST_LINES], *(["…"] if len(plan.lines) > MOST_LINES else [])]
            parts.append(f"### {family}: {plan.question}, {plan.milliseconds:.1f} ms")
            parts.append("```text\n" + "\n".join(shown) + "\n```")
    return "\n\n".join(parts) + "\n"
