"""The result of the writes for an Inference."""

from dataclasses import dataclass, field

from kubedl.kube.errors import ApiError, ForbiddenError, InvalidError
from kubedl.runtime.writer import NameConflictError
from kubedl.serving.observed import Problem

KEDA_MISSING = "KedaNotInstalled"
ROUTE, ENTRANCE = "", "/"  # in place of a predictor's name: problems that concern all of them
REFUSALS = (ForbiddenError, InvalidError, NameConflictError)


@dataclass
class ApplyResult:
    """The result."""

    problems: dict[str, Problem] = field(default_factory=dict)  # by predictor, or ROUTE or ENTRANCE
    refusal: ApiError | None = None  # may be resolved by the next attempt
    shares: dict[str, int] = field(default_factory=dict)  # current weight of each Service in the route

    def refused(self, predictor: str, error: ApiError) -> None:
        """The API server rejected the object; transient failures are not reported."""
        self.refusal = self.refusal or error
        if isinstance(error, REFUSALS):
            self.problems.setdefault(predictor, Problem(error.reason or "Refused", error.message))
