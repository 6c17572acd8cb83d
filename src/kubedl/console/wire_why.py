"""What the console sends about why a job waits or failed."""

from collections.abc import Sequence

from kubedl.console.wire_base import Wire


class WhyFact(Wire, frozen=True):
    """What supports the answer."""

    label: str
    text: str


class WhyTry(Wire, frozen=True):
    """What helps."""

    command: str
    effect: str
    by: str  # you, or who has the right to do it


class WhyPage(Wire, frozen=True):
    """Why a job waits, failed or is slow: what `kubedl why` prints."""

    first: str  # one sentence
    pod: str  # whose replica failed first; empty: none did, or it is not known
    rule: str  # empty: nothing holds it up, or no rule could tell
    known: bool
    facts: Sequence[WhyFact]
    tries: Sequence[WhyTry]
    unread: Sequence[str]  # what the caller may not read, and what is not known therefore
