"""The observed state of an Inference, from informer caches and answers of the API server."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

from kubedl.api.inference import Inference, PredictorStatus
from kubedl.api.model import ModelVersion
from kubedl.kube.errors import ApiError
from kubedl.kube.types.apps import Deployment
from kubedl.kube.types.autoscaling import Scaler
from kubedl.kube.types.core import Pod, Service
from kubedl.kube.types.meta import Resource
from kubedl.serving.inquiry import Answer, Question, UnansweredError
from kubedl.serving.naming import PREDICTOR, TRACK
from kubedl.serving.rollout.analysis import AnalysisResult
from kubedl.serving.routing import GatewayRef, HTTPRoute
from kubedl.serving.workload.model_init_container import Model

OVER = ("Succeeded", "Failed")  # phases of pods


@dataclass(frozen=True)
class Problem:
    """A problem: a reason for programs and a message for users."""

    reason: str
    message: str


@dataclass(frozen=True)
class Observed:
    """The observed state. Objects are keyed by name, and belong to the Inference."""

    inference: Inference
    now: datetime
    versions: Mapping[str, ModelVersion]
    deployments: Mapping[str, Deployment]
    services: Mapping[str, Service]
    endpoints: Mapping[str, int]  # number of ready endpoints by Service
    pods: tuple[Pod, ...]
    scalers: tuple[tuple[Resource[Any], Scaler], ...]
    route: HTTPRoute | None
    gateway: GatewayRef | Problem  # or why it is missing
    edited: frozenset[str] = frozenset()  # Deployments whose pod template another client modified
    analyses: Mapping[str, AnalysisResult] = field(default_factory=dict)  # of the canaries, by predictor
    answers: Mapping[Question, Answer] = field(default_factory=dict)  # to questions of a plan

    def answer(self, question: Question) -> Answer:
        """Return the answer of the API server. Raises UnansweredError if not asked yet, ApiError if rejected."""
        if question not in self.answers:
            raise UnansweredError(question)
        answer = self.answers[question]
        if isinstance(answer, ApiError):
            raise answer
        return answer

    def before(self, predictor: str) -> PredictorStatus | None:
        """Return the previous status of a predictor."""
        return next((status for status in self.inference.status.predictor_statuses if status.name == predictor), None)

    def pods_of(self, predictor: str, track: str) -> list[Pod]:
        """Return the pods that run or may run; an evicted one stays in the cluster although another replaces it."""
        return [
            pod
            for pod in self.pods
            if pod.metadata.labels.get(PREDICTOR) == predictor
            and pod.metadata.labels.get(TRACK) == track
            and pod.metadata.deletion_timestamp is None
            and pod.status.phase not in OVER
        ]


def model_of(observed: Observed, name: str) -> Model | Problem:
    """Return the image of a version, or why it cannot be served yet."""
    version = observed.versions.get(name)
    if version is None:
        return Problem("ModelVersionNotFound", f"there is no ModelVersion {name}")
    status = version.status
    if status.image_build_phase == "ImageBuildFailed":
        message = f": {status.message}" if status.message else ""
        return Problem("ModelBuildFailed", f"the image of ModelVersion {name} could not be built{message}")
    if status.image_build_phase != "ImageBuildSucceeded" or "@sha256:" not in status.image:
        return Problem("ModelNotBuilt", f"the image of ModelVersion {name} is not built yet")
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
