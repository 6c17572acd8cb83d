"""What the deadline policy reads and what it answers. Times are whole seconds, work is seconds at full size."""

from enum import StrEnum

from msgspec import Struct


class Mode(StrEnum):
    """How much on-demand capacity the deadline asks for."""

    LINE = "Line"  # on-demand only while progress is behind the line to the deadline
    TOPPED = "Topped"  # on-demand fills the job up to its full size; spot may still replace it
    LAST = "Last"  # the full size on on-demand, until the end


class ConditionType(StrEnum):
    """Conditions that follow from a decision."""

    SHRUNK = "Shrunk"
    WAITING_FOR_SPOT = "WaitingForSpot"
    ON_DEMAND_FALLBACK = "OnDemandFallback"
    DEADLINE_AT_RISK = "DeadlineAtRisk"
    PROGRESS_UNKNOWN = "ProgressUnknown"


class Reason(StrEnum):
    """Why the policy decided so."""

    NO_DEADLINE = "NoDeadline"
    AHEAD_OF_LINE = "AheadOfLine"
    BEHIND_LINE = "BehindLine"
    SLACK_LOW = "SlackLow"
    SLACK_SPENT = "SlackSpent"
    WAITED_TOO_LONG = "WaitedTooLong"
    SPOT_NOT_CHEAPER = "SpotNotCheaper"
    BUDGET_SPENT = "BudgetSpent"


class Terms(Struct, frozen=True, gc=False):
    """What the user and the administrator said: it changes only when they edit it."""

    size: int  # replicas at full size
    min_size: int
    work: int  # seconds at full size
    started: int  # the first start of the job
    deadline: int | None = None
    step: int = 1  # sizes are min_size + k · step
    cold_start: int = 300  # from asking for a pod until it can join
    checkpoint: int = 30  # how long all members pause while they save
    changeover: int = 60  # how long all members pause when membership changes
    notice: int = 120  # of the spot pool
    min_on_demand: int = 0
    max_wait: int | None = None  # without a member for so long: on-demand
    max_cost: float | None = None
    spot_price: float | None = None  # per node-hour
    on_demand_price: float | None = None


class Situation(Struct, frozen=True):
    """What the status and the caches hold now."""

    now: int
    durable: float  # progress that a confirmed checkpoint contains
    progress: float | None = None  # None: the program does not answer
    mode: Mode = Mode.LINE  # of the last decision
    training: int = 0  # members that make progress at this moment: none during a pause
    spot_members: int = 0
    spot_starting: int = 0  # scheduled and not yet members; without those that are being reclaimed
    on_demand_members: int = 0
    on_demand_starting: int = 0
    on_demand_ready_at: int = 0  # when the last of these is expected to be ready
    cold_start: int = 0  # p95 of this job; the configured value counts if it is greater
    checkpoint: int = 0
    measured_pace: float = 1.0  # progress per second at full size, of what `work` promised
    paces: tuple[tuple[int, float], ...] = ()  # measured at other sizes: (size, part of full size)
    notices_trusted: bool = True  # no recent reclaim came late or without a notice
    waiting_since: int | None = None  # nobody trains since
    spent: float = 0.0


class Decision(Struct, frozen=True):
    """How many replicas are wanted from each pool, why, and when to ask again."""

    spot: int
    on_demand: int
    size: int  # smallest size that is fast enough; on-demand fills up to it
    mode: Mode
    reason: Reason
    conditions: tuple[ConditionType, ...]
    slack: float | None = None  # seconds to spare at full size; None without a deadline
    projected_end: int | None = None  # at the present size; None while nobody trains
    next_look: int | None = None
