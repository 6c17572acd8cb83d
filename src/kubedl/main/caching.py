"""The part of the operator that keeps datasets near pods, put together."""

from argparse import Namespace
from collections.abc import Callable
from datetime import datetime

from kubedl.api.cache import CACHE_BACKENDS, CacheBackend
from kubedl.api.training import TrainingJob
from kubedl.cache import fluid
from kubedl.cache.controller import CacheController, Caches
from kubedl.kube.watch import Scope
from kubedl.runtime.controller import Controller
from kubedl.runtime.events import Recorder
from kubedl.runtime.gate import Gate
from kubedl.runtime.manager import Manager
from kubedl.runtime.metrics import Metrics
from kubedl.runtime.reflector import Reflector
from kubedl.runtime.store import Store
from kubedl.runtime.writer import Writer
from kubedl.wire.meta import ObjectT, Resource

WORKERS = 8

Followed = dict[Resource[TrainingJob], Reflector[TrainingJob]]


def add_caching(
    manager: Manager,
    recorder: Recorder,
    metrics: Metrics,
    backends: Store[CacheBackend],
    jobs: Followed,
    options: Namespace,
    clock: Callable[[], datetime],
) -> None:
    """Run the controller of CacheBackends. It starts without the caches of kinds that the cluster may not have."""
    scope = Scope(options.namespace)
    claims = manager.cache(fluid.CLAIMS, scope)
    datasets = _reflector(manager, fluid.DATASETS, scope)
    runtimes = {resource: _reflector(manager, resource, scope) for resource in fluid.RUNTIMES}
    gate = Gate(
        {
            CACHE_BACKENDS: backends,
            fluid.DATASETS: datasets.store,
            **{resource: source.store for resource, source in runtimes.items()},
        }
    )
    caches = Caches(backends, claims, datasets, runtimes, jobs)
    handler = CacheController(
        caches, Writer(manager.client, gate), recorder, host_paths=options.cache_host_paths, clock=clock
    )
    controller = Controller(CACHE_BACKENDS.kind, handler.reconcile, gate=gate, workers=WORKERS, observer=metrics)
    controller.watch(backends, lambda backend: (backend.metadata.key,))
    controller.watch(claims, handler.backend_of)
    controller.watch(datasets.store, handler.backend_of)
    for source in runtimes.values():
        controller.watch(source.store, handler.backend_of)
    for followed in jobs.values():
        controller.watch(followed.store, handler.backend_for)
    manager.add(controller, backends, claims)
    metrics.add_queue(controller.name, lambda: len(controller.queue))


def _reflector(manager: Manager, resource: Resource[ObjectT], scope: Scope) -> Reflector[ObjectT]:
    """It knows, as its store does not, whether the cluster has the kind at all."""
    manager.cache(resource, scope)
    return manager.reflectors[-1]
