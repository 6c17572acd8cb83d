"""The command line against the stand-in API server."""

import io
from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta

import pytest

from kubedl.entrypoints import command
from tests.unit.client.api_server import ApiServer
from tests.unit.client.conftest import api  # noqa: F401 - a fixture


@dataclass(frozen=True)
class Answer:
    """What a command printed, and its exit code."""

    code: int
    out: str
    err: str


Run = Callable[..., Answer]


@pytest.fixture
def run(api: ApiServer, capsys: pytest.CaptureFixture[str]) -> Run:  # noqa: F811
    """Runs `kubedl …` in the namespace `team` of the stand-in."""

    def run(*words: str) -> Answer:
        code = command.main([*words[:1], "-n", "team", "--server", api.url, *words[1:]])
        printed = capsys.readouterr()
        return Answer(code, printed.out, printed.err)

    return run


@pytest.fixture
def terminal(monkeypatch: pytest.MonkeyPatch) -> Callable[[int], io.StringIO]:
    """Makes standard output a terminal of some width; returns what is written to it."""

    def made(columns: int) -> io.StringIO:
        screen = _Screen()
        monkeypatch.setattr("sys.stdout", screen)
        monkeypatch.setenv("COLUMNS", str(columns))
        monkeypatch.setenv("TERM", "xterm")
        monkeypatch.delenv("NO_COLOR", raising=False)
        return screen

    return made


class _Screen(io.StringIO):
    def isatty(self) -> bool:
        return True


def ago(**passed: float) -> str:
    """A time in the past, as the server writes it."""
    return f"{datetime.now(UTC) - timedelta(**passed):%Y-%m-%dT%H:%M:%SZ}"
