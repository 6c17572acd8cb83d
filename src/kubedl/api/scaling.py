"""ScaleIn and ScaleOut: change the size of an elastic job once, as objects with a result. Fields as in et-operator."""

from collections.abc import Mapping
from datetime import datetime
from typing import Annotated, ClassVar, Literal

from msgspec import Meta

from kubedl.api.conditions import LONGEST_MESSAGE, LONGEST_REASON
from kubedl.kube.types.meta import ObjectMeta, Record, Resource
from kubedl.schema.crd import Column, CustomResource
from kubedl.schema.structural import Rule, list_map

GROUP = "kai.alibabacloud.com"
VERSION = "v1alpha1"
KIND_LABEL = "training.kubedl.io/kind"  # of a scaler: the kind of the job, if several jobs have the name
MOST_PODS = 1000  # of one scaler: all of them are named in its status
LONGEST_NAME = 253
LONGEST_TIMEOUT = 86_400

PodNames = tuple[Annotated[str, Meta(min_length=1, max_length=LONGEST_NAME)], ...]


class JobSelector(Record, frozen=True):
    """The job that is resized."""

    name: Annotated[
        str,
        Meta(min_length=1, max_length=LONGEST_NAME, description="The name of an elastic job in the same namespace."),
    ]


class ScriptVariable(Record, frozen=True):
    """An environment variable of the script."""

    name: Annotated[str, Meta(min_length=1, max_length=LONGEST_NAME, description="The name of the variable.")]
    value: Annotated[str, Meta(max_length=4096, description="The value of the variable.")] = ""


class ScalerSpec(Record, frozen=True):
    """What ScaleIn and ScaleOut have in common."""

    selector: JobSelector
    timeout: Annotated[
        int,
        Meta(
            ge=1,
            le=LONGEST_TIMEOUT,
            description="Seconds within which added pods must run, or removed pods must be gone after their grace "
            "period.",
        ),
    ] = 60
    script: Annotated[
        str,
        Meta(
            max_length=65_536, description="Not supported, since the operator runs nothing in pods: the scaler fails."
        ),
    ] = ""
    env: Annotated[
        tuple[ScriptVariable, ...],
        Meta(max_length=100, description="Variables of the script. Not supported: the scaler fails."),
    ] = ()
    backoff_limit: (
        Annotated[
            int,
            Meta(
                ge=0,
                le=1000,
                description="How often et-operator retries the script. It has no effect, since there is no script.",
            ),
        ]
        | None
    ) = None

    __rules__: ClassVar[tuple[Rule, ...]] = (
        Rule("self == oldSelf", "a scaler is done once; create another one", reason="FieldValueForbidden"),
    )


class ToDelete(Record, frozen=True):
    """The pods that are removed: so many, or these."""

    count: Annotated[
        int, Meta(ge=0, le=MOST_PODS, description="The number of pods to remove: those with the highest indexes.")
    ] = 0
    pod_names: Annotated[
        PodNames,
        Meta(
            max_length=MOST_PODS,
            description="The pods to remove, which must be those with the highest indexes. It has precedence over "
            "count.",
        ),
    ] = ()

    __rules__: ClassVar[tuple[Rule, ...]] = (
        Rule("self.count > 0 || has(self.podNames) && self.podNames.size() > 0", "set count or podNames"),
    )


class ToAdd(Record, frozen=True):
    """The pods that are added."""

    count: Annotated[int, Meta(ge=1, le=MOST_PODS, description="The number of pods to add.")]


class ScaleInSpec(ScalerSpec, frozen=True, kw_only=True):
    """Which job, and the pods that it loses."""

    to_delete: ToDelete


class ScaleOutSpec(ScalerSpec, frozen=True, kw_only=True):
    """Which job, and the pods that it gets."""

    to_add: ToAdd


