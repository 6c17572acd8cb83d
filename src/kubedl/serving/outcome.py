"""What came of the writes for an Inference."""

from dataclasses import dataclass, field
from datetime import timedelta

from kubedl.kube.errors import ApiError, ForbiddenError, InvalidError
from kubedl.runtime.writer import OccupiedError
from kubedl.serving.sight import Trouble

ROUTE, ENTRANCE = "", "/"  # where a predictor's name could stand: troubles with what is there for all of them
REFUSALS = (ForbiddenError, InvalidError, OccupiedError)


@dataclass
class Outcome:
    """What came of it."""

    troubles: dict[str, Trouble] = field(default_factory=dict)  # by predictor, or ROUTE or ENTRANCE
    refusal: ApiError | None = None  # that may be another one the next time
    shares: dict[str, int] = field(default_factory=dict)  # of each Service in the route, as it is now
    again: list[timedelta] = field(default_factory=list)

    def refused(self, predictor: str, error: ApiError) -> None:
        """The API server says no; a failure that may be over the next time is not told."""
        self.refusal = self.refusal or error
        if isinstance(error, REFUSALS):
            self.troubles.setdefault(predictor, Trouble(error.reason or "Refused", error.message))
