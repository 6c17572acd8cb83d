"""The page of one job, as lines of text. Pure."""

import shlex
from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import TYPE_CHECKING, Any

from kubedl.cli.durations import age, precise
from kubedl.cli.table import Column, render
from kubedl.cli.terminal import Terminal, printable

if TYPE_CHECKING:
    from kubedl.client import Event, Job, Replica

SHOWN_EVENTS = 8
FOLDED_FROM = 4  # like replicas
GPU = "gpu"


def summary(terminal: Terminal, job: "Job", now: datetime) -> list[str]:
    """Return the first lines: state, progress, and what the job is made of."""
    lines = [
        "  ".join([terminal.paint(job.name, "bold"), f"{job.kind} in {job.namespace}", *_state(terminal, job, now)])
    ]
    if job.message:
        lines.append(f"  {terminal.paint('what ', 'dim')}  {printable(job.message)}")
    facts = [(name, printable(value)) for name, value in _facts(job) if value]
    left = max((len(value) for _, value in facts[::2]), default=0)
    for place in range(0, len(facts), 2):
        name, value = facts[place]
        line = f"  {terminal.paint(f'{name:5}', 'dim')}  {value}"
        if place + 1 < len(facts):
            line += " " * (left - len(value) + 6)
            line += f"{terminal.paint(f'{facts[place + 1][0]:7}', 'dim')}  {facts[place + 1][1]}"
        lines.append(line)
    return lines


def _state(terminal: Terminal, job: "Job", now: datetime) -> list[str]:
    if not job.state:
        return [terminal.state("Created"), "no operator has seen the job yet"]
    if job.finished is not None:
        ran = f" after {precise((job.finished - job.started).total_seconds())}" if job.started else ""
        state = f"{terminal.state(job.state)}{ran}, {precise((now - job.finished).total_seconds())} ago"
    else:
        condition = job.condition(job.state) or {}
        since = _time(condition.get("lastTransitionTime")) or job.created
        state = f"{terminal.state(job.state)} for {precise((now - since).total_seconds())}"
    ready, _, wanted = str(job.status.get("ready") or "").partition("/")
    found = [state] + ([f"{ready} of {wanted} ready"] if wanted and job.finished is None else [])
    retries, limit = int(job.status.get("retries") or 0), job.spec.get("backoffLimit")
    restarts = int(job.status.get("restarts") or 0)
    if restarts:
        bound = f", {retries} of {limit} retries used" if limit is not None else ""
        found.append(f"{restarts} restart{'s' if restarts > 1 else ''}{bound}")
    return found


def _facts(job: "Job") -> list[tuple[str, str]]:
    container = next((_main_container(role) for role in job.roles.values()), {})
    code, model = job.spec.get("codeSource") or {}, job.spec.get("modelVersion") or {}
    policy = job.spec.get("schedulingPolicy") or {}
    words = [*(container.get("command") or ()), *(container.get("args") or ())]
    priority = policy.get("priorityClassName") or ""
    version = job.status.get("modelVersionName") or "when it is done"
    revision = str(job.status.get("codeRevision") or "")[:7]
    return [
        ("image", str(container.get("image") or "")),
        ("command", _command(words)),
        ("wants", _wants(job)),
        ("queue", job.queue + (f", priority {priority}" if priority and job.queue else "")),
        ("code", f"{code.get('repository', '')} {revision or code.get('branch', '')}".strip()),
        ("model", f"{model['modelName']}, {version}" if model.get("modelName") else ""),
    ]


def _command(words: Sequence[object]) -> str:
    texts = [str(word) for word in words]
    if len(texts) == 3 and texts[1] == "-c":
        return " ".join(texts[2].split())
    return shlex.join(texts)


def _main_container(role: Mapping[str, Any]) -> Mapping[str, Any]:
    containers = ((role.get("template") or {}).get("spec") or {}).get("containers") or [{}]
    found: Mapping[str, Any] = containers[0]
    return found


def _wants(job: "Job") -> str:
    """Return what replicas ask for; like roles are counted together: 4 x 8 GPU, 16 CPU, 200Gi."""
    counts: dict[str, int] = {}
    for role in job.roles.values():
        text = _resources(_main_container(role).get("resources") or {})
        counts[text] = counts.get(text, 0) + int(role.get("replicas", 1))
    return " + ".join(f"{count} x {text}" if text else f"{count} pods" for text, count in counts.items())


def _resources(resources: Mapping[str, Any]) -> str:
    found = {**(resources.get("limits") or {}), **(resources.get("requests") or {})}
    gpus = [f"{value} GPU" for name, value in found.items() if name.endswith(f"/{GPU}")]
    others = [f"{value} {name}" for name, value in found.items() if "/" in name and not name.endswith(f"/{GPU}")]
    cpu = [f"{found['cpu']} CPU"] if "cpu" in found else []
    memory = [str(found["memory"])] if "memory" in found else []
    return ", ".join([*gpus, *others, *cpu, *memory])


def replica_rows(terminal: Terminal, replicas: "Sequence[Replica]", now: datetime, *, fold: bool) -> list[str]:
    """Return a table of replicas: those that differ from the rest first, and many like ones as one row."""
    if not replicas:
        return []
    columns = [
        Column("REPLICA", paint=lambda terminal, text: terminal.paint(text, "bold")),
        Column("STATE", paint=lambda terminal, text: terminal.state(text)),
        Column("NODE", rank=1),
        Column("RESTARTS", right=True, rank=2),
        Column("AGE", right=True, paint=lambda terminal, text: terminal.paint(text, "dim")),
        Column("WHAT"),
    ]
    groups: dict[tuple[str, str, str], list[Replica]] = {}
    for replica in replicas:
        key = (replica.name.rpartition("-")[0], replica.state, replica.message)
        groups.setdefault(key, []).append(replica)
    rows = []
    for (_, _, message), alike in sorted(groups.items(), key=lambda one: len(one[1])):
        shown = alike[:1] if fold and len(alike) >= FOLDED_FROM else alike
        hint = f"({len(alike) - 1} more like this: --all)" if len(shown) < len(alike) else ""
        rows += [_replica_row(replica, now, f"{message} {hint}".strip()) for replica in shown]
    return ["", *render(terminal, columns, rows)]


def _replica_row(replica: "Replica", now: datetime, what: str) -> list[str]:
    passed = age((now - replica.created).total_seconds())
    return [replica.name, replica.state, replica.node or "-", str(replica.restarts), passed, what]


def history(
    terminal: Terminal, job: "Job", events: "Sequence[Event]", now: datetime, *, limit: int | None
) -> list[str]:
    """Return what happened, oldest first, each with how long ago."""
    rows = [(job.created, "created")]
    for event in events:
        if event.time is not None:
            about = "" if event.involved_object.uid == job.uid else f"{event.involved_object.name}: "
            times = f" ({event.count} times)" if event.count and event.count > 1 else ""
            rows.append((event.time, f"{about}{event.reason}: {event.message or ''}{times}"))
    if limit is not None and len(rows) > limit:
        rows = [rows[0], *rows[1 - limit :]]
    ages = [precise((now - moment).total_seconds()) for moment, _ in rows]
    width = max(map(len, ages))
    lines = [
        f"{terminal.paint(f'{text:>{width}}', 'dim')}  {printable(what)}"
        for text, (_, what) in zip(ages, rows, strict=True)
    ]
    return ["", *lines]


def _time(text: object) -> datetime | None:
    from kubedl.client.job import parse_time  # noqa: PLC0415

    return parse_time(text)
