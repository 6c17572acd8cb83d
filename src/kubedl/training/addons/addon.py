"""What every add-on is: something a job may ask for beside its replicas, which can be refused with a reason."""

from typing import Any

from kubedl.api.pod_template import TemplateError
from kubedl.api.training import TrainingJob
from kubedl.training.job import Job
from kubedl.training.snapshot import Settings

Body = dict[str, Any]


class AddonError(TemplateError):
    """What was asked for cannot be done; the message names the place and what to do."""

    def __init__(self, reason: str, message: str) -> None:
        super().__init__(message)
        self.reason = reason


class Addon:
    """One add-on. A job that does not ask for it costs nothing."""

    def check(self, made: TrainingJob) -> None:
        """Raises AddonError if the job asks for what cannot be done."""
        raise NotImplementedError

    def complete(self, pod: Body, job: Job, settings: Settings) -> None:
        """Add to a replica's pod what it needs for it. Raises AddonError if that cannot be done."""
