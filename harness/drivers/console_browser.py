"""Pages of the console in a real Chromium, read by console/browser/visit.mjs."""

import json
import os
import subprocess
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import msgspec

from harness.drivers.console_process import ConsoleProcess
from testbed.errors import TestbedError

ROOT = Path(__file__).parents[2]
SCRIPT = ROOT / "console" / "browser" / "visit.mjs"


class Visit(msgspec.Struct, frozen=True, omit_defaults=True):
    """A page to open, and the words that show that it is there."""

    path: str
    wait: str
    picture: str | None = None  # file for a picture
    tabs: tuple[str, ...] = ()  # to be opened one after the other
    scroll: int = 0  # half screens


class Table(msgspec.Struct, frozen=True):
    """A table of a page: the texts of its cells."""

    name: str
    rows: tuple[tuple[str, ...], ...]


class Page(msgspec.Struct, frozen=True):
    """What a page says."""

    path: str
    text: str
    tables: tuple[Table, ...]
    sections: dict[str, str]

    def table(self, name: str) -> list[list[str]]:
        """The rows of a table, with what is around lines removed."""
        rows = [table.rows for table in self.tables if table.name == name]
        return [[" ".join(cell.split()) for cell in row] for row in (rows[0] if rows else ())]


class Seen(msgspec.Struct, frozen=True):
    """What came of all visits."""

    pages: tuple[Page, ...]
    ran: tuple[str, ...]  # scripts that somebody's text brought
    reports: tuple[str, ...]  # of the content policy
    foreign: tuple[str, ...]  # requests to other origins
    errors: tuple[str, ...]
    markup: tuple[str, ...]  # elements that somebody's text brought


def visit(
    console: ConsoleProcess, token: str, visits: Sequence[Visit], *, width: int = 1280, height: int = 900
) -> Seen:
    """Open pages of a console in mode proxy as somebody; an error if one of them does not come."""
    order: dict[str, Any] = {"width": width, "height": height, "visits": [msgspec.to_builtins(one) for one in visits]}
    printed = run_script(SCRIPT, order, console, token)
    seen = msgspec.json.decode(printed.encode(), type=Seen)
    if len(seen.pages) < len(visits):
        raise TestbedError("\n".join(seen.errors))
    return seen


def run_script(script: Path, order: object, console: ConsoleProcess, token: str, seconds: float = 600) -> str:
    """Run a script of console/browser, which reads an order as JSON; return what it printed."""
    done = subprocess.run(
        ["node", str(script)],
        input=json.dumps(order),
        env={**os.environ, "CONSOLE": console.url, "TOKEN": token},
        capture_output=True,
        text=True,
        check=False,
        timeout=seconds,
    )
    if done.returncode != 0:
        raise TestbedError(f"the browser ended with {done.returncode}: {done.stderr}")
    return done.stdout
