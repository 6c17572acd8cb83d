"""TensorBoard of a job, from the field or from the annotation of KubeDL 0.5: decoding and validation.

TensorBoard is not a replica: `tensorboard.controller` creates and deletes it, and it never affects the job.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime
from typing import Annotated, Any

import msgspec
from msgspec import Meta

from kubedl.api import training_addons as rules
from kubedl.api.training import TrainingJob, cron_policy, is_managed_elsewhere
from kubedl.kube import codec
from kubedl.schema.structural import MAX_INT32
from kubedl.training.addons.base import Addon, AddonError

ANNOTATION = "kubedl.io/tensorboard-config"
LONGEST_ANNOTATION = 65_536  # characters


@dataclass(frozen=True)
class TensorBoardSpec:
    """The requested TensorBoard."""

    log_dir: str
    image: str
    lifetime: int  # seconds after the end of the job
    resources: codec.RawObject | None = None
    asked_at: datetime | None = None  # a TensorBoard requested after the end gets the full TTL too


class _Config(msgspec.Struct, frozen=True, rename="camel", forbid_unknown_fields=True):
    """The annotation of KubeDL 0.5."""

    log_dir: str | None = None
    ttl_seconds_after_job_finished: int | None = None
    image: str | None = None
    ingress_spec: dict[str, Any] | None = None
    update_timestamp: Annotated[datetime, Meta(tz=True)] | None = None


class TensorBoardAddon(Addon):
    """Checks the request; a controller of its own creates the TensorBoard, and replicas get nothing from it."""

    def is_requested(self, resource: TrainingJob) -> bool:
        """By spec.tensorBoard or the annotation."""
        return is_wanted(resource)

    def validate(self, resource: TrainingJob) -> None:
        """Validate the request, including the length of the name."""
        if requested_tensorboard(resource) is not None and len(resource.metadata.name) > rules.LONGEST_BOARD_NAME:
            most = rules.LONGEST_BOARD_NAME
            raise _refused(f"the name of a job with a TensorBoard may have at most {most} characters")

    def pod_names(self, resource: TrainingJob) -> Iterable[str]:
        """The pod of the TensorBoard."""
        return (tensorboard_name(resource),)


def is_wanted(resource: TrainingJob) -> bool:
    """Return whether a job requests one of this operator at all, validly or not; the template of a Cron has no pods."""
    if is_managed_elsewhere(resource) or cron_policy(resource) is not None:
        return False
    return resource.spec.tensor_board is not None or ANNOTATION in resource.metadata.annotations


def tensorboard_name(resource: TrainingJob) -> str:
    """Return the name of its pod and Service."""
    return f"{resource.metadata.name}-tensorboard-0"


def requested_tensorboard(resource: TrainingJob) -> TensorBoardSpec | None:
    """Return the TensorBoard of a job; None if it requests none. Raises AddonError if the request is invalid."""
    field: rules.TensorBoard | None = resource.spec.tensor_board
    annotation = resource.metadata.annotations.get(ANNOTATION)
    if annotation is None:
        if field is None:
            return None
        return TensorBoardSpec(field.log_dir, field.image, field.ttl_seconds_after_finished, field.resources)
    if field is not None:
        raise _refused(
            f"TensorBoard is requested twice, by spec.tensorBoard and by annotation {ANNOTATION}; remove one"
        )
    return _from_annotation(annotation)


def _from_annotation(text: str) -> TensorBoardSpec:
    place = f"annotation {ANNOTATION}"
    if len(text) > LONGEST_ANNOTATION:
        raise _refused(f"{place}: it has {len(text)} characters; the limit is {LONGEST_ANNOTATION}")
    try:
        config = codec.decode(text, _Config)
    except codec.UNREADABLE as error:
        raise _refused(f"{place}: {error}") from error
    if config.ingress_spec is not None:
        raise _refused(
            f"{place}: ingressSpec is not supported by this version; create an Ingress for the TensorBoard's "
            "Service, port 6006, and remove the key"
        )
    if not config.log_dir:
        raise _refused(f"{place}: logDir is required")
    if len(config.log_dir) > rules.LONGEST_LOG_DIR or len(config.image or "") > rules.LONGEST_IMAGE:
        raise _refused(f"{place}: logDir may have {rules.LONGEST_LOG_DIR} characters, image {rules.LONGEST_IMAGE}")
    lifetime = config.ttl_seconds_after_job_finished or 0
    if not 0 <= lifetime <= MAX_INT32:
        raise _refused(f"{place}: ttlSecondsAfterJobFinished: a number of seconds up to {MAX_INT32}")
    return TensorBoardSpec(config.log_dir, config.image or "", lifetime, asked_at=config.update_timestamp)


def _refused(message: str) -> AddonError:
    return AddonError("TensorBoardInvalid", message)
