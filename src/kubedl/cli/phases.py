"""What a job goes through until it ends: queued, placed, images, running, model. Pure."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import TYPE_CHECKING, Any, Literal

from kubedl.cli.durations import precise
from kubedl.cli.terminal import Terminal, printable
from kubedl.client.job import parse_time

if TYPE_CHECKING:
    from kubedl.client import Job

Pods = Sequence[Mapping[str, Any]]
QUEUED, PLACED, IMAGES, RUNNING, MODEL = "Queued", "Placed", "Images", "Running", "Model"
BEFORE = (QUEUED, PLACED, IMAGES)
STARTED = ("Running", "Succeeded", "Failed")
MARKS = {"done": "✓", "failed": "✗", "to come": "·"}
SPINNER = "⠋⠙⠹⠸⠼⠴⠦⠧⠇⠏"
COLORS = {"done": "green", "failed": "red", "now": "yellow", "to come": "dim"}
MOST_NODES = 4
LEAST = 20  # columns of a text


@dataclass(frozen=True)
class Phase:
    """A phase, how long it has taken, and what there is to say about it."""

    name: str
    state: Literal["done", "failed", "now", "to come"]
    seconds: float | None = None
    text: str = ""


def phases(job: "Job", pods: Pods | None, now: datetime) -> list[Phase]:
    """Return the phases of a job in order. Without its pods, only its own states are known."""
    found: list[Phase] = []
    begun: datetime | None = job.created
    if job.queue or job.status.get("queueName") or job.state == "Queuing":
        begun = _add(found, QUEUED, begun, None if job.state in ("", "Queuing") else _admitted(job, pods, now), now)
    if pods is not None:
        begun = _add(found, PLACED, begun, _last(job, pods, _placed), now)
        begun = _add(found, IMAGES, begun, _last(job, pods, _started), now)
    if job.is_finished:
        found = [Phase(one.name, "done", one.seconds if one.state == "done" else None) for one in found]
    texts = {QUEUED: _queue_text(job), PLACED: _placed_text(job, pods or ()), IMAGES: _images_text(job, pods or ())}
    found = [_with_text(one, texts[one.name]) for one in found]
    found.append(_running(job, begun or job.created, now, waits=any(one.state == "now" for one in found)))
    if model := (job.spec.get("modelVersion") or {}).get("modelName"):
        version = job.status.get("modelVersionName")
        found.append(Phase(MODEL, "done" if version else "to come", None, f"{model}, {version or 'when it is done'}"))
    return found


class Observed:
    """Phases of a job that is observed: pods that end one by one, or are deleted, undo no phase."""

    def __init__(self) -> None:
        self._whole: Pods | None = None  # the pods when all of them had started

    def phases(self, job: "Job", pods: Pods | None, now: datetime) -> list[Phase]:
        """Return the phases of a job in order."""
        found = phases(job, pods, now)
        if job.state not in STARTED:
            self._whole = None  # another attempt
        elif all(one.state == "done" for one in found if one.name in BEFORE):
            self._whole = pods
        elif self._whole is not None:
            return phases(job, self._whole, now)
        return found


def current(found: Sequence[Phase]) -> Phase:
    """Return the phase that a job is in; the last one, if it has ended."""
    return next((one for one in found if one.state == "now"), found[-1])


def _add(
    found: list[Phase], name: str, begun: datetime | None, ended: datetime | None, now: datetime
) -> datetime | None:
    if begun is None:
        found.append(Phase(name, "to come"))
    else:
        passed = max(0.0, ((ended or now) - begun).total_seconds())
        found.append(Phase(name, "now" if ended is None else "done", passed))
    return ended


def _with_text(phase: Phase, text: str) -> Phase:
    return Phase(phase.name, phase.state, phase.seconds, text if phase.state != "to come" else "")


def _running(job: "Job", begun: datetime, now: datetime, *, waits: bool) -> Phase:
    if job.is_finished:
        since = job.started or begun
        lasted = max(0.0, (job.finished - since).total_seconds()) if job.finished is not None else None
        return Phase(RUNNING, "failed" if job.is_failed else "done", lasted, job.message if job.is_failed else "")
    if waits or job.state in ("", "Queuing", "Created", "Suspended"):
        return Phase(RUNNING, "now" if job.state == "Suspended" else "to come", None, "")
    ready = str(job.status.get("ready") or "").replace("/", " of ")
    text = f"{ready} ready" if ready and not job.message else job.message
    return Phase(RUNNING, "now", max(0.0, (now - begun).total_seconds()), text)


def _wanted(job: "Job") -> int:
    _, _, wanted = str(job.status.get("ready") or "").partition("/")
    return int(wanted) if wanted.isdecimal() else sum(int(role.get("replicas", 1)) for role in job.roles.values())


def _admitted(job: "Job", pods: Pods | None, now: datetime) -> datetime:
    created = [moment for pod in pods or () if (moment := parse_time(pod["metadata"].get("creationTimestamp")))]
    return min(created, default=job.started or now)


def _last(job: "Job", pods: Pods, moment: Any) -> datetime | None:  # noqa: ANN401 - a function of a pod
    """Return when the last pod came so far; None while some have not."""
    times = [found for pod in pods if (found := moment(pod)) is not None]
    return max(times) if times and len(times) >= _wanted(job) else None


def _placed(pod: Mapping[str, Any]) -> datetime | None:
    conditions = (pod.get("status") or {}).get("conditions") or ()
    placed: Mapping[str, Any] = next((one for one in conditions if one.get("type") == "PodScheduled"), {})
    moment = parse_time(placed.get("lastTransitionTime")) or parse_time(pod["metadata"].get("creationTimestamp"))
    return moment if (pod.get("spec") or {}).get("nodeName") else None


def _started(pod: Mapping[str, Any]) -> datetime | None:
    """Return when the first container of a pod started, now or before a restart."""
    statuses = (pod.get("status") or {}).get("containerStatuses") or ()
    for status in statuses:
        for part in ("state", "lastState"):
            for one in (status.get(part) or {}).values():
                if (moment := parse_time(one.get("startedAt"))) is not None:
                    return moment
    return None


def _queue_text(job: "Job") -> str:
    name = job.queue or str(job.status.get("queueName") or "")
    said = job.message if job.state == "Queuing" else ""
    return ": ".join(filter(None, (name, said)))


def _placed_text(job: "Job", pods: Pods) -> str:
    names = sorted({str(pod["spec"]["nodeName"]) for pod in pods if (pod.get("spec") or {}).get("nodeName")})
    count = sum(_placed(pod) is not None for pod in pods)
    more = f" and {len(names) - MOST_NODES} more" if len(names) > MOST_NODES else ""
    where = f" on {' '.join(names[:MOST_NODES])}{more}" if names else ""
    return "" if job.is_finished else f"{count} of {_wanted(job)}{where}"


def _images_text(job: "Job", pods: Pods) -> str:
    count = sum(_started(pod) is not None for pod in pods)
    late = max((pod for pod in pods if _started(pod)), key=lambda pod: str(_started(pod)), default=None)
    done = count >= _wanted(job)
    slowest = f", slowest {late['spec'].get('nodeName')}" if late and done and count > 1 else ""
    return "" if job.is_finished else f"{count} of {_wanted(job)} started{slowest}"


def lines(terminal: Terminal, found: Sequence[Phase], why: str, turn: int) -> list[str]:
    """Return the phases as lines of a terminal, cut to its width, with `why` below the one that lasts."""
    texts = []
    for one in found:
        mark = MARKS.get(one.state) or SPINNER[turn % len(SPINNER)]
        passed = precise(one.seconds) if one.seconds is not None else ""
        head = f"  {one.name:9}"
        text = _cut(printable(one.text), terminal, len(head) + 11)
        begin = f"{head}  {terminal.paint(mark, COLORS[one.state])}"
        tail = f" {' ' * (6 - len(passed))}{terminal.paint(passed, 'dim')}  {text}".rstrip() if passed or text else ""
        texts.append(begin + tail)
        if why and one is current(found):
            texts.append(f"  {'':9}    {terminal.paint(_cut(printable(why), terminal, 15), 'dim')}")
    return texts


def _cut(text: str, terminal: Terminal, used: int) -> str:
    room = max(LEAST, (terminal.width or 10_000) - used)
    return text if len(text) <= room else f"{text[: room - 1]}…"
