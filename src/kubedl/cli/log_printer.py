"""Prints log lines, each behind the name of its replica."""

import click

from kubedl.cli.terminal import BY_RANK, Terminal, printable
from kubedl.client import LogLine


class LogPrinter:
    """Lines go to standard output, words about them to standard error."""

    def __init__(self, terminal: Terminal, *, timestamps: bool) -> None:
        self._terminal = terminal
        self._timestamps = timestamps
        self._prefixes: dict[str, str] = {}

    def write(self, line: LogLine, *, at_once: bool = False) -> None:
        """Print a line, as it is: a program may colour its own."""
        prefix = self._prefixes.get(line.replica) or self._prefix(line.replica)
        stamp = f"{line.time:%Y-%m-%dT%H:%M:%S.%fZ} " if self._timestamps else ""
        self._terminal.write(f"{prefix} {stamp}{line}")
        self._flush(at_once=at_once)

    def note(self, text: str) -> None:
        """Print words between the lines."""
        self._terminal.stream.flush()
        click.echo(f"-- {printable(text)} --", err=True)

    def _flush(self, *, at_once: bool) -> None:
        if at_once:
            self._terminal.stream.flush()

    def _prefix(self, replica: str) -> str:
        color = BY_RANK[len(self._prefixes) % len(BY_RANK)]
        self._prefixes[replica] = self._terminal.paint(f"[{printable(replica)}]", color)
        return self._prefixes[replica]


class JsonPrinter(LogPrinter):
    """Each line is an object."""

    def __init__(self, terminal: Terminal) -> None:
        super().__init__(terminal, timestamps=True)

    def write(self, line: LogLine, *, at_once: bool = False) -> None:
        """Print a line."""
        from kubedl.cli import outputs  # noqa: PLC0415 - people read text
        from kubedl.cli.structured import print_line  # noqa: PLC0415

        made = outputs.plain(
            outputs.LogLine(replica=line.replica, rank=line.rank, attempt=line.attempt, time=line.time, text=str(line))
        )
        print_line(made.pop("kind"), **made)
        self._flush(at_once=at_once)
