"""A TensorBoard beside the job, as a field or by the annotation of the first KubeDL: read and checked.

The board is no replica: `board_controller` makes and removes it, and nothing that happens to it changes the job.
"""

from dataclasses import dataclass
from datetime import datetime
from typing import Annotated, Any

import msgspec
from msgspec import Meta

from kubedl.api import training_addons as rules
from kubedl.api.training import MOST, TrainingJob
from kubedl.training.addons.addon import Addon, AddonError
from kubedl.wire import codec

ANNOTATION = "kubedl.io/tensorboard-config"
LONGEST_ANNOTATION = 65_536  # characters


@dataclass(frozen=True)
class Board:
    """What a job asks for."""

    log_dir: str
    image: str
    lifetime: int  # seconds after the end of the job
    resources: codec.Opaque | None = None
    asked_at: datetime | None = None  # a later wish lives as long as one that was there at the end


class _Config(msgspec.Struct, frozen=True, rename="camel", forbid_unknown_fields=True):
    """The annotation, as the first KubeDL read it."""

    log_dir: str | None = None
    ttl_seconds_after_job_finished: int | None = None
    image: str | None = None
    ingress_spec: dict[str, Any] | None = None
    update_timestamp: Annotated[datetime, Meta(tz=True)] | None = None


class TensorBoards(Addon):
    """The add-on. Replicas' pods get nothing from it."""

    def check(self, made: TrainingJob) -> None:
        """Also whether its name can be given."""
        if wish(made) is not None and len(made.metadata.name) > rules.LONGEST_BOARD_NAME:
            most = rules.LONGEST_BOARD_NAME
            raise _refused(f"the name of a job with a TensorBoard may have at most {most} characters")


def is_wanted(made: TrainingJob) -> bool:
    """Whether a job asks for one at all, in a way that can be understood or not."""
    return made.spec.tensor_board is not None or ANNOTATION in made.metadata.annotations


def name_of(made: TrainingJob) -> str:
    """Of its pod and its Service."""
    return f"{made.metadata.name}-tensorboard-0"


def wish(made: TrainingJob) -> Board | None:
    """The TensorBoard that a job asks for; None if it asks for none. Raises AddonError if it cannot be had."""
    field: rules.TensorBoard | None = made.spec.tensor_board
    annotation = made.metadata.annotations.get(ANNOTATION)
    if annotation is None:
        if field is None:
            return None
        return Board(field.log_dir, field.image, field.ttl_seconds_after_finished, field.resources)
    if field is not None:
        raise _refused(
            f"TensorBoard is asked for twice, by spec.tensorBoard and by annotation {ANNOTATION}; remove one"
        )
    return _from_annotation(annotation)


def _from_annotation(text: str) -> Board:
    place = f"annotation {ANNOTATION}"
    if len(text) > LONGEST_ANNOTATION:
        raise _refused(f"{place}: it has {len(text)} characters, and may have {LONGEST_ANNOTATION}")
    try:
        config = codec.decode(text, _Config)
    except codec.UNREADABLE as error:
        raise _refused(f"{place}: {error}") from error
    if config.ingress_spec is not None:
        raise _refused(
            f"{place}: ingressSpec: this version makes no Ingress; make one for the TensorBoard's Service, port 6006, "
            "and remove the key"
        )
    if not config.log_dir:
        raise _refused(f"{place}: logDir: where the logs are")
    if len(config.log_dir) > rules.LONGEST_LOG_DIR or len(config.image or "") > rules.LONGEST_IMAGE:
        raise _refused(f"{place}: logDir may have {rules.LONGEST_LOG_DIR} characters, image {rules.LONGEST_IMAGE}")
    lifetime = config.ttl_seconds_after_job_finished or 0
    if not 0 <= lifetime <= MOST:
        raise _refused(f"{place}: ttlSecondsAfterJobFinished: a number of seconds up to {MOST}")
    return Board(config.log_dir, config.image or "", lifetime, asked_at=config.update_timestamp)


def _refused(message: str) -> AddonError:
    return AddonError("TensorBoardInvalid", message)
