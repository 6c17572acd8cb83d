"""What the console sends to browsers. `make generate` writes the same types for TypeScript; `make check` compares."""

from collections.abc import Sequence
from datetime import datetime

import msgspec

from kubedl.console.wire_actions import ActionList, ActionRow, Done
from kubedl.console.wire_base import FieldProblem, Missing, Wire
from kubedl.console.wire_cost import CostPage, CostRow, IdlePage, IdleRow, Money, Waste
from kubedl.console.wire_crons import CronList, CronRow, RunRow
from kubedl.console.wire_history import (
    PastEventRow,
    PastJobList,
    PastJobPage,
    PastJobRow,
    PastPodRow,
    Receipt,
    ReceiptLine,
)
from kubedl.console.wire_lineage import LineageEdge, LineageNode, LineagePage
from kubedl.console.wire_logs import LogHit, LogHits, LogLineRow, LogPage
from kubedl.console.wire_metrics import Figures, JudgedRow, MetricsList, MetricsRow, ServiceMetrics
from kubedl.console.wire_models import (
    ModelList,
    ModelPage,
    ModelRow,
    PredictorRow,
    RolloutRow,
    ServiceList,
    ServiceRow,
    Serving,
    StepRow,
    VersionRow,
    VersionShare,
)
from kubedl.console.wire_nodes import (
    Capacity,
    Holder,
    HolderGroup,
    HolderList,
    NodeList,
    NodePage,
    NodePod,
    NodeRow,
    NodeStateRow,
    Share,
)
from kubedl.console.wire_queues import ClusterQueueRow, LocalQueueRow, QueueList, Quota, WaitingRow
from kubedl.console.wire_runs import ChangeRow, ChangesPage, StartPage
from kubedl.console.wire_submit import KindList, KindRow, Manifest, RoleRow
from kubedl.console.wire_why import WhyFact, WhyPage, WhyTry


class JobRow(Wire, frozen=True):
    """A job in the list."""

    uid: str
    namespace: str
    kind: str
    name: str
    state: str  # empty if no operator has seen the job
    message: str
    ready: str  # "2/4"
    gpus: int
    cpu_millis: int  # requested by all replicas, as memory and GPUs are
    memory_bytes: int
    user: str  # as the job states it
    queue: str
    restarts: int
    progress: float | None  # the part of its work that is done, as its program says; null: it says nothing
    progress_unknown: bool  # the program has stopped to say it
    ends: datetime | None  # if it goes on as it did
    created: datetime | None
    started: datetime | None
    finished: datetime | None


class JobList(Wire, frozen=True):
    """All jobs that the caller may see, and where in the stream of changes the list was taken."""

    cursor: str
    rows: Sequence[msgspec.Raw]  # of JobRow, encoded once for all viewers
    hidden_namespaces: int


class Frame(Wire, frozen=True):
    """Changes since the frame before."""

    rows: Sequence[msgspec.Raw]  # of JobRow
    gone: Sequence[str]  # uids
    touched: Sequence[str]  # uids of jobs whose pods or events changed, and topics whose pages changed


class Alive(Wire, frozen=True):
    """A sign of life."""

    silent_seconds: float  # since the API server last sent anything about what pages show; a minute is usual
    unanswered_seconds: float  # since it last answered a question; a few are usual


class Condition(Wire, frozen=True):
    """A condition of a job."""

    type: str
    status: str
    reason: str
    message: str
    since: datetime | None


class PodRow(Wire, frozen=True):
    """A pod of a job."""

    uid: str
    name: str
    replica: str  # worker-0
    phase: str
    message: str  # why it does not run, or how it ended
    node: str
    restarts: int
    created: datetime | None
    started: datetime | None  # its first container, for the last time
    containers: Sequence[str]


class EventRow(Wire, frozen=True):
    """An event about a job or one of its pods."""

    uid: str
    about: str  # Pod/bert-worker-0
    type: str
    reason: str
    message: str
    count: int
    time: datetime | None


class JobPage(Wire, frozen=True):
    """One job. A part that the caller may not see is empty and named in `missing`."""

    job: JobRow
    suspended: bool  # as its spec wants it; a queue may want it too
    reason: str
    conditions: Sequence[Condition]
    pods: Sequence[PodRow]
    events: Sequence[EventRow]
    missing: Sequence[Missing]


class Session(Wire, frozen=True):
    """Who is signed in, and how people sign in."""

    mode: str  # proxy, token, local
    user: str  # empty: nobody
    groups: Sequence[str]
    cluster: str
    version: str


class Problem(Wire, frozen=True):
    """An error: what failed, why, and what to do next."""

    what: str
    why: str
    next: str
    request: str  # in the server's log too
    fields: Sequence[FieldProblem]  # of an object that was refused; a line of text has the field `line 3`


class SignIn(msgspec.Struct, frozen=True):
    """The body of a sign-in: a token, or the one-time code of a local console."""

    token: str = ""
    code: str = ""


ANSWERS: tuple[type[msgspec.Struct], ...] = (
    JobRow,
    JobList,
    Frame,
    Alive,
    Missing,
    Condition,
    PodRow,
    EventRow,
    JobPage,
    WhyFact,
    WhyTry,
    WhyPage,
    StartPage,
    ChangeRow,
    ChangesPage,
    Session,
    Problem,
    Share,
    Capacity,
    Holder,
    HolderGroup,
    HolderList,
    NodeRow,
    NodeList,
    NodeStateRow,
    NodePod,
    NodePage,
    Quota,
    ClusterQueueRow,
    LocalQueueRow,
    WaitingRow,
    QueueList,
    Serving,
    ModelRow,
    ModelList,
    VersionRow,
    ModelPage,
    LineageNode,
    LineageEdge,
    LineagePage,
    RolloutRow,
    VersionShare,
    PredictorRow,
    StepRow,
    ServiceRow,
    ServiceList,
    Figures,
    MetricsRow,
    JudgedRow,
    ServiceMetrics,
    MetricsList,
    RunRow,
    CronRow,
    CronList,
    ActionRow,
    ActionList,
    Done,
    FieldProblem,
    RoleRow,
    KindRow,
    KindList,
    Manifest,
    Money,
    Waste,
    CostRow,
    CostPage,
    IdleRow,
    IdlePage,
    PastJobRow,
    PastJobList,
    PastPodRow,
    PastEventRow,
    ReceiptLine,
    Receipt,
    PastJobPage,
    LogLineRow,
    LogPage,
    LogHit,
    LogHits,
)
# What a list of encoded values holds.
ENCODED: dict[tuple[type[msgspec.Struct], str], type[msgspec.Struct]] = {
    (JobList, "rows"): JobRow,
    (Frame, "rows"): JobRow,
}
