"""How many of our objects there are, by kind and state, counted in the caches whenever Prometheus asks.

Every state is shown from the start, with 0 where nobody is in it: the number of series does not depend on the cluster.
A standby counts the same objects as the leader.
"""

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from typing import Any, get_args

from prometheus_client.core import GaugeMetricFamily
from prometheus_client.registry import Collector

from kubedl.api.conditions import is_true
from kubedl.api.inference import INFERENCES, Inference
from kubedl.api.model import MODEL_VERSIONS, ModelVersion, Phase
from kubedl.api.training import State, TrainingJob
from kubedl.runtime.reflector import Reflector

NEW = "New"  # nobody has said anything about it yet


class Population(Collector):
    """Counts when asked: 10,000 jobs take a few milliseconds."""

    def __init__(
        self,
        jobs: Mapping[str, Iterable[TrainingJob]],
        versions: Iterable[ModelVersion],
        inferences: Iterable[Inference],
    ) -> None:
        self._jobs, self._versions, self._inferences = jobs, versions, inferences

    def collect(self) -> Iterator[GaugeMetricFamily]:
        """One sample for each state."""
        jobs = GaugeMetricFamily("kubedl_jobs", "Training jobs, by what they are doing", labels=["kind", "state"])
        for kind, store in self._jobs.items():
            _add(jobs, [kind], (job.status.state for job in store), get_args(State))
        yield jobs
        versions = GaugeMetricFamily("kubedl_model_versions", "Model versions, by how far they are", labels=["phase"])
        _add(versions, [], (one.status.image_build_phase for one in self._versions), get_args(Phase))
        yield versions
        inferences = GaugeMetricFamily("kubedl_inferences", "Inferences, by whether they can answer", labels=["ready"])
        ready = (str(is_true(one.status.conditions, "Ready")).lower() for one in self._inferences)
        _add(inferences, [], ready, ("true", "false"), new=False)
        yield inferences


def population(job_kinds: Iterable[str], reflectors: Iterable[Reflector[Any]]) -> Population:
    """Over the caches of an operator."""
    stores = {reflector.resource.kind: reflector.store for reflector in reflectors}
    jobs = {kind: stores[kind] for kind in job_kinds}
    return Population(jobs, stores[MODEL_VERSIONS.kind], stores[INFERENCES.kind])


def _add(
    family: GaugeMetricFamily,
    labels: list[str],
    found: Iterable[str | None],
    states: Iterable[str],
    *,
    new: bool = True,
) -> None:
    counts = Counter(state or NEW for state in found)
    for state in (*states, NEW) if new else states:
        family.add_metric([*labels, state], counts[state])