class ScalerCondition(Record, frozen=True):
    """A step of a scaler."""

    type: Annotated[
        Literal["Created", "Scaling", "ScaleSucceeded", "ScaleFailed"],
        Meta(description="The step: Created, Scaling, and then ScaleSucceeded or ScaleFailed."),
    ]
    status: Annotated[Literal["True", "False"], Meta(description="False of Scaling when it is over, else True.")]
    reason: Annotated[str, Meta(max_length=LONGEST_REASON, description="The reason, in CamelCase, for programs.")] = ""
    message: Annotated[str, Meta(max_length=LONGEST_MESSAGE, description="A human-readable explanation.")] = ""
    last_update_time: Annotated[datetime | None, Meta(description="The time when the condition last changed.")] = None
    last_transition_time: Annotated[datetime | None, Meta(description="The time when the status last changed.")] = None


class ScaledReplicas(Record, frozen=True, omit_defaults=False):
    """The pods of the role that was resized."""

    active: Annotated[int, Meta(description="The number of pods that run and have not been told to go.")] = 0
    succeeded: Annotated[int, Meta(description="The number of pods that have succeeded.")] = 0
    failed: Annotated[int, Meta(description="The number of pods that have failed.")] = 0


class ScalerStatus(Record, frozen=True):
    """The observed state of a scaler."""

    phase: Annotated[str, Meta(description="The type of the last condition.")] = ""
    conditions: Annotated[
        tuple[ScalerCondition, ...],
        Meta(max_length=8, description="The steps so far, in order.", extra_json_schema=list_map("type")),
    ] = ()
    replica_statuses: Annotated[
        Mapping[str, ScaledReplicas],
        Meta(description="The pods of the job when the scaler ended, by role: only the role that is resized."),
    ] = {}
    current_scaler: Annotated[
        str,
        Meta(
            description="The scaler of the job whose turn it is, as kind:namespace/name: this one, or the one that it "
            "waits for. Empty when it has ended."
        ),
    ] = ""
    start_time: Annotated[
        datetime | None, Meta(description="The time when the job had its new number of replicas.")
    ] = None
    completion_time: Annotated[datetime | None, Meta(description="The time when the scaler ended.")] = None
    last_reconcile_time: Annotated[datetime | None, Meta(description="The time when this status was written.")] = None
    job_uid: Annotated[str, Meta(description="The uid of the job that is resized.")] = ""
    job_generation: Annotated[
        int, Meta(description="The generation of the job over which its number of replicas is written.")
    ] = 0
    job_replicas: Annotated[int, Meta(description="The number of replicas that the job had before.")] = 0


class ScaleInStatus(ScalerStatus, frozen=True):
    """The observed state of a ScaleIn."""

    to_delete_pods: Annotated[
        PodNames, Meta(description="The pods that are removed, known before the job is changed.")
    ] = ()


class ScaleOutStatus(ScalerStatus, frozen=True):
    """The observed state of a ScaleOut."""

    add_pods: Annotated[PodNames, Meta(description="The pods that are added, known before the job is changed.")] = ()


class ScaleIn(Record, frozen=True):
    """Removes pods from a running elastic job, once."""

    spec: ScaleInSpec
    api_version: str = f"{GROUP}/{VERSION}"
    kind: str = "ScaleIn"
    metadata: ObjectMeta = ObjectMeta()
    status: ScaleInStatus = ScaleInStatus()


class ScaleOut(Record, frozen=True):
    """Adds pods to a running elastic job, once; takes them back if they do not run in time."""

    spec: ScaleOutSpec
    api_version: str = f"{GROUP}/{VERSION}"
    kind: str = "ScaleOut"
    metadata: ObjectMeta = ObjectMeta()
    status: ScaleOutStatus = ScaleOutStatus()


SCALE_INS = Resource(ScaleIn, "ScaleIn", "scaleins", VERSION, GROUP)
SCALE_OUTS = Resource(ScaleOut, "ScaleOut", "scaleouts", VERSION, GROUP)

_COLUMNS = (
    Column("Phase", "string", ".status.conditions[-1:].type"),
    Column("Age", "date", ".metadata.creationTimestamp"),
    Column("Job", "string", ".spec.selector.name", priority=1),
    Column("Reason", "string", ".status.conditions[-1:].reason", priority=1),
)
CUSTOM_RESOURCES = (CustomResource(SCALE_INS, columns=_COLUMNS), CustomResource(SCALE_OUTS, columns=_COLUMNS))
