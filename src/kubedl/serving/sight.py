"""What is known of an Inference at one moment, from caches alone."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from kubedl.api.inference import Inference, PredictorStatus
from kubedl.api.model import ModelVersion
from kubedl.serving.loading import Model
from kubedl.serving.objects import PREDICTOR, TRACK, Deployment, Scaler
from kubedl.serving.traffic import GatewayRef, HTTPRoute
from kubedl.wire.core import Pod, Service
from kubedl.wire.meta import Resource


@dataclass(frozen=True)
class Trouble:
    """Why something is not as it should be: a word for programs, a sentence for people."""

    reason: str
    message: str


@dataclass(frozen=True)
class Sight:
    """Objects are by name, and the Inference's own."""

    inference: Inference
    now: datetime
    versions: Mapping[str, ModelVersion]
    deployments: Mapping[str, Deployment]
    services: Mapping[str, Service]
    endpoints: Mapping[str, int]  # of each Service: how many are ready
    pods: tuple[Pod, ...]
    scalers: tuple[tuple[Resource[Any], Scaler], ...]
    route: HTTPRoute | None
    gateway: GatewayRef | Trouble  # or why there is none

    def before(self, predictor: str) -> PredictorStatus | None:
        """What was said of a predictor the last time."""
        return next((one for one in self.inference.status.predictor_statuses if one.name == predictor), None)

    def pods_of(self, predictor: str, track: str) -> list[Pod]:
        """Those that are there to stay."""
        return [
            pod
            for pod in self.pods
            if pod.metadata.labels.get(PREDICTOR) == predictor
            and pod.metadata.labels.get(TRACK) == track
            and pod.metadata.deletion_timestamp is None
        ]


def model_of(sight: Sight, name: str) -> Model | Trouble:
    """A version's image, or why it cannot be served yet."""
    version = sight.versions.get(name)
    if version is None:
        return Trouble("ModelVersionNotFound", f"there is no ModelVersion {name}")
    status = version.status
    if status.image_build_phase == "ImageBuildFailed":
        said = f": {status.message}" if status.message else ""
        return Trouble("ModelBuildFailed", f"the image of ModelVersion {name} could not be built{said}")
    if status.image_build_phase != "ImageBuildSucceeded" or "@sha256:" not in status.image:
        return Trouble("ModelNotBuilt", f"the image of ModelVersion {name} is not built yet")
    registry = version.spec.registry
    named = registry.credentials if registry is not None else None
    return Model(
        version=name,
        name=version.spec.model_name,
        image=status.image,
        insecure=registry is not None and registry.insecure,
        secret=named.secret_name if named is not None else "",
        authority=registry.authority.secret_name if registry is not None and registry.authority is not None else "",
    )
