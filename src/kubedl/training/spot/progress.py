"""How much of the work is done: what the program reports, and how far that can be believed. Pure.

Progress is never assumed. Without a report what the status has stands still; after work was lost only what is in a
checkpoint counts, until the program reports a newer one; and a program that says that it is behind its checkpoint has
lost it.
"""

from datetime import datetime, timedelta

import msgspec
from msgspec import Struct

from kubedl.api.spot import SpotProgress
from kubedl.schema.structural import MAX_INT32
from kubedl.training.elastic.pace import pace

SILENT = timedelta(seconds=120)  # without a report, while the job trains: its progress is unknown
SHARE = 100  # progress is written when it has grown by this part of the work

MOST_STEPS = 10**15


class Report(Struct, frozen=True):
    """What a program has said."""

    at: datetime  # when it was asked
    step: int
    total: int
    durable_step: int

    @property
    def is_usable(self) -> bool:
        """Return whether it says which part of the work is done."""
        return 0 <= self.durable_step <= MOST_STEPS and 0 <= self.step <= MOST_STEPS and 0 < self.total <= MOST_STEPS


class Heard(Struct, frozen=True):
    """What one operator has heard of the program of a job."""

    report: Report | None = None
    asked_since: datetime | None = None  # it was asked, and has not answered since


NOTHING = Heard()


def updated(known: SpotProgress, heard: Heard, work: int, *, training: int, size: int) -> SpotProgress:
    """Return the progress as it is known now; `training` replicas of `size` take part."""
    known, report = _bounded(known), heard.report
    is_old = report is not None and known.untrusted_since is not None and report.at <= known.untrusted_since
    if report is None or not report.is_usable or not work or is_old:
        return known  # an old one was said before the work was lost
    done, durable = _part(report.step, report, work), _part(report.durable_step, report, work)
    if report.step > 0 and done < known.durable_seconds:
        return msgspec.structs.replace(
            known, seconds=done, durable_seconds=min(done, durable), untrusted_since=report.at, measured_at=None
        )
    if known.untrusted_since is not None:
        if durable <= known.durable_seconds:
            return known
        known = msgspec.structs.replace(known, untrusted_since=None, measured_at=None)
    return _believed(known, report, work, pace(training, size))


def _believed(known: SpotProgress, report: Report, work: int, speed: float) -> SpotProgress:
    done, durable = _part(report.step, report, work), _part(report.durable_step, report, work)
    durable = max(durable, known.durable_seconds)
    if report.step == 0:  # it has just started, and does not say yet where it goes on from
        return msgspec.structs.replace(known, seconds=max(known.seconds, durable), durable_seconds=durable)
    done = max(done, durable)
    if speed == 0:
        return msgspec.structs.replace(known, seconds=done, durable_seconds=durable)
    trained, gained = known.trained, known.gained
    if known.measured_at is not None and report.at > known.measured_at and done >= known.seconds:
        trained += int((report.at - known.measured_at).total_seconds() * speed)
        gained += done - known.seconds
    return _bounded(
        SpotProgress(seconds=done, durable_seconds=durable, measured_at=report.at, trained=trained, gained=gained)
    )


def is_worth_writing(written: SpotProgress, now: SpotProgress, work: int) -> bool:
    """Return whether a new progress is written although nothing else is."""
    if (written.untrusted_since, written.measured_at is None) != (now.untrusted_since, now.measured_at is None):
        return True
    moved = abs(now.seconds - written.seconds), abs(now.durable_seconds - written.durable_seconds)
    return max(moved) * SHARE >= max(work, 1) and max(moved) > 0


def lost(known: SpotProgress, now: datetime) -> SpotProgress:
    """Return the progress after work was lost: what is in a checkpoint."""
    return msgspec.structs.replace(known, seconds=known.durable_seconds, untrusted_since=now, measured_at=None)


def paused(known: SpotProgress) -> SpotProgress:
    """Return the progress after the replicas that take part have changed: the pace is measured anew from there."""
    return known if known.measured_at is None else msgspec.structs.replace(known, measured_at=None)


def is_unknown(heard: Heard, now: datetime, *, was_unknown: bool) -> bool:
    """Return whether nobody knows the progress; a new operator, which has asked nobody yet, keeps what was said."""
    if heard.asked_since is not None and now - heard.asked_since >= SILENT:
        return True
    if heard.report is None:
        return was_unknown
    return not heard.report.is_usable


def _bounded(known: SpotProgress) -> SpotProgress:
    """Return the progress with no other numbers than those that the operator writes; a user may edit the status."""
    numbers = {name: getattr(known, name) for name in ("seconds", "durable_seconds", "trained", "gained")}
    bounded = {name: min(max(number, 0), MAX_INT32) for name, number in numbers.items()}
    return known if bounded == numbers else msgspec.structs.replace(known, **bounded)


def _part(steps: int, report: Report, work: int) -> int:
    return min(steps, report.total) * work // report.total
