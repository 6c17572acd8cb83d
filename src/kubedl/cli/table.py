"""Tables of text: columns as wide as their widest cell, and on a narrow terminal what matters least goes first."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from kubedl.cli.terminal import Terminal, printable

GAP = "  "
LEAST = 12  # columns that the last one keeps before others have to leave


@dataclass(frozen=True)
class Column:
    """A column. Those with a rank leave a narrow terminal, the highest rank first."""

    title: str
    right: bool = False
    rank: int = 0
    paint: Callable[[Terminal, str], str] = lambda _, text: text


def render(
    terminal: Terminal, columns: Sequence[Column], rows: Sequence[Sequence[str]], *, headers: bool = True
) -> list[str]:
    """Return the lines. The last column is cut with … if the terminal is too narrow; all others are whole."""
    return GrowingTable(terminal, columns).lines(rows, headers=headers)


class GrowingTable:
    """A table whose rows come by and by: a column is as wide as its widest cell so far."""

    def __init__(self, terminal: Terminal, columns: Sequence[Column]) -> None:
        self._terminal = terminal
        self._columns = columns
        self._widths = [0] * len(columns)

    def lines(self, rows: Sequence[Sequence[str]], *, headers: bool = False) -> list[str]:
        """Return the next lines."""
        terminal, columns = self._terminal, self._columns
        titles = [column.title for column in columns]
        cells = [[printable(cell) for cell in row] for row in rows]
        self._widths = widths = [
            max([width, len(titles[place]) if headers else 0, *(len(row[place]) for row in cells)])
            for place, width in enumerate(self._widths)
        ]
        shown = _shown(terminal, columns, widths)
        lines = [_line(terminal, columns, widths, shown, titles, title=True)] if headers else []
        return lines + [_line(terminal, columns, widths, shown, row) for row in cells]


def _shown(terminal: Terminal, columns: Sequence[Column], widths: Sequence[int]) -> list[int]:
    """Return the places of the columns for which there is room."""
    shown = list(range(len(columns)))
    if terminal.width is None:
        return shown
    for place in sorted(shown, key=lambda one: -columns[one].rank):
        fixed = sum(widths[one] + len(GAP) for one in shown[:-1])
        if fixed + min(LEAST, widths[shown[-1]]) <= terminal.width or not columns[place].rank:
            break
        shown.remove(place)
    return shown


def _line(
    terminal: Terminal,
    columns: Sequence[Column],
    widths: Sequence[int],
    shown: Sequence[int],
    row: Sequence[str],
    *,
    title: bool = False,
) -> str:
    parts, used = [], 0
    for place in shown:
        text, column = row[place], columns[place]
        if place == shown[-1]:
            text = _cut(text, terminal.width - used if terminal.width is not None else None)
            text = text.rjust(widths[place]) if column.right else text
        else:
            text = text.rjust(widths[place]) if column.right else text.ljust(widths[place])
            used += widths[place] + len(GAP)
        parts.append(terminal.paint(text, "bold") if title else column.paint(terminal, text))
    return GAP.join(parts).rstrip()


def _cut(text: str, room: int | None) -> str:
    if room is None or len(text) <= room:
        return text
    return f"{text[: max(0, room - 1)]}…" if room > 0 else ""
