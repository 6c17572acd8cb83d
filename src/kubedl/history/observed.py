"""The fields of jobs and other objects of KubeDL that are recorded.

What these structs do not declare is never decoded, so it cannot be stored. Environment variables, commands, arguments,
termination messages, annotations and Secrets are not declared.
"""

from collections.abc import Mapping
from datetime import datetime
from typing import Any

import msgspec

from kubedl.kube.quantity import Quantity
from kubedl.kube.types.meta import ObjectMeta, Record, Resource

Amounts = Mapping[str, Quantity]
NO_AMOUNTS: Amounts = {}


class ManagedFields(Record, frozen=True):
    """Which program wrote an object, without the fields."""

    manager: str = ""
    time: str = ""  # in UTC; no datetime, because clients may write one that Python does not have
    subresource: str = ""


class RecordedMeta(ObjectMeta, frozen=True):
    """Metadata with the programs that wrote the object. Of its annotations, only those about users are stored."""

    managed_fields: tuple[ManagedFields, ...] = ()


class Requirements(Record, frozen=True):
    """Requests and limits of a container."""

    requests: Amounts = NO_AMOUNTS
    limits: Amounts = NO_AMOUNTS


class RecordedContainer(Record, frozen=True):
    """Image and resources of a container."""

    name: str = ""
    image: str = ""
    restart_policy: str = ""
    resources: Requirements = Requirements()


class TemplateSpec(Record, frozen=True):
    """The part of a pod template that is recorded."""

    containers: tuple[RecordedContainer, ...] = ()
    init_containers: tuple[RecordedContainer, ...] = ()
    overhead: Amounts = NO_AMOUNTS
    node_selector: Mapping[str, str] = {}
    priority_class_name: str = ""
    service_account_name: str = ""


class Template(Record, frozen=True):
    """A pod template."""

    spec: TemplateSpec = TemplateSpec()


class RecordedRole(Record, frozen=True):
    """One role of a job."""

    replicas: int = 1
    restart_policy: str = ""
    template: Template = Template()


class Scheduling(Record, frozen=True):
    """Queue and gang of a job."""

    queue: str = ""
    gang_scheduler: str = ""
    priority_class_name: str = ""
    min_available: int | None = None


class Code(Record, frozen=True):
    """The source of the code. Credentials in the URL are removed before it is stored."""

    repository: str = ""
    branch: str = ""
    revision: str = ""


class DataSource(Record, frozen=True):
    """Where a dataset is."""

    location: str = ""
    sub_dir_name: str = ""


class RecordedDataset(Record, frozen=True):
    """A dataset."""

    data_sources: tuple[DataSource, ...] = ()


class Cache(Record, frozen=True):
    """The dataset of a job."""

    name: str = ""
    dataset: RecordedDataset | None = None


class Output(Record, frozen=True):
    """The model that a job leaves."""

    model_name: str = ""
    image_repo: str = ""
    image_tag: str = ""


class Work(Record, frozen=True):
    """How long the whole training takes at full size."""

    seconds: int = 0


class RecordedSpot(Record, frozen=True):
    """What a job on spot nodes says about its work."""

    work: Work | None = None


class Progress(Record, frozen=True):
    """How much of the work is done, as the program reports it."""

    seconds: int = 0


class RecordedSpotStatus(Record, frozen=True):
    """How far such a job is."""

    progress: Progress = Progress()
    projected_end: datetime | None = None


class RecordedJobSpec(Record, frozen=True):
    """The part of a job's spec that all kinds have; `resource_of_jobs` adds the roles."""

    suspend: bool = False
    backoff_limit: int | None = None
    active_deadline_seconds: int | None = None
    ttl_seconds_after_finished: int | None = None
    restart_scope: str | None = None
    success_policy: str = ""
    scheduling_policy: Scheduling | None = None
    code_source: Code | None = None
    cache_backend: Cache | None = None
    model_version: Output | None = None
    spot: RecordedSpot | None = None


class RecordedCondition(Record, frozen=True):
    """A condition."""

    type: str = ""
    status: str = ""
    reason: str = ""
    message: str = ""
    last_transition_time: datetime | None = None


class RecordedJobStatus(Record, frozen=True):
    """The status of a job."""

    state: str = ""
    reason: str = ""
    message: str = ""
    ready: str = ""
    attempt: int = 0
    retries: int = 0
    restarts: int | None = None
    start_time: datetime | None = None
    completion_time: datetime | None = None
    model_version_name: str = ""
    cache_backend_name: str = ""
    code_revision: str = ""
    spot: RecordedSpotStatus | None = None
    conditions: tuple[RecordedCondition, ...] = ()


class RecordedJob(Record, frozen=True):
    """A job of any kind."""

    metadata: RecordedMeta = RecordedMeta()
    spec: Any = RecordedJobSpec()
    status: RecordedJobStatus = RecordedJobStatus()


class Origin(Record, frozen=True):
    """The job that a version comes from."""

    job_kind: str = ""
    job_name: str = ""
    job_uid: str = ""
    trainer_images: Mapping[str, str] = {}
    code_repository: str = ""
    code_revision: str = ""


class RecordedVersionSpec(Record, frozen=True):
    """The spec of a ModelVersion."""

    model_name: str = ""
    created_by: str = ""
    image_repo: str = ""
    image_tag: str = ""
    parent: str = ""
    origin: Origin | None = None


class RecordedPredictor(Record, frozen=True):
    """A predictor of an Inference."""

    name: str = ""
    model_version: str = ""
    replicas: int | None = None
    traffic_weight: int | None = None


class RecordedObjectSpec(RecordedVersionSpec, frozen=True):
    """The recorded fields of all other kinds together; each kind has some of them."""

    framework: str = ""
    predictors: tuple[RecordedPredictor, ...] = ()
    schedule: str = ""
    suspend: bool = False


class RecordedObjectStatus(Record, frozen=True):
    """The recorded status of all other kinds together."""

    state: str = ""
    image: str = ""
    artifact: str = ""
    size: int = 0
    signed: bool = False
    image_build_phase: str = ""
    finish_time: datetime | None = None
    message: str = ""
    conditions: tuple[RecordedCondition, ...] = ()


class RecordedObject(Record, frozen=True):
    """A ModelVersion, an Inference, a Cron."""

    metadata: RecordedMeta = RecordedMeta()
    spec: RecordedObjectSpec = RecordedObjectSpec()
    status: RecordedObjectStatus = RecordedObjectStatus()


def resource_of_jobs(kind: Resource[Any], replicas_field: str) -> Resource[RecordedJob]:
    """Return a kind of jobs, decoded into its recorded fields; `replicas_field` is the spec field with the roles."""
    roles: Any = msgspec.field(name=replicas_field, default_factory=dict)
    fields: list[Any] = [("roles", Mapping[str, RecordedRole], roles)]
    spec: Any = msgspec.defstruct(f"Recorded{kind.kind}Spec", fields, bases=(RecordedJobSpec,), frozen=True)
    job: Any = msgspec.defstruct(f"Recorded{kind.kind}", [("spec", spec, spec())], bases=(RecordedJob,), frozen=True)
    return Resource(job, kind.kind, kind.plural, kind.version, kind.group)


def resource_of_objects(kind: Resource[Any]) -> Resource[RecordedObject]:
    """Return another kind, decoded into its recorded fields."""
    return Resource(RecordedObject, kind.kind, kind.plural, kind.version, kind.group)
