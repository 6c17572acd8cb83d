"""Add-ons, one per file: what a job may ask for beside its replicas. The engine knows this list and nothing more."""

from kubedl.api.training import TrainingJob
from kubedl.training.addons.addon import Addon, AddonError
from kubedl.training.addons.cache import DatasetCache
from kubedl.training.addons.code import CodeSync
from kubedl.training.addons.model import ModelStorage
from kubedl.training.addons.tensorboard import TensorBoards

ADDONS: tuple[Addon, ...] = (CodeSync(), DatasetCache(), ModelStorage(), TensorBoards())


def refusal(made: TrainingJob) -> tuple[str, str] | None:
    """Reason and message if a job asks for an add-on that it cannot have as asked."""
    for addon in ADDONS:
        try:
            addon.check(made)
        except AddonError as error:
            return error.reason, str(error)
    return None
