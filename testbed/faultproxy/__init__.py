"""A proxy in front of a real API server that misbehaves exactly where a test asks it to.

Without a rule it is transparent; every fault in a run comes from a rule that a test injected.
"""

from testbed.faultproxy.faults import (
    AnswerAfterCommit,
    AnswerInstead,
    DelayEvents,
    DelayRequest,
    DropAfterCommit,
    DropEvents,
    Freeze,
    KillClient,
    ReorderEvents,
    SendGone,
)
from testbed.faultproxy.match import Match, MatchEvents
from testbed.faultproxy.proxy import FaultProxy
from testbed.faultproxy.rules import RuleNeverFiredError

__all__ = [
    "AnswerAfterCommit",
    "AnswerInstead",
    "DelayEvents",
    "DelayRequest",
    "DropAfterCommit",
    "DropEvents",
    "FaultProxy",
    "Freeze",
    "KillClient",
    "Match",
    "MatchEvents",
    "ReorderEvents",
    "RuleNeverFiredError",
    "SendGone",
]
