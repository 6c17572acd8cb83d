"""Rules match what they say and act on the turns they say."""

import pytest

from testbed.faultproxy.faults import (
    AnswerAfterCommit,
    AnswerInstead,
    CallFault,
    DelayRequest,
    DropEvents,
    EventFault,
    Freeze,
    ReorderEvents,
    SendGone,
)
from testbed.faultproxy.match import Match, MatchEvents, WatchEvent
from testbed.faultproxy.request import ApiRequest
from testbed.faultproxy.rules import Rule, RuleBook, RuleNeverFiredError

STATUS_PATCH = ApiRequest(
    verb="patch", version="v1", resource="pods", subresource="status", namespace="team", name="web"
)


@pytest.mark.parametrize(
    ("match", "accepted"),
    [
        (Match(), True),
        (Match(verb="patch"), True),
        (Match(verb="write"), True),
        (Match(verb="update"), False),
        (Match(verb="get"), False),
        (Match(resource="pods", subresource="status"), True),
        (Match(resource="pods", subresource=""), False),
        (Match(resource="nodes"), False),
        (Match(namespace="team", name="web"), True),
        (Match(namespace="other"), False),
        (Match(name="other"), False),
    ],
)
def test_match_of_a_call(match: Match, accepted: bool) -> None:
    assert match.accepts(STATUS_PATCH) == accepted


@pytest.mark.parametrize("verb", ["get", "list", "watch", "post"])
def test_reading_is_no_write(verb: str) -> None:
    assert not Match(verb="write").accepts(ApiRequest(verb=verb))


@pytest.mark.parametrize(
    ("match", "event_type", "accepted"),
    [
        (MatchEvents(), "MODIFIED", True),
        (MatchEvents(resource="pods", namespace="team", name="web"), "ADDED", True),
        (MatchEvents(type="DELETED"), "DELETED", True),
        (MatchEvents(type="DELETED"), "ADDED", False),
        (MatchEvents(), "BOOKMARK", False),
        (MatchEvents(type="BOOKMARK"), "BOOKMARK", True),
        (MatchEvents(resource="nodes"), "ADDED", False),
        (MatchEvents(namespace="other"), "ADDED", False),
        (MatchEvents(name="other"), "ADDED", False),
    ],
)
def test_match_of_an_event(match: MatchEvents, event_type: str, accepted: bool) -> None:
    event = WatchEvent(type=event_type, namespace="team", name="web")

    assert match.accepts("pods", event) == accepted


@pytest.mark.parametrize(
    ("nth", "times", "expected"),
    [(1, 1, [1]), (3, 1, [3]), (2, 2, [2, 3]), (3, None, [3, 4, 5]), (6, 1, [])],
)
def test_acts_from_the_nth_match_on(nth: int, times: int | None, expected: list[int]) -> None:
    match = Match(nth=nth, times=times)

    assert [count for count in range(1, 6) if match.acts_on(count)] == expected


def test_each_rule_counts_every_call_and_the_oldest_due_acts() -> None:
    book = RuleBook()
    first, second, shadowed = (
        Rule(Match(nth=1), AnswerInstead(429)),
        Rule(Match(nth=2), AnswerInstead(500)),
        Rule(Match(nth=2), AnswerInstead(503)),
    )
    for rule in (first, second, shadowed):
        book.add(rule)

    assert [book.due_for_call(STATUS_PATCH) for _ in range(3)] == [first, second, None]
    assert [rule.matched for rule in (first, second, shadowed)] == [3, 3, 3]


def test_cleared_rules_act_no_more() -> None:
    book = RuleBook()
    rule = Rule(Match(times=None), Freeze())
    book.add(rule)

    assert book.clear() == (rule,)
    assert book.due_for_call(STATUS_PATCH) is None


def test_waiting_names_the_rule_that_never_fired() -> None:
    rule = Rule(Match(verb="create", nth=2), AnswerAfterCommit(504))
    rule.count_match()

    with pytest.raises(RuleNeverFiredError) as caught:
        rule.wait_fired(deadline=0.01)

    assert "Match(nth=2, verb='create') -> AnswerAfterCommit(status=504)" in str(caught.value)
    assert "matched 1 times" in str(caught.value)


def test_waiting_returns_when_fired() -> None:
    rule = Rule(Match(), DelayRequest(1))
    rule.record_fired()

    rule.wait_fired(deadline=0)

    assert rule.fired == 1


@pytest.mark.parametrize(
    ("match", "fault"),
    [
        (Match(), DropEvents()),
        (MatchEvents(), AnswerInstead(500)),
        (MatchEvents(), Freeze(after_commit=True)),
        (Match(verb="list"), SendGone()),
    ],
)
def test_refuses_a_fault_that_could_never_happen(match: Match | MatchEvents, fault: CallFault | EventFault) -> None:
    with pytest.raises(TypeError, match="inject"):
        Rule(match, fault)


def test_refuses_a_match_that_could_never_match() -> None:
    with pytest.raises(ValueError, match="deletecollection"):
        Match(verb="remove")
    with pytest.raises(ValueError, match="BOOKMARK"):
        MatchEvents(type="CREATED")
    with pytest.raises(ValueError, match="count from 1"):
        Match(nth=0)
    with pytest.raises(ValueError, match="count from 1"):
        MatchEvents(times=0)
    with pytest.raises(ValueError, match="at least 2"):
        ReorderEvents(window=1)
