"""What the rules make of the lines of one watch, without a clock and without a socket.

A line that no rule acts on leaves as the very bytes that came.
"""

import json
from dataclasses import dataclass
from typing import TYPE_CHECKING

from testbed.faultproxy.faults import DelayEvents, DropEvents, Freeze, ReorderEvents, SendGone
from testbed.faultproxy.match import WatchEvent
from testbed.faultproxy.rules import first_due
from testbed.faultproxy.status import gone_event

if TYPE_CHECKING:
    from testbed.faultproxy.rules import Rule, RuleBook


@dataclass(frozen=True)
class Forward:
    """Send the line now."""

    line: bytes


@dataclass(frozen=True)
class ForwardLater:
    """Send the line `seconds` after it came, or when the rule is released."""

    line: bytes
    seconds: float
    rule: "Rule"


@dataclass(frozen=True)
class Stall:
    """Send nothing more until the rule is released, and then drop the connection."""

    rule: "Rule"


@dataclass(frozen=True)
class Finish:
    """Send the line and end the stream in good order."""

    line: bytes


Step = Forward | ForwardLater | Stall | Finish


class LineSplitter:
    """Cuts a stream into lines of any length; the line ends stay on the lines."""

    def __init__(self) -> None:
        self._unfinished: list[bytes] = []

    def feed(self, chunk: bytes) -> list[bytes]:
        """Take the next bytes and return the lines they complete."""
        *complete, rest = chunk.split(b"\n")
        lines = [line + b"\n" for line in complete]
        if lines:
            lines[0] = b"".join([*self._unfinished, lines[0]])
            self._unfinished.clear()
        if rest:
            self._unfinished.append(rest)
        return lines

    def rest(self) -> bytes:
        """Return what came after the last line end."""
        return b"".join(self._unfinished)


class EventFaults:
    """Applies the event rules to one watch. Counts are the rules' own; held events belong to the watch."""

    def __init__(self, rules: "RuleBook", resource: str) -> None:
        self._rules = rules
        self._resource = resource
        self._windows: dict[Rule, list[bytes]] = {}

    def take(self, line: bytes) -> list[Step]:
        """Take the next line and return what is to be done now."""
        event = parse_event(line) if self._rules.has_event_rules() else None
        if event is None:
            return [Forward(line)]
        matching = self._rules.matching_event(self._resource, event)
        filling = next((rule for rule in matching if rule in self._windows), None)
        # An event that fills a window belongs to the firing that opened it, and is not counted again.
        due = first_due(rule for rule in matching if rule is not filling)
        rule = filling or due
        return [Forward(line)] if rule is None else self._apply(rule, line)

    def flush(self) -> list[Step]:
        """Give back the events of unfinished windows."""
        return [step for rule in list(self._windows) for step in self._close_window(rule)]

    def _apply(self, rule: "Rule", line: bytes) -> list[Step]:
        match rule.fault:
            case ReorderEvents(window):
                held = self._windows.setdefault(rule, [])
                held.append(line)
                return self._close_window(rule) if len(held) == window else []
            case DropEvents():
                steps: list[Step] = []
            case DelayEvents(seconds):
                steps = [ForwardLater(line, seconds, rule)]
            case Freeze():
                steps = [Stall(rule)]
            case SendGone():
                steps = [*self.flush(), Finish(gone_event())]
            case _:
                raise TypeError(f"{rule} does not act on events: inject it with Match")
        rule.record_fired()
        return steps

    def _close_window(self, rule: "Rule") -> list[Step]:
        held = self._windows.pop(rule)
        if len(held) > 1:
            rule.record_fired()
        return [Forward(line) for line in reversed(held)]


def parse_event(line: bytes) -> WatchEvent | None:
    """Read a line of a watch; None if it is no event."""
    try:
        event = json.loads(line)
        metadata = event["object"].get("metadata", {})
        return WatchEvent(type=event["type"], namespace=metadata.get("namespace", ""), name=metadata.get("name", ""))
    except (ValueError, TypeError, KeyError, AttributeError):
        return None
