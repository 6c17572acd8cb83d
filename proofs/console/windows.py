"""Windows of people in a real Chromium that stay open while something breaks, driven by console/browser/states.mjs."""

import json
import os
import re
import subprocess
from collections.abc import Collection, Sequence
from pathlib import Path
from types import TracebackType
from typing import Any, Self

import msgspec

from testbed.errors import TestbedError

SCRIPT = Path(__file__).parents[2] / "console" / "browser" / "states.mjs"
PATIENCE = 30.0  # seconds until words must be there
# A zero that stands alone, with or without a unit: not that of 10, 0.5 or 2026-11-09.
ZERO = re.compile(r"(?<![\w.,:/#-])0(?:\.0+)?(?![\w.,:/-])")
FIGURE = re.compile(r"\d[\d.,:]*")


class Shown(msgspec.Struct, frozen=True):
    """What a window shows."""

    text: str
    main: str
    heading: str
    links: int  # of the navigation
    stale: bool
    skeleton: bool
    dialog: str
    typed: tuple[str, ...]
    path: str
    missing: tuple[str, ...]  # words that did not come
    errors: tuple[str, ...]
    loads: int

    @property
    def zeros(self) -> set[str]:
        """The lines of the page with a figure that is 0; other figures in them do not matter, since times go on."""
        lines = (" ".join(line.replace("<", "").split()) for line in self.main.splitlines())  # "<1 min" goes on too
        return {
            FIGURE.sub(lambda found: found[0] if found[0] in ("0", "0.0") else "#", one)
            for one in lines
            if ZERO.search(one)
        }


class Windows:
    """`with Windows(url) as windows:`."""

    def __init__(self, url: str) -> None:
        self._url = url

    def __enter__(self) -> Self:
        self._process = subprocess.Popen(
            ["node", str(SCRIPT)],
            env={**os.environ, "CONSOLE": self._url},
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self._process.kill()
        self._process.communicate()

    def open(self, who: str, token: str, path: str = "/") -> None:
        """Open a window for somebody; with an empty token nobody has signed in."""
        self._ask(do="open", who=who, token=token, path=path)

    def sign_in(self, who: str, token: str) -> None:
        """Paste a token."""
        self._ask(do="sign in", who=who, token=token)

    def type(self, who: str, label: str, text: str) -> None:
        """Fill a field."""
        self._ask(do="type", who=who, label=label, text=text)

    def look(self, who: str, words: Collection[str] = (), within: float = PATIENCE) -> Shown:
        """Wait for words on the page that is open."""
        return self._shown(do="look", who=who, words=list(words), within=within * 1000)

    def visit(
        self,
        who: str,
        path: str,
        words: Sequence[str] = (),
        *,
        load: bool = False,
        skeleton: bool = False,
        within: float = PATIENCE,
    ) -> Shown:
        """Go to a page without loading it, or load it, and wait for words, or for its skeleton."""
        how = {"load": load, "skeleton": skeleton, "within": within * 1000}
        return self._shown(do="visit", who=who, path=path, words=list(words), **how)

    def _shown(self, **command: Any) -> Shown:  # noqa: ANN401 - JSON
        return msgspec.convert(self._ask(**command), Shown)

    def _ask(self, **command: Any) -> Any:  # noqa: ANN401 - JSON
        assert self._process.stdin is not None  # noqa: S101 - a pipe
        assert self._process.stdout is not None  # noqa: S101 - a pipe
        self._process.stdin.write(json.dumps(command) + "\n")
        self._process.stdin.flush()
        answer = json.loads(self._process.stdout.readline() or '{"failed": "the browser ended"}')
        if failed := answer.get("failed"):
            raise TestbedError(failed)
        return answer
