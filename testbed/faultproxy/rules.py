"""Rules: a match, a fault, and the counts that decide when the one causes the other.

Every rule counts everything it matches, whatever other rules do; of several that are due the oldest acts.
"""

import asyncio
import threading
from typing import TYPE_CHECKING

from testbed.faultproxy.faults import CallFault, EventFault, Freeze, SendGone
from testbed.faultproxy.match import Match, MatchEvents

if TYPE_CHECKING:
    from collections.abc import Iterable

    from testbed.faultproxy.match import WatchEvent
    from testbed.faultproxy.request import ApiRequest


class RuleNeverFiredError(TimeoutError):
    """A test waited for a fault that did not happen."""

    def __init__(self, rule: "Rule", deadline: float) -> None:
        super().__init__(
            f"{rule} did not fire within {deadline} s: it matched {rule.matched} times and acts on number "
            f"{rule.match.nth}; compare the match with FaultProxy.calls, and for a fault after the commit "
            "look there whether the API server accepted the call"
        )


class Rule:
    """One injected fault. Counted by the proxy's thread, watched by the test's."""

    def __init__(self, match: Match | MatchEvents, fault: CallFault | EventFault) -> None:
        _check_pair(match, fault)
        self.match = match
        self.fault = fault
        self.released = asyncio.Event()
        self._matched = 0
        self._fired = 0
        self._changed = threading.Condition()

    def __str__(self) -> str:
        return f"{self.match} -> {self.fault}"

    @property
    def matched(self) -> int:
        """How many calls or events the match accepted so far."""
        return self._matched

    @property
    def fired(self) -> int:
        """How often the fault happened so far."""
        return self._fired

    def wait_fired(self, deadline: float = 30) -> None:
        """Return once the fault has happened; raise RuleNeverFiredError after `deadline` seconds."""
        with self._changed:
            if not self._changed.wait_for(lambda: self._fired > 0, timeout=deadline):
                raise RuleNeverFiredError(self, deadline)

    def count_match(self) -> bool:
        """Count one more match and say whether it is this rule's turn."""
        self._matched += 1
        return self.match.acts_on(self._matched)

    def record_fired(self) -> None:
        """Note that the fault has happened, and wake the test that waits for it."""
        with self._changed:
            self._fired += 1
            self._changed.notify_all()


class RuleBook:
    """The rules in force. Replaced as a whole, so the proxy's thread reads it without a lock."""

    def __init__(self) -> None:
        self._rules: tuple[Rule, ...] = ()

    def add(self, rule: Rule) -> None:
        """Put a rule into force; it counts from the next call or event on."""
        self._rules = (*self._rules, rule)

    def clear(self) -> tuple[Rule, ...]:
        """Take all rules out of force and return them."""
        rules, self._rules = self._rules, ()
        return rules

    def due_for_call(self, request: "ApiRequest") -> Rule | None:
        """Count the call and return the rule that acts on it."""
        return first_due(rule for rule in self._rules if isinstance(rule.match, Match) and rule.match.accepts(request))

    def has_event_rules(self) -> bool:
        """Whether events need reading at all."""
        return any(isinstance(rule.match, MatchEvents) for rule in self._rules)

    def matching_event(self, resource: str, event: "WatchEvent") -> list[Rule]:
        """Return the rules about this event, not counted yet."""
        return [
            rule for rule in self._rules if isinstance(rule.match, MatchEvents) and rule.match.accepts(resource, event)
        ]


def first_due(matching: "Iterable[Rule]") -> Rule | None:
    """Count a match for every rule given and return the first whose turn it is."""
    due = [rule for rule in matching if rule.count_match()]
    return due[0] if due else None


def _check_pair(match: Match | MatchEvents, fault: CallFault | EventFault) -> None:
    if isinstance(match, MatchEvents):
        if not isinstance(fault, EventFault):
            raise TypeError(f"{fault} happens to calls: inject it with Match instead of {match}")
        if fault == Freeze(after_commit=True):
            raise TypeError("an event commits nothing: inject a plain Freeze() with MatchEvents")
    elif not isinstance(fault, CallFault):
        raise TypeError(f"{fault} happens to watch events: inject it with MatchEvents instead of {match}")
    elif isinstance(fault, SendGone) and match.verb != "watch":
        raise TypeError(f"SendGone ends a watch: inject it with verb='watch' or MatchEvents instead of {match}")
