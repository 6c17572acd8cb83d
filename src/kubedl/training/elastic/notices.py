"""Notices that a node will be taken: which taints, conditions and annotations are one, and how much time is left. Pure.

Clouds differ only in what their tools write to a node, so sources are a table that an administrator may replace.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta

import msgspec

from kubedl.api.training import GROUP
from kubedl.kube.types.core import Node
from kubedl.training.policies.safe_time import later

RECLAIM_AT = f"{GROUP}/reclaim-at"  # annotation of a node: when it will be taken, RFC 3339
CONDITION_PREFIX = "condition:"  # of a source that is a condition of nodes; all others are keys of taints
NO_SOURCES = "none"  # instead of a table: no taint or condition is a notice
LONGEST_DATE = 40  # characters of the annotation
FIRST_YEAR, LAST_YEAR = 2000, 9000
LONGEST_KEY, MOST_SOURCES = 317, 32  # of a taint: a prefix of 253, a slash, 63
LONGEST_WINDOW = 86_400  # seconds


@dataclass(frozen=True)
class Source:
    """A taint or a condition that is a notice."""

    key: str
    is_condition: bool = False
    window: timedelta | None = None  # from the moment it is seen until the node is taken; None if nobody knows

    def __str__(self) -> str:
        seconds = f"={self.window.total_seconds():.0f}" if self.window is not None else ""
        return f"{CONDITION_PREFIX if self.is_condition else ''}{self.key}{seconds}"


@dataclass(frozen=True)
class Notice:
    """A node will be taken."""

    source: str
    window: timedelta | None = None
    at: datetime | None = None  # if the notice itself has a date

    def taken_at(self, seen_at: datetime) -> datetime | None:
        """Return when the node will be taken: nodes have clocks of their own, so a window begins when it is seen."""
        if self.at is not None:
            return self.at
        return later(seen_at, self.window) if self.window is not None else None


SOURCES: tuple[Source, ...] = (
    Source("aws-node-termination-handler/spot-itn", window=timedelta(seconds=120)),
    Source("karpenter.sh/disrupted"),
    Source("cloud.google.com/impending-node-termination", window=timedelta(seconds=15)),
    Source("VMEventScheduled", is_condition=True, window=timedelta(seconds=30)),  # Azure
    Source("remediator.kubernetes.azure.com/unschedulable", window=timedelta(seconds=30)),
    Source("ToBeDeletedByClusterAutoscaler"),
)


def notice(node: Node, sources: Iterable[Source]) -> Notice | None:
    """Return the notice that leaves the least time; None if the node stays.

    A date of the annotation comes first: whoever wrote it knows more than a table.
    """
    dated = _date(node.metadata.annotations.get(RECLAIM_AT, ""))
    if dated is not None:
        return Notice(RECLAIM_AT, at=dated)
    taints = {taint.key for taint in node.spec.taints}
    conditions = {condition.type for condition in node.status.conditions if condition.status == "True"}
    found = [source for source in sources if source.key in (conditions if source.is_condition else taints)]
    if not found:
        return None
    first = min(found, key=lambda source: source.window if source.window is not None else timedelta.max)
    return Notice(first.key, first.window)


def parse_sources(text: str) -> tuple[Source, ...]:
    """Read the table of a flag: `key`, `key=seconds`, `condition:type=seconds`, separated by commas, or `none`.

    Raises ValueError.
    """
    if text.strip() == NO_SOURCES:
        return ()
    words = [word.strip() for word in text.split(",") if word.strip()]
    if len(words) > MOST_SOURCES:
        raise ValueError(f"there are {len(words)} sources of notices, and at most {MOST_SOURCES}")
    return tuple(map(_source, words))


def _source(word: str) -> Source:
    named, has_window, seconds = word.partition("=")
    is_condition = named.startswith(CONDITION_PREFIX)
    key = named.removeprefix(CONDITION_PREFIX)
    is_number = seconds.isascii() and seconds.isdecimal() and len(seconds) < 6 and 0 < int(seconds) <= LONGEST_WINDOW
    # With a value or an effect, as kubectl writes taints, no taint would ever be found.
    is_key = 0 < len(key) <= LONGEST_KEY and key.isprintable() and not {" ", ":"} & set(key)
    if not is_key or (has_window and not is_number):
        raise ValueError(f"{word!r} is not the key of a taint, or condition:TYPE, with =SECONDS up to {LONGEST_WINDOW}")
    return Source(key, is_condition, timedelta(seconds=int(seconds)) if has_window else None)


def _date(text: str) -> datetime | None:
    """Read RFC 3339; anything else is no notice, since nobody can be asked what it means."""
    if not text or len(text) > LONGEST_DATE:
        return None
    try:
        found = msgspec.convert(text, datetime)
    except msgspec.ValidationError:
        return None
    is_sane = found.tzinfo is not None and FIRST_YEAR <= found.year <= LAST_YEAR
    return found.astimezone(UTC).replace(microsecond=0) if is_sane else None
