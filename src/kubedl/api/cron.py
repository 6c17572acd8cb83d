"""Cron: creates a training job of any kind at the times of a schedule.

The field `spec.cronPolicy` of a job has the same struct, without the template: the job itself is the template then, and
the operator creates a Cron of the same name from it.
"""

from datetime import datetime
from typing import Annotated, ClassVar, Literal

from msgspec import Meta

from kubedl.api.conditions import Conditions
from kubedl.kube.codec import RawObject
from kubedl.kube.types.meta import ObjectMeta, Record, Resource
from kubedl.schema.crd import Column, CustomResource
from kubedl.schema.structural import KEEP_UNKNOWN, MAX_INT32, Rule, Schema

GROUP = "apps.kubedl.io"
VERSION = "v1alpha1"
OF_JOBS = "training.kubedl.io/v1alpha1"
MOST_ROWS = 100  # of status.history, and of active runs
CRON_NAME = "kubedl.io/cron-name"  # label of runs
SCHEDULED_TIME = "kubedl.io/scheduled-time"  # annotation of runs
LONGEST_SCHEDULE = 256

ConcurrencyPolicy = Literal["Allow", "Forbid", "Replace"]

NAME = r"^[a-z]([-a-z0-9]{0,61}[a-z0-9])?$"
FORM = r"^\s*(@(yearly|annually|monthly|weekly|daily|midnight|hourly)|\S+(\s+\S+){4})\s*$"
# A date-time may have a year or an offset that no calendar has.
MOMENT = r"^[12][0-9]{3}-.*([Zz]|[+-](0[0-9]|1[0-4]):[0-5][0-9])$"
ZONE = r"^[A-Za-z0-9][A-Za-z0-9_+/-]*$"
NO_NESTING = "the template of a Cron cannot be scheduled itself; remove cronPolicy"


def policy_rules() -> tuple[Rule, ...]:
    """Return the rules of a schedule that need no calendar; the operator reports the others in the status."""
    return (
        Rule(
            "!self.schedule.contains('TZ=')",
            "set the time zone in timeZone, not in the schedule",
            ".schedule",
        ),
        Rule(
            "!self.schedule.startsWith('@every')",
            "@every has no fixed times, so runs could not be told apart; write them, for example */5 * * * *",
            ".schedule",
        ),
        Rule(
            f"self.schedule.contains('TZ=') || self.schedule.startsWith('@every') || self.schedule.matches(r'{FORM}')",
            "five fields (minute, hour, day of month, month, day of week), or one of @yearly, @monthly, @weekly, "
            "@daily and @hourly",
            ".schedule",
        ),
        Rule(
            f"!has(self.timeZone) || self.timeZone == '' || self.timeZone.matches(r'{ZONE}')",
            "the name of a time zone, for example Europe/Berlin",
            ".timeZone",
        ),
    )


class CronPolicy(Record, frozen=True):
    """When runs are created, and what happens to earlier ones."""

    schedule: Annotated[
        str,
        Meta(
            min_length=1,
            max_length=LONGEST_SCHEDULE,
            description="The times of the runs in cron format: minute, hour, day of month, month, day of week.",
        ),
    ]
    time_zone: Annotated[
        str,
        Meta(
            max_length=64, description="The time zone of the schedule, for example Europe/Berlin. The default is UTC."
        ),
    ] = ""
    concurrency_policy: Annotated[
        ConcurrencyPolicy,
        Meta(
            description="What happens at a scheduled time while an earlier run is active. Allow starts another one. "
            "Forbid waits for its end. Replace deletes it, and starts the new run when it is gone."
        ),
    ] = "Allow"
    suspend: Annotated[
        bool, Meta(description="Whether no runs are started. Runs that were started are not affected.")
    ] = False
    starting_deadline_seconds: (
        Annotated[
            int,
            Meta(
                ge=0,
                le=MAX_INT32,
                description="Seconds after its scheduled time within which a run may still be started, if it was "
                "missed. By default there is no limit.",
            ),
        ]
        | None
    ) = None
    deadline: (
        Annotated[
            datetime,
            Meta(
                description="The time after which no run is started, for example 2026-12-31T18:00:00Z.",
                extra_json_schema={"pattern": MOMENT},
            ),
        ]
        | None
    ) = None
    history_limit: (
        Annotated[
            int,
            Meta(
                ge=0,
                le=MAX_INT32,
                description="The number of finished runs to keep; older ones are deleted. By default all are kept.",
            ),
        ]
        | None
    ) = None

    __rules__: ClassVar[tuple[Rule, ...]] = policy_rules()


_LABELS: Schema = {"type": "object", "additionalProperties": {"type": "string"}}
_POLICY: Schema = {"type": "object", **KEEP_UNKNOWN, "description": "Not allowed in a template."}
WORKLOAD: Schema = {
    "properties": {
        "apiVersion": {"type": "string", "maxLength": 128, "description": "If set, as in the template."},
        "kind": {"type": "string", "maxLength": 63, "description": "If set, as in the template."},
        "metadata": {
            "type": "object",
            "description": "Labels and annotations of each run.",
            "properties": {
                "labels": {"description": "Labels of each run.", **_LABELS},
                "annotations": {"description": "Annotations of each run.", **_LABELS},
                "name": {"type": "string", "maxLength": 253, "description": "Not allowed: runs have different names."},
                "generateName": {
                    "type": "string",
                    "maxLength": 253,
                    "description": "Not allowed: the name of a run follows from its scheduled time.",
                },
                "namespace": {
                    "type": "string",
                    "maxLength": 63,
                    "description": "If set, the namespace of the Cron, in which runs are created.",
                },
            },
        },
        "spec": {
            "type": "object",
            **KEEP_UNKNOWN,
            "description": "The spec of each run, as its kind has it.",
            "properties": {
                "cronPolicy": _POLICY,
                "runPolicy": {
                    "type": "object",
                    **KEEP_UNKNOWN,
                    "description": "Of an MPIJob.",
                    "properties": {"cronPolicy": _POLICY},
                },
            },
        },
    }
}


