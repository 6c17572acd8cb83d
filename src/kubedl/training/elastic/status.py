"""What is remembered about an elastic job, and what is seen of it. Nothing else may influence a step."""

from enum import StrEnum

from msgspec import Struct

from kubedl.training.elastic.ledger import Ledger
from kubedl.training.elastic.terms import Mode

RECENT = 20  # how many starts, checkpoints and reclaims are remembered


class ReclaimEnd(StrEnum):
    """How a member's node was taken."""

    CONFIRMED = "Confirmed"  # after a checkpoint
    LATE = "Late"  # before the checkpoint that its notice caused was confirmed
    UNANNOUNCED = "Unannounced"


class ElasticStatus(Struct, frozen=True):
    """All that must survive a restart of the operator."""

    at: int  # of the last step
    mode: Mode = Mode.LINE
    members: tuple[str, ...] = ()  # uids of pods
    leaving: tuple[str, ...] = ()  # to be deleted
    progress: float = 0.0
    durable: float = 0.0
    training: bool = False  # progress was being made after the last step
    request: int = 0  # the number of the last checkpoint that was asked for
    requested_at: int | None = None  # None: it is confirmed, or was given up
    changes: int = 0  # how often membership changed
    changing_since: int | None = None
    saved_at: int = 0  # when a checkpoint was last confirmed, or training began
    waiting_since: int | None = None
    trained: float = 0.0  # seconds at full size that were promised for the time trained
    gained: float = 0.0  # progress in that time
    starts: tuple[int, ...] = ()  # seconds, the last ones
    checkpoints: tuple[int, ...] = ()
    reclaims: tuple[ReclaimEnd, ...] = ()
    reclaim_count: int = 0
    ledger: Ledger = Ledger()


class SeenPod(Struct, frozen=True, gc=False):
    """A pod that has a node."""

    uid: str
    spot: bool
    begin: int  # since when it is paid for
    ready_at: int | None = None  # since when it can join
    taken_at: int | None = None  # a notice says that its node goes then
    hourly: str = ""
    on_demand_hourly: str = ""
    share: float = 1.0


class Seen(Struct, frozen=True):
    """Pods and program, as observed at one moment."""

    now: int
    pods: tuple[SeenPod, ...]
    durable: float
    progress: float | None  # None: the program does not answer
    confirmed: int = 0  # the number of the last checkpoint that the program has confirmed
    changes: int = 0  # the change of membership that the program has followed
    training: bool = False
