"""The add-ons that the engine calls, in this order."""

from collections.abc import Iterator

from kubedl.api.training import TrainingJob
from kubedl.kube.types.core import Pod
from kubedl.training.addons.base import Addon, AddonError, Reason
from kubedl.training.addons.dataset_cache import DatasetCache
from kubedl.training.addons.git_sync import CodeSync
from kubedl.training.addons.model_storage import ModelStorage
from kubedl.training.elastic.checkpoint_addon import CheckpointOnRequest
from kubedl.training.host_network.addon import HostNetwork
from kubedl.training.observed import Observed
from kubedl.training.placement.addon import PlacementWishes
from kubedl.training.spot.addon import SpotPools
from kubedl.training.tensorboard.spec import TensorBoardAddon

ADDONS: tuple[Addon, ...] = (
    CodeSync(),
    DatasetCache(),
    ModelStorage(),
    PlacementWishes(),
    TensorBoardAddon(),
    HostNetwork(),
    CheckpointOnRequest(),
    SpotPools(),
)


def requested(resource: TrainingJob) -> tuple[Addon, ...]:
    """The add-ons that a job asks for."""
    return tuple(addon for addon in ADDONS if addon.is_requested(resource))


def refusal(resource: TrainingJob) -> Reason | None:
    """Reason and message if a job asks for an add-on that it cannot have as asked."""
    for addon in requested(resource):
        try:
            addon.validate(resource)
        except AddonError as error:
            return error.reason, str(error)
    return None


def conditions() -> Iterator[str]:
    """The conditions that report closed gates."""
    return (addon.condition for addon in ADDONS if addon.condition)


def remarks() -> Iterator[str]:
    """The conditions that hold no pods back."""
    return (addon.remark for addon in ADDONS if addon.remark)


def pod_names(resource: TrainingJob) -> set[str]:
    """Pods of the job that are no replicas."""
    return {name for addon in ADDONS for name in addon.pod_names(resource)}


def helpers(observed: Observed) -> Iterator[Pod]:
    """Pods that are no replicas, and go when the job is suspended or has ended."""
    if observed.others:  # most jobs have none
        for addon in ADDONS:
            yield from addon.helpers(observed)
