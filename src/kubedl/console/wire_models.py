"""What the console sends about models and services."""

from collections.abc import Sequence
from datetime import datetime

from kubedl.console.wire_base import Missing, Wire


class Serving(Wire, frozen=True):
    """A predictor that runs a version."""

    service: str
    predictor: str
    percent: int | None  # of the service's traffic; null: not known, while a canary takes over
    canary: bool


class ModelRow(Wire, frozen=True):
    """A Model."""

    namespace: str
    name: str
    description: str
    versions: int
    latest: str  # the newest version whose image is built
    found: str  # the version whose digest was searched for; empty: the name was
    served_by: Sequence[str]  # services, as far as the caller may list them
    created: datetime | None


class ModelList(Wire, frozen=True):
    """The models that a person may list."""

    installed: bool
    rows: Sequence[ModelRow]  # at most 500
    more: int
    missing: Sequence[Missing]


class VersionRow(Wire, frozen=True):
    """A version of a model: what it is made from, which job made it, its image, and who serves it."""

    name: str
    state: str  # Building, Built, Failed; empty: not begun
    message: str
    image: str  # by digest
    size: int  # bytes
    signed: bool
    author: str
    parent: str  # the model image that the training started from
    job_kind: str
    job: str
    job_hidden: bool  # there may be one, which the caller may not list
    job_there: bool  # the job still exists, and the caller may list it
    code_repository: str
    code_revision: str
    images: Sequence[str]  # of the training
    serving: Sequence[Serving]
    created: datetime | None


class ModelPage(Wire, frozen=True):
    """One model."""

    model: ModelRow
    versions: Sequence[VersionRow]  # newest first, at most 200
    more_versions: int
    missing: Sequence[Missing]


class RolloutRow(Wire, frozen=True):
    """A canary of a predictor."""

    phase: str  # Stable, Starting, Stepping, Promoting, RolledBack
    stable: str
    candidate: str
    rejected: str
    step: int  # from 0
    since: datetime | None
    reason: str
    message: str


class VersionShare(Wire, frozen=True):
    """A version that a predictor runs."""

    version: str
    model: str  # the Model of that version; empty: not known, or the caller may not list it
    percent: int | None  # of the service's traffic; null: not known
    canary: bool


class PredictorRow(Wire, frozen=True):
    """A predictor of a service."""

    name: str
    model_version: str
    model: str  # the Model of that version; empty: not known, or the caller may not list it
    replicas: int
    ready: int
    weight: int | None  # wanted; null: an equal share
    percent: int | None  # now; null: the operator has not said it
    reason: str
    message: str
    rollout: RolloutRow | None
    runs: Sequence[VersionShare]  # two during a rollout; none if the operator has not said it


class StepRow(Wire, frozen=True):
    """A step of a rollout."""

    weight: int  # percent
    pause: int | None  # seconds; null: until a person goes on


class ServiceRow(Wire, frozen=True):
    """An Inference."""

    namespace: str
    name: str
    framework: str
    ready: str  # True, False, Unknown; empty: no operator has seen it
    reason: str
    message: str
    endpoint: str
    predictors: Sequence[PredictorRow]
    steps: Sequence[StepRow]
    created: datetime | None


class ServiceList(Wire, frozen=True):
    """The services that a person may list."""

    installed: bool
    rows: Sequence[ServiceRow]  # at most 500
    more: int
    missing: Sequence[Missing]
