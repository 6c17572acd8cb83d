"""The faults a rule can cause, as plain values; what each does is done where calls and events pass by.

A fault "after commit" happens only when the API server accepted the call: a refused write committed nothing.
"""

from dataclasses import dataclass


@dataclass(frozen=True)
class AnswerInstead:
    """Do not forward; answer `status`. A 429 always carries Retry-After, of 1 second unless one is given."""

    status: int
    retry_after: int | None = None


@dataclass(frozen=True)
class AnswerAfterCommit:
    """Forward, and when the API server has accepted the call answer `status` instead."""

    status: int


@dataclass(frozen=True)
class DropAfterCommit:
    """Forward, and when the API server has accepted the call close the connection without an answer."""


@dataclass(frozen=True)
class KillClient:
    """SIGKILL the process at the other end of the connection, before or after its call is forwarded."""

    after_commit: bool = False


@dataclass(frozen=True)
class DelayRequest:
    """Forward `seconds` later, or when the rules are cleared; also when the client has given up by then."""

    seconds: float


@dataclass(frozen=True)
class Freeze:
    """Say nothing more on the connection and leave it open until the rules are cleared.

    A call stays unanswered, forwarded or not. A watch stops in front of the matched event.
    """

    after_commit: bool = False


@dataclass(frozen=True)
class SendGone:
    """End the watch with an ERROR event of code 410, at once or in place of the matched event."""


@dataclass(frozen=True)
class DelayEvents:
    """Pass the matched event on `seconds` after it came, or when the rules are cleared.

    The stream keeps its order: later events wait behind, and a lag on every event stays the same lag.
    """

    seconds: float


@dataclass(frozen=True)
class DropEvents:
    """Swallow the matched event."""


@dataclass(frozen=True)
class ReorderEvents:
    """Hold the matched event and the `window - 1` matching ones that follow it, then send them in reverse.

    One window is one firing. Events outside the match overtake. An unfinished window is sent when the stream
    ends or the rules are cleared.
    """

    window: int = 2

    def __post_init__(self) -> None:
        if self.window < 2:
            raise ValueError(f"window={self.window} reorders nothing; give at least 2")


CallFault = AnswerInstead | AnswerAfterCommit | DropAfterCommit | KillClient | DelayRequest | Freeze | SendGone
EventFault = DelayEvents | DropEvents | ReorderEvents | Freeze | SendGone