class CronTemplate(Record, frozen=True):
    """The job that each run creates."""

    kind: Annotated[str, Meta(min_length=1, max_length=63, description="The kind of job, for example PyTorchJob.")]
    workload: Annotated[
        RawObject,
        Meta(description="The job: metadata with labels and annotations, and spec.", extra_json_schema=WORKLOAD),
    ]
    api_version: Annotated[str, Meta(max_length=128, description=f"The API version of the kind: {OF_JOBS}.")] = OF_JOBS

    __rules__: ClassVar[tuple[Rule, ...]] = (
        Rule(
            f"self.apiVersion == '{OF_JOBS}'",
            f"a Cron creates training jobs: {OF_JOBS}",
            ".apiVersion",
        ),
        Rule(
            "(!has(self.workload.kind) || self.workload.kind == self.kind) && "
            "(!has(self.workload.apiVersion) || self.workload.apiVersion == self.apiVersion)",
            "apiVersion and kind of the workload differ from those of the template; leave them out",
            ".workload",
        ),
        Rule(
            "!has(self.workload.metadata) || !has(self.workload.metadata.name) && "
            "!has(self.workload.metadata.generateName)",
            "the name of a run follows from the name of the Cron and the scheduled time; remove name and generateName",
            ".workload.metadata",
            reason="FieldValueForbidden",
        ),
        Rule("has(self.workload.spec)", "the spec of the job", ".workload.spec", reason="FieldValueRequired"),
        Rule(
            "!has(self.workload.spec) || !has(self.workload.spec.cronPolicy) && "
            "(!has(self.workload.spec.runPolicy) || !has(self.workload.spec.runPolicy.cronPolicy))",
            NO_NESTING,
            ".workload.spec",
            reason="FieldValueForbidden",
        ),
    )


class CronSpec(CronPolicy, frozen=True, kw_only=True):
    """The schedule, and the job that is created."""

    template: CronTemplate


class RunReference(Record, frozen=True):
    """A run of a Cron."""

    api_version: Annotated[str, Meta(description="The API version of the job.")] = ""
    kind: Annotated[str, Meta(description="The kind of job.")] = ""
    name: Annotated[str, Meta(description="The name of the job.")] = ""
    namespace: Annotated[str, Meta(description="The namespace of the job.")] = ""
    uid: Annotated[str, Meta(description="The uid of the job; empty until the operator has seen the job.")] = ""


class RunObject(Record, frozen=True):
    """The job of a run that has ended."""

    kind: Annotated[str, Meta(description="The kind of job.")]
    name: Annotated[str, Meta(description="The name of the job, which may have been deleted.")]
    api_group: Annotated[str, Meta(description="The API group of the job.")] = ""


class CronHistory(Record, frozen=True):
    """A run that has ended."""

    object: RunObject
    status: Annotated[str, Meta(description="How it ended: Succeeded, Failed, or Deleted while it was active.")]
    created: Annotated[datetime | None, Meta(description="The time when the job was created.")] = None
    finished: Annotated[datetime | None, Meta(description="The time when the job ended or was deleted.")] = None


class CronStatus(Record, frozen=True):
    """The observed state of a Cron."""

    active: Annotated[
        tuple[RunReference, ...],
        Meta(description="The runs that were started and have not ended, oldest first; suspended and queued ones too."),
    ] = ()
    history: Annotated[
        tuple[CronHistory, ...],
        Meta(
            description=f"The runs that have ended, oldest first: the newest historyLimit of them, at most {MOST_ROWS}."
        ),
    ] = ()
    last_schedule_time: Annotated[
        datetime | None, Meta(description="The latest scheduled time for which a run was started.")
    ] = None
    next_schedule_time: Annotated[
        datetime | None, Meta(description="The next scheduled time; empty if no run will be started.")
    ] = None
    conditions: Conditions = ()
    observed_generation: Annotated[int, Meta(description="The generation of the spec that this status describes.")] = 0


class Cron(Record, frozen=True):
    """A training job that is created at the times of a schedule."""

    spec: CronSpec
    api_version: str = f"{GROUP}/{VERSION}"
    kind: str = "Cron"
    metadata: ObjectMeta = ObjectMeta()
    status: CronStatus = CronStatus()


CRONS = Resource(Cron, "Cron", "crons", VERSION, GROUP)

CUSTOM_RESOURCE = CustomResource(
    resource=CRONS,
    columns=(
        Column("Schedule", "string", ".spec.schedule"),
        Column("Time-Zone", "string", ".spec.timeZone"),
        Column("Suspend", "boolean", ".spec.suspend"),
        Column("Ready", "string", ".status.conditions[?(@.type=='Ready')].status"),
        Column("Reason", "string", ".status.conditions[?(@.type=='Ready')].reason"),
        Column("Last-Schedule", "date", ".status.lastScheduleTime"),
        Column("Next-Schedule", "string", ".status.nextScheduleTime"),
        Column("Age", "date", ".metadata.creationTimestamp"),
        Column("Kind", "string", ".spec.template.kind", priority=1),
        Column("Concurrency", "string", ".spec.concurrencyPolicy", priority=1),
    ),
    rules=(
        Rule(
            f"self.metadata.name.matches(r'{NAME}')",
            "the names of runs begin with the name of the Cron: at most 63 lower-case letters, digits and '-', "
            "beginning with a letter and ending with a letter or digit",
            ".metadata.name",
        ),
    ),
)
