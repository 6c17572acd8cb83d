"""Models, services and crons in the console's cache, without the pod templates and files that pages never show."""

from kubedl.api.cron import CRONS as FULL_CRONS
from kubedl.api.cron import CronStatus
from kubedl.api.inference import INFERENCES as FULL_INFERENCES
from kubedl.api.inference import InferenceStatus
from kubedl.api.inference_rollout import Rollout
from kubedl.api.model import MODEL_VERSIONS as FULL_VERSIONS
from kubedl.api.model import MODELS as FULL_MODELS
from kubedl.api.model import Model, ModelVersionStatus
from kubedl.history.observed import RecordedPredictor, RecordedVersionSpec
from kubedl.kube.types.meta import ObjectMeta, Record, Resource


class ShownModel(Model, frozen=True):
    """A Model."""


class ShownVersion(Record, frozen=True):
    """A ModelVersion: where it comes from, and its image."""

    metadata: ObjectMeta = ObjectMeta()
    spec: RecordedVersionSpec = RecordedVersionSpec()
    status: ModelVersionStatus = ModelVersionStatus()


class ShownInferenceSpec(Record, frozen=True):
    """The predictors of an Inference, and the steps of its rollouts."""

    framework: str = ""
    predictors: tuple[RecordedPredictor, ...] = ()
    rollout: Rollout | None = None


class ShownInference(Record, frozen=True):
    """An Inference."""

    metadata: ObjectMeta = ObjectMeta()
    spec: ShownInferenceSpec = ShownInferenceSpec()
    status: InferenceStatus = InferenceStatus()


class ShownCronTemplate(Record, frozen=True):
    """The kind of the jobs of a Cron."""

    kind: str = ""


class ShownCronSpec(Record, frozen=True):
    """The schedule of a Cron."""

    schedule: str = ""
    time_zone: str = ""
    concurrency_policy: str = "Allow"
    suspend: bool = False
    template: ShownCronTemplate = ShownCronTemplate()


class ShownCron(Record, frozen=True):
    """A Cron."""

    metadata: ObjectMeta = ObjectMeta()
    spec: ShownCronSpec = ShownCronSpec()
    status: CronStatus = CronStatus()


MODELS = Resource(ShownModel, FULL_MODELS.kind, FULL_MODELS.plural, FULL_MODELS.version, FULL_MODELS.group)
MODEL_VERSIONS = Resource(
    ShownVersion, FULL_VERSIONS.kind, FULL_VERSIONS.plural, FULL_VERSIONS.version, FULL_VERSIONS.group
)
INFERENCES = Resource(
    ShownInference, FULL_INFERENCES.kind, FULL_INFERENCES.plural, FULL_INFERENCES.version, FULL_INFERENCES.group
)
CRONS = Resource(ShownCron, FULL_CRONS.kind, FULL_CRONS.plural, FULL_CRONS.version, FULL_CRONS.group)
