"""How far a reclaim has come: one record for each notice, from when it is seen until its pods are gone. Pure.

    Noticed ──► Requested ──► Confirmed ──► Left ──► Settled
       │            │                        ▲
       └────────────┴──────► Unsaved ────────┘   no time is left: the node goes anyway
    and from each before Left: Cancelled, if the notice is taken back

A record takes one step in a pass, except where pods are told to go already: their end must not be taken for a failure,
so they have left at once.
"""

from collections.abc import Collection
from dataclasses import dataclass
from datetime import datetime, timedelta

import msgspec

from kubedl.api.elastic import MOST_RECLAIMS, Reclaim, ReclaimCounts
from kubedl.training.policies.safe_time import later

MARGIN = timedelta(seconds=5)  # before a node is taken: pods must have been told to go by then

BEFORE_LEAVING = frozenset({"Noticed", "Requested", "Confirmed", "Unsaved"})
OVER = frozenset({"Settled", "Cancelled"})


@dataclass(frozen=True)
class Scene:
    """What a record needs to know to take its next step."""

    now: datetime
    timeout: timedelta
    is_noticed: bool  # the notice still stands
    is_there: bool  # replicas that train are where the notice is
    is_going: bool  # some of them were told to go by others, or their node is lost
    is_emptied: bool  # no pod that left is there any more
    leader_runs: bool  # there is somebody to ask
    request: int  # the number that a request would have now
    confirmed: int  # the last request that the program has confirmed
    may_stay: bool = False  # nothing is taken: without a checkpoint nobody leaves


def deadline(record: Reclaim, timeout: timedelta) -> datetime:
    """Return when replicas leave at the latest, saved or not."""
    patience = later(record.requested_at or record.seen_at, timeout)
    return patience if record.taken_at is None else min(patience, later(record.taken_at, -MARGIN))


def renewed(record: Reclaim, source: str, taken_at: datetime | None) -> Reclaim:
    """Return a record that is held to the notice that stands now, if it leaves less time than the one before.

    A date may be written after a taint, or be moved; one that is later is no reason to be late for the earlier one.
    """
    is_earlier = taken_at is not None and (record.taken_at is None or taken_at < record.taken_at)
    if record.phase not in BEFORE_LEAVING or not is_earlier:
        return record
    return msgspec.structs.replace(record, source=source, taken_at=taken_at)


def step(record: Reclaim, scene: Scene) -> Reclaim:
    """Return the record after its next step; the same one if it waits."""
    if record.ended_at is None and not scene.is_noticed:
        record = msgspec.structs.replace(record, ended_at=scene.now)
    if record.phase in BEFORE_LEAVING:
        return _before_leaving(record, scene)
    if record.phase == "Left" and scene.is_emptied:
        return msgspec.structs.replace(record, phase="Settled")
    return record


def counted(counts: ReclaimCounts, before: Reclaim | None, after: Reclaim) -> ReclaimCounts:
    """Return the counts after one step of a record; before it was None if the record is new."""
    return ReclaimCounts(
        noticed=counts.noticed + (before is None),
        confirmed=counts.confirmed + (after.confirmed_at is not None and (before is None or not before.confirmed_at)),
        unsaved=counts.unsaved + is_unsaved(before, after),
        cancelled=counts.cancelled
        + (after.phase == "Cancelled" and before is not None and before.phase != "Cancelled"),
    )


def is_unsaved(before: Reclaim | None, after: Reclaim) -> bool:
    """Return whether it is known since this step that no checkpoint comes in time."""
    was_known = before is not None and before.phase not in ("Noticed", "Requested")
    return after.confirmed_at is None and after.phase in ("Unsaved", "Left") and not was_known


def bounded(records: Collection[Reclaim]) -> tuple[Reclaim, ...]:
    """Return the newest records; those that are not over are never dropped."""
    left = list(records)
    while len(left) > MOST_RECLAIMS:
        oldest = next((one for one in left if one.phase in OVER), left[0])
        left.remove(oldest)
    return tuple(left)


def _before_leaving(record: Reclaim, scene: Scene) -> Reclaim:
    judged = record.phase in ("Confirmed", "Unsaved")  # which is in the status
    if record.phase == "Requested" and scene.confirmed >= record.request:
        record = msgspec.structs.replace(record, phase="Confirmed", confirmed_at=scene.now)
    if scene.is_going or (judged and scene.is_noticed and scene.is_there):
        return msgspec.structs.replace(record, phase="Left", left_at=scene.now)
    if not scene.is_noticed:
        return msgspec.structs.replace(record, phase="Cancelled")
    if not scene.is_there:
        return msgspec.structs.replace(record, phase="Settled")
    if record.phase in ("Noticed", "Requested") and scene.now >= deadline(record, scene.timeout):
        return msgspec.structs.replace(record, phase="Cancelled" if scene.may_stay else "Unsaved")
    if record.phase == "Noticed" and scene.leader_runs:
        return msgspec.structs.replace(record, phase="Requested", request=scene.request, requested_at=scene.now)
    return record
