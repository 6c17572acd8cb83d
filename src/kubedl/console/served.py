"""Which predictors run which versions of models, and with which share of the traffic. Pure."""

from collections.abc import Iterable, Iterator
from typing import NamedTuple

from kubedl.api.inference import PredictorStatus
from kubedl.api.inference_rollout import Rollout
from kubedl.console.object_kinds import ShownInference
from kubedl.console.wire_models import Serving
from kubedl.kube.types.meta import ObjectKey
from kubedl.serving.predictor_plan import strategy_of
from kubedl.serving.rollout.state_machine import State, share

WHOLE = 100
UNDER_WAY = ("Starting", "Stepping", "Promoting")
Served = dict[ObjectKey, list[Serving]]  # by the key of a version


def by_version(services: Iterable[ShownInference]) -> Served:
    """Return which predictors run which versions."""
    found: Served = {}
    for service in services:
        namespace, name = service.metadata.key
        for one in service.status.predictor_statuses:
            for run in runs(one, service.spec.rollout):
                if run.version:
                    serving = Serving(service=name, predictor=one.name, percent=run.percent, canary=run.canary)
                    found.setdefault(ObjectKey(namespace, run.version), []).append(serving)
    return found


class Run(NamedTuple):
    """A version that a predictor runs, and its share of the service's traffic; None: not known."""

    version: str
    percent: int | None
    canary: bool


def runs(one: PredictorStatus, steps: Rollout | None) -> Iterator[Run]:
    """Yield each version of a predictor: during a rollout two.

    While the pods of a predictor are replaced, the share follows the number of ready pods, which is not in the status.
    """
    rollout = one.rollout
    if rollout is None or not rollout.candidate or rollout.phase not in UNDER_WAY:
        yield Run(one.model_version, one.traffic_percent, canary=False)
    elif rollout.phase == "Promoting" or steps is None or not steps.steps:
        yield Run(rollout.stable, None, canary=False)
        yield Run(rollout.candidate, None, canary=True)
    else:
        part = share(strategy_of(steps), State(rollout.phase, step=rollout.step))
        canary = round(one.traffic_percent * part / WHOLE)
        yield Run(rollout.stable, one.traffic_percent - canary, canary=False)
        yield Run(rollout.candidate, canary, canary=True)
