"""A job as HTML and as text: phases, progress, replicas, and why it waits. Pure; nothing in it is taken for markup."""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from html import escape

from kubedl.client.job import Job, parse_time

LONGEST, MOST_REPLICAS, BAR = 300, 20, 30
_PROGRESS = re.compile(r"progress (\d{1,12})/(\d{1,12})((?: [A-Za-z_][\w.-]{0,40}=\S{1,40}){0,8})\s*")
_COLOURS = {"Running": "#1a7f37", "Succeeded": "#57606a", "Failed": "#cf222e", "Restarting": "#8250df"}


@dataclass(frozen=True)
class Progress:
    """How far a job says that it is: a line of rank 0 such as `progress 120/500 loss=0.8`."""

    done: int
    total: int
    figures: str = ""

    @property
    def share(self) -> float:
        """Return the part that is done, between 0 and 1."""
        return min(1.0, self.done / self.total) if self.total else 0.0

    def __str__(self) -> str:
        return f"{self.done}/{self.total}  {self.share:.0%}{self.figures}"


def progress_of(line: str) -> Progress | None:
    """Return the progress that a line of a log tells; None if it tells none."""
    found = _PROGRESS.fullmatch(line) if line.startswith("progress ") and len(line) < LONGEST * 2 else None
    if found is None:
        return None
    return Progress(int(found[1]), int(found[2]), found[3].replace(" ", "  "))


@dataclass(frozen=True)
class ReplicaRow:
    """A replica in the table."""

    name: str
    state: str
    node: str
    restarts: int
    message: str


@dataclass(frozen=True)
class Page:
    """All that is shown of a job at one moment."""

    job: Job
    replicas: Sequence[ReplicaRow] = ()
    progress: Progress | None = None
    why: str = ""
    note: str = ""  # that nobody follows it any more

    def phases(self, now: datetime) -> list[tuple[str, str, str]]:
        """Return the states that the job has been in, in order: name, how long it lasted, and what was said."""
        told = [one for one in self.job.status.get("conditions") or () if one.get("type")]
        timed = [(parse_time(one.get("lastTransitionTime")) or self.job.created, one) for one in told]
        timed.sort(key=lambda pair: pair[0])
        ends = [*(moment for moment, _ in timed[1:]), self.job.finished or now][: len(timed)]
        return [
            (plain(one["type"]), _seconds(end, moment), plain(one.get("message") or ""))
            for (moment, one), end in zip(timed, ends, strict=True)
        ]

    def html(self, now: datetime | None = None) -> str:
        """Return it as HTML without scripts, styles of its own or anything to load."""
        job, moment = self.job, now or datetime.now(UTC)
        colour = _COLOURS.get(job.state, "#9a6700")
        state, ready = _safe(job.state or "Created"), _safe(job.status.get("ready") or "")
        title = f"<b>{_safe(job.name)}</b> {_safe(job.kind)} in {_safe(job.namespace)}"
        parts = [f'<div>{title} <b style="color:{colour}">{state}</b> {ready}</div>']
        if self.progress is not None:
            parts.append(
                f'<div><progress max="1" value="{self.progress.share:.4f}"></progress> {_safe(self.progress)}</div>'
            )
        parts.append(_table(("phase", "time", "what"), self.phases(moment)))
        if self.why:
            parts.append(f"<div>{_safe(self.why)}</div>")
        if self.replicas:
            parts.append(_table(("replica", "state", "node", "restarts", "what"), self._rows()))
        parts += [f"<div>{_safe(text)}</div>" for text in (self._more(), self.note) if text]
        return f"<div>{''.join(parts)}</div>"

    def text(self, now: datetime | None = None) -> str:
        """Return it as plain text."""
        job, moment = self.job, now or datetime.now(UTC)
        ready = plain(job.status.get("ready") or "")
        lines = [
            f"{plain(job.name)}  {plain(job.kind)} in {plain(job.namespace)}  {plain(job.state or 'Created')}  {ready}"
        ]
        if self.progress is not None:
            full = round(BAR * self.progress.share)
            lines.append(f"  {'#' * full}{'.' * (BAR - full)} {plain(self.progress)}")
        lines += [f"  {name:<12} {lasted:>7}  {said}".rstrip() for name, lasted, said in self.phases(moment)]
        lines += [f"  {plain(self.why)}"] if self.why else []
        lines += [f"  {row[0]:<12} {row[1]:<10} {row[2]:<16} {row[3]:>2}  {row[4]}".rstrip() for row in self._rows()]
        return "\n".join(
            [*(line.rstrip() for line in lines), *(plain(one) for one in (self._more(), self.note) if one)]
        )

    def _rows(self) -> list[tuple[str, ...]]:
        return [
            (plain(one.name), plain(one.state), plain(one.node), str(one.restarts), plain(one.message))
            for one in self.replicas[:MOST_REPLICAS]
        ]

    def _more(self) -> str:
        left = len(self.replicas) - MOST_REPLICAS
        return f"and {left} more replicas" if left > 0 else ""


def plain(value: object) -> str:
    """Return a text on one line, cut, without control characters and marks that turn the direction of text."""
    text = str(value)[: LONGEST + 1]
    shown = "".join(letter if letter.isprintable() else " " for letter in text)
    return shown if len(shown) <= LONGEST else f"{shown[: LONGEST - 1]}…"


def _safe(value: object) -> str:
    return escape(plain(value), quote=True)


def _table(names: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    head = "".join(f'<th style="text-align:left">{name}</th>' for name in names)
    body = "".join(
        f"<tr>{''.join(f'<td style=text-align:left>{_safe(cell)}</td>' for cell in row)}</tr>" for row in rows
    )
    return f"<table><tr>{head}</tr>{body}</table>"


def _seconds(end: datetime, start: datetime) -> str:
    whole = max(0, int((end - start).total_seconds()))
    hours, minutes, seconds = whole // 3600, whole // 60 % 60, whole % 60
    return f"{hours}h{minutes}m" if hours else f"{minutes}m{seconds}s" if minutes else f"{seconds}s"
