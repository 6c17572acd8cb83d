"""When a job's TensorBoard is there and when it is not: a pure decision.

It is there from the start of the job until its lifetime after the end of the job is over, except while the job is
suspended. A pod that ended or was made for another wish is replaced, after a pause that keeps a hopeless one from
being made without end.
"""

import hashlib
from dataclasses import dataclass, replace
from datetime import datetime, timedelta

from kubedl.api.conditions import is_finished, is_true
from kubedl.api.training import TrainingJob
from kubedl.training.addons.addon import AddonError
from kubedl.training.addons.tensorboard import Board, wish
from kubedl.training.policies.clean import ENDED
from kubedl.training.policies.moment import LONG_AGO, later
from kubedl.wire import codec
from kubedl.wire.core import Pod, Service

DIGEST = "training.kubedl.io/tensorboard-digest"  # an annotation of the pod: which wish it was made for
PAUSE = timedelta(seconds=30)
PATIENCE = timedelta(seconds=60)  # with a pod that should be gone; it only reads, so a second one does no harm


@dataclass(frozen=True)
class Sight:
    """What is known of a job's TensorBoard."""

    made: TrainingJob
    pod: Pod | None
    service: Service | None
    now: datetime


@dataclass(frozen=True)
class Decision:
    """What is to be done."""

    board: Board | None = None  # as it shall be
    create_pod: bool = False
    create_service: bool = False
    delete_pod: bool = False
    force: bool = False
    delete_service: bool = False
    wake_at: datetime | None = None
    complaint: str = ""


def decide(sight: Sight) -> Decision:
    """What is to be done for a job's TensorBoard now."""
    made = sight.made
    if made.metadata.deletion_timestamp is not None:
        return Decision()  # the garbage collector takes it
    try:
        board = wish(made)
    except AddonError as error:
        return replace(_without(sight), complaint=str(error))
    end = expiry(made, board) if board is not None else None
    suspended = made.spec.suspend or is_true(made.status.conditions, "Suspended")
    if board is None or suspended or (end is not None and end <= sight.now):
        return _without(sight)
    decided = _with(sight, board)
    moments = [moment for moment in (decided.wake_at, end) if moment is not None and moment > sight.now]
    return replace(decided, wake_at=min(moments, default=None))


def expiry(made: TrainingJob, board: Board) -> datetime | None:
    """When its lifetime is over; None while the job goes on."""
    if not is_finished(made.status.conditions):
        return None
    moments = [moment for moment in (made.status.completion_time, board.asked_at) if moment is not None]
    return later(max(moments, default=LONG_AGO), timedelta(seconds=board.lifetime))


def digest(board: Board) -> str:
    """What the pod depends on. How long it lives does not matter to it."""
    parts = [board.log_dir, board.image, board.resources.json.decode() if board.resources is not None else ""]
    return hashlib.sha256(codec.encode(parts)).hexdigest()[:16]


def _with(sight: Sight, board: Board) -> Decision:
    decided = Decision(board, create_service=sight.service is None)
    pod = sight.pod
    if pod is None:
        return replace(decided, create_pod=True)
    if pod.metadata.deletion_timestamp is not None:
        return _hurried(decided, pod, sight.now)
    if pod.metadata.annotations.get(DIGEST) != digest(board):
        return replace(decided, delete_pod=True)
    if pod.status.phase in ENDED:
        again = later(pod.metadata.creation_timestamp or LONG_AGO, PAUSE)
        return replace(decided, delete_pod=again <= sight.now, wake_at=again)
    return decided


def _without(sight: Sight) -> Decision:
    service = sight.service
    decided = Decision(delete_service=service is not None and service.metadata.deletion_timestamp is None)
    if sight.pod is None:
        return decided
    if sight.pod.metadata.deletion_timestamp is not None:
        return _hurried(decided, sight.pod, sight.now)
    return replace(decided, delete_pod=True)


def _hurried(decided: Decision, pod: Pod, now: datetime) -> Decision:
    """A pod whose node does not answer would hold its name for ever."""
    limit = later(pod.metadata.deletion_timestamp or LONG_AGO, PATIENCE)
    if limit <= now:
        return replace(decided, delete_pod=True, force=True)
    return replace(decided, wake_at=limit)
