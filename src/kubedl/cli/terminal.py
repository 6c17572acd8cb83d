"""Where text goes: whether it is a terminal, how wide, and in which colours."""

import os
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TextIO

_CODES = {
    "bold": "1",
    "dim": "2",
    "red": "31",
    "green": "32",
    "yellow": "33",
    "blue": "34",
    "magenta": "35",
    "cyan": "36",
}
STATES = {
    "Running": "green",
    "Succeeded": "dim",
    "Failed": "red",
    "Queuing": "yellow",
    "Created": "yellow",
    "Pending": "yellow",
    "Restarting": "magenta",
    "Suspended": "blue",
}
BY_RANK = ("cyan", "green", "yellow", "blue", "magenta")


@dataclass(frozen=True)
class Terminal:
    """A stream, its width in columns (None: nothing is cut), and whether colours are wanted."""

    stream: TextIO
    width: int | None
    colored: bool

    @classmethod
    def of(cls, stream: TextIO, color: str, environment: Mapping[str, str]) -> "Terminal":
        """Look at a stream. NO_COLOR and TERM=dumb are obeyed unless colours are asked for."""
        is_terminal = stream.isatty()
        plain = bool(environment.get("NO_COLOR")) or environment.get("TERM") == "dumb" or not is_terminal
        return cls(
            stream,
            _width(stream, environment) if is_terminal else None,
            color == "always" or (color == "auto" and not plain),
        )

    def paint(self, text: str, style: str) -> str:
        """Return text in a style; as it is where there are no colours."""
        return f"\x1b[{_CODES[style]}m{text}\x1b[0m" if self.colored and text and style in _CODES else text

    def state(self, text: str) -> str:
        """Return a state in its colour."""
        return self.paint(text, STATES.get(text.strip(), ""))

    def write(self, text: str) -> None:
        """Write a line."""
        self.stream.write(f"{text}\n")


def printable(text: str) -> str:
    """Return text without control characters: a message may come from any user, and must not steer a terminal."""
    if text.isprintable():
        return text
    return "".join(letter if letter.isprintable() else " " for letter in text)


def _width(stream: TextIO, environment: Mapping[str, str]) -> int:
    given = environment.get("COLUMNS", "")
    if given.isdecimal() and 0 < int(given) < 10_000:
        return int(given)
    try:
        return os.get_terminal_size(stream.fileno()).columns or 80
    except (OSError, ValueError):
        return 80
