"""What commands print with `-o json`: types whose schema is published (docs/reference/cli-output.json).

`get`, `serve list` and `queue list` print objects of Kubernetes, and need no type.
"""

from collections.abc import Iterable, Mapping
from datetime import datetime
from typing import TYPE_CHECKING, Any, Literal

from kubedl.client.job import Job, JobSummary
from kubedl.kube import codec
from kubedl.kube.types.meta import NOTHING, Record

if TYPE_CHECKING:
    from kubedl.why.fitting import Fit

Version = Literal["cli.kubedl.io/v1alpha1"]
API_VERSION: Version = "cli.kubedl.io/v1alpha1"


class Named(Record, frozen=True, omit_defaults=False):
    """Which object it is about."""

    kind: str
    namespace: str
    name: str


class Line(Record, frozen=True, omit_defaults=False):
    """A label and a text."""

    label: str
    text: str


class JobSummaryList(Record, frozen=True, omit_defaults=False, tag_field="kind", tag="JobSummaryList"):
    """`list`."""

    items: tuple[JobSummary, ...]
    api_version: Version = API_VERSION


class JobChange(Record, frozen=True, omit_defaults=False, tag_field="kind", tag="JobChange"):
    """`list -w`: a line for each change."""

    type: Literal["ADDED", "MODIFIED", "DELETED"]
    job: JobSummary
    api_version: Version = API_VERSION


class FitCheck(Record, frozen=True, omit_defaults=False, tag_field="kind", tag="FitCheck"):
    """`submit --check`."""

    job: Named
    answer: Literal["yes", "wait", "no", "unknown"]
    first: str
    rule: str = ""
    supporting: tuple[Line, ...] = ()
    next: str = ""
    nodes: tuple[str, ...] = ()
    denied: Mapping[str, str] = NOTHING
    api_version: Version = API_VERSION


class JobResult(Record, frozen=True, omit_defaults=False):
    """How waiting for a job ended; the exit code is that of the replica that failed first."""

    name: str  # as it was asked for
    state: str
    message: str
    exit_code: int | None  # of the job; None if it has none
    code: int  # of the command


class JobResultList(Record, frozen=True, omit_defaults=False, tag_field="kind", tag="JobResultList"):
    """`wait` and `submit --wait`."""

    items: tuple[JobResult, ...]
    api_version: Version = API_VERSION


class NodeUse(Record, frozen=True, omit_defaults=False):
    """What pods have reserved on a node; amounts as Kubernetes writes them, in whole units."""

    name: str
    state: str
    reserved: Mapping[str, float]
    allocatable: Mapping[str, float]
    model: str
    pods: int
    jobs: Mapping[str, int]


class NodeUseList(Record, frozen=True, omit_defaults=False, tag_field="kind", tag="NodeUseList"):
    """`top node`."""

    items: tuple[NodeUse, ...]
    api_version: Version = API_VERSION


class ReplicaUse(Record, frozen=True, omit_defaults=False):
    """What a replica has reserved and uses; no use is known without a metrics server."""

    name: str
    node: str
    reserved: Mapping[str, float]
    used: Mapping[str, float] | None


class ReplicaUseList(Record, frozen=True, omit_defaults=False, tag_field="kind", tag="ReplicaUseList"):
    """`top job`."""

    items: tuple[ReplicaUse, ...]
    api_version: Version = API_VERSION


class LogLine(Record, frozen=True, omit_defaults=False, tag_field="kind", tag="LogLine"):
    """`logs`: a line for each line. `rank` is null where a kind has none; `attempt` is that of the pod, from 0."""

    replica: str
    rank: int | None
    attempt: int
    time: datetime
    text: str
    api_version: Version = API_VERSION


class Try(Record, frozen=True, omit_defaults=False):
    """Something that helps."""

    command: str
    effect: str
    by: str


class Also(Record, frozen=True, omit_defaults=False):
    """Another cause that was found."""

    rule: str
    sure: str
    first: str


class Submitter(Record, frozen=True, omit_defaults=False):
    """Who submitted an object, as far as it says so."""

    user: str = ""
    client: str = ""


class Diagnosis(Record, frozen=True, omit_defaults=False, tag_field="kind", tag="Diagnosis"):
    """`why`."""

    object: Named
    submitted_by: Submitter
    known: bool
    rule: str
    sure: str
    first: str
    supporting: tuple[Line, ...]
    tries: tuple[Try, ...]
    also: tuple[Also, ...]
    denied: Mapping[str, str]
    api_version: Version = API_VERSION


PUBLISHED = (
    JobSummaryList,
    JobChange,
    FitCheck,
    JobResultList,
    NodeUseList,
    ReplicaUseList,
    LogLine,
    Diagnosis,
)


def fit_check(manifest: Mapping[str, Any], found: "Fit") -> dict[str, Any]:
    """Return the answer to `--check` as data."""
    job = Job.of(manifest)
    made = FitCheck(
        job=Named(kind=job.kind, namespace=job.namespace, name=job.name),
        answer=found.answer,
        first=found.first,
        rule=found.rule,
        supporting=tuple(Line(label=label, text=text) for label, text in found.supporting),
        next=found.next,
        nodes=tuple(found.nodes),
        denied=found.denied,
    )
    return plain(made)


def results(ended: Iterable[tuple[str, Job | None, int]]) -> dict[str, Any]:
    """Return how waiting ended: by name, the job as it was last seen, and the code that it gives the command."""
    made = []
    for name, job, code in ended:
        own = code if job is not None and job.is_failed else 0 if job is not None and job.is_succeeded else None
        state, message = (job.state, job.message) if job is not None else ("", "")
        made.append(JobResult(name=name, state=state, message=message, exit_code=own, code=code))
    return plain(JobResultList(items=tuple(made)))


def print_output(value: Record, form: str) -> None:
    """Print an output."""
    from kubedl.cli.structured import print_object  # noqa: PLC0415

    print_object(plain(value), form)


def plain(value: Record) -> dict[str, Any]:
    """Return an output as data, with what it is first."""
    found: dict[str, Any] = codec.plain(value)
    return {"apiVersion": found.pop("apiVersion"), "kind": found.pop("kind"), **found}
