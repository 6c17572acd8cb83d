"""What is known about an object: plain data, as the API server sent it and without what must not be passed on.

Parts are collected when a rule first asks for them. A part that may not be read is None, and the server's words are
kept; rules that need it say nothing.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any, Literal

Object = Mapping[str, Any]
Subject = Literal["job", "model", "inference", "cron"]
Part = Literal[
    "pods",
    "events",
    "workload",
    "localqueues",
    "clusterqueue",
    "quotas",
    "nodes",
    "node_pods",
    "claims",
    "claim_events",
    "lease",
    "logs",
    "version",
    "history",
]
Source = Callable[["Evidence", Part], Any]

SUBJECTS: Mapping[str, Subject] = {"ModelVersion": "model", "Inference": "inference", "Cron": "cron"}
NOTHING: Object = {}
_MAPPINGS = (dict, Mapping)  # rules ask about many thousand values, and asking for a dict first takes half the time


class DeniedError(Exception):
    """A part may not be read, or is not served; the text says what the server said."""


@dataclass
class Evidence:
    """One object and what belongs to it."""

    now: datetime
    manifest: Object
    source: Source
    parts: dict[str, Any] = field(default_factory=dict)
    denied: dict[str, str] = field(default_factory=dict)

    def get(self, part: Part) -> Any:  # noqa: ANN401 - JSON; None if it may not be read
        """Return a part; it is collected at the first call."""
        if part not in self.parts and part not in self.denied:
            try:
                self.parts[part] = self.source(self, part)
            except DeniedError as error:
                self.denied[part] = str(error)
        return self.parts.get(part)

    def listed(self, part: Part) -> list[Object]:
        """Return a part that is a list of objects; empty if it may not be read."""
        found = self.get(part)
        return [one for one in found if isinstance(one, _MAPPINGS)] if isinstance(found, list) else []

    @property
    def kind(self) -> str:
        """Return the kind."""
        return str(self.manifest.get("kind") or "")

    @property
    def subject(self) -> Subject:
        """Return what rules are about it."""
        return SUBJECTS.get(self.kind, "job")

    @property
    def metadata(self) -> Object:
        """Return the metadata."""
        return part_of(self.manifest, "metadata")

    @property
    def spec(self) -> Object:
        """Return the spec."""
        return part_of(self.manifest, "spec")

    @property
    def status(self) -> Object:
        """Return the status."""
        return part_of(self.manifest, "status")

    @property
    def name(self) -> str:
        """Return the name."""
        return str(self.metadata.get("name") or "")

    @property
    def namespace(self) -> str:
        """Return the namespace."""
        return str(self.metadata.get("namespace") or "")

    @property
    def state(self) -> str:
        """Return the state of a job."""
        return str(self.status.get("state") or "")

    @property
    def is_over(self) -> bool:
        """Return whether a job has ended."""
        return self.state in ("Failed", "Succeeded")

    @property
    def past(self) -> Object:
        """Return what the history says about a job that was deleted; empty if it is there."""
        return part_of(self.parts, "history")

    @property
    def pods(self) -> list[Object]:
        """Return the pods."""
        return self.listed("pods")

    @property
    def events(self) -> list[Object]:
        """Return the events of the object and of pods that are not ready, oldest first."""
        return self.listed("events")

    def condition(self, kind: str) -> Object:
        """Return a condition; empty if there is none."""
        return condition_of(self.status, kind)

    def is_true(self, kind: str) -> bool:
        """Return whether a condition is true."""
        return self.condition(kind).get("status") == "True"

    def passed(self, time: object) -> float | None:
        """Return how many seconds ago a time of the server was."""
        moment = parse_time(time)
        return max(0.0, (self.now - moment).total_seconds()) if moment is not None else None

    def ago(self, time: object) -> str:
        """Return how long ago a time was, in words; empty if it is not known."""
        passed = self.passed(time)
        return precise(passed) if passed is not None else ""


def part_of(value: object, *names: str) -> Object:
    """Return an object inside another; empty if there is none."""
    for name in names:
        if value is None or not isinstance(value, _MAPPINGS):
            return NOTHING
        value = value.get(name)
    return value if value is not None and isinstance(value, _MAPPINGS) else NOTHING


def items_of(value: object, *names: str) -> list[Object]:
    """Return a list of objects inside an object; empty if there is none."""
    found = part_of(value, *names[:-1]).get(names[-1])
    if not isinstance(found, list) and (not found or isinstance(found, str) or not isinstance(found, Sequence)):
        return []
    return [one for one in found if isinstance(one, _MAPPINGS)]


def text_of(value: object, *names: str) -> str:
    """Return a text or number inside an object, as text; empty if there is none."""
    inside = part_of(value, *names[:-1])
    found = inside.get(names[-1])
    return str(found) if isinstance(found, str | int | float) and not isinstance(found, bool) else ""


def condition_of(status: object, kind: str) -> Object:
    """Return a condition of a status; empty if there is none."""
    for one in items_of(status, "conditions"):
        if one.get("type") == kind:
            return one
    return NOTHING


def parse_time(text: object) -> datetime | None:
    """Return a time of the API server."""
    if not isinstance(text, str):
        return None
    try:
        moment = datetime.fromisoformat(text[:40])
    except ValueError:
        return None
    return moment if moment.tzinfo is not None else moment.replace(tzinfo=UTC)


def precise(seconds: float) -> str:
    """Return a duration with its two largest units: 2h11m, 1m40s."""
    left = max(0, int(seconds))
    found: list[str] = []
    for unit, size in (("d", 86400), ("h", 3600), ("m", 60), ("s", 1)):
        count, left = divmod(left, size)
        if count or found or unit == "s":
            found.append(f"{count}{unit}" if count or not found else "")
    return "".join(found[:2])


def ordinal(number: int) -> str:
    """Return 1st, 2nd, 3rd, 4th, 11th."""
    ending = "th" if 10 <= number % 100 <= 20 else {1: "st", 2: "nd", 3: "rd"}.get(number % 10, "th")
    return f"{number}{ending}"


def numbered(count: int, noun: str) -> str:
    """Return a number with its noun."""
    return f"{count} {noun}{'' if count == 1 else 's'}"
