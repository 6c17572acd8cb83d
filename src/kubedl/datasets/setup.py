"""Wiring of the dataset cache controller."""

from collections.abc import Mapping

from kubedl.api.cachebackend import CacheBackend
from kubedl.api.training import TrainingJob
from kubedl.datasets import fluid_objects
from kubedl.datasets.controller import CacheBackendController, Informers
from kubedl.kube.types.meta import Resource
from kubedl.runtime.context import Context
from kubedl.runtime.reflector import Reflector

WORKERS = 8

Jobs = Mapping[Resource[TrainingJob], Reflector[TrainingJob]]


def setup(context: Context, backends: Reflector[CacheBackend], jobs: Jobs) -> None:
    """Run the CacheBackend controller. It starts without the caches of kinds that the cluster may not serve."""
    manager, scope = context.manager, context.scope()
    claims = manager.informer(fluid_objects.CLAIMS, scope)
    datasets = manager.informer(fluid_objects.DATASETS, scope)
    runtimes = {resource: manager.informer(resource, scope) for resource in fluid_objects.RUNTIMES}
    builder = context.controller().for_(backends)
    handler = CacheBackendController(
        Informers(backends.store, claims.store, datasets, runtimes, jobs),
        builder.writer,
        context.recorder,
        host_paths=context.options.cache_host_paths,
        clock=context.clock,
    )
    builder.owns(datasets, *runtimes.values(), keys=handler.backend_of, optional=True)
    builder.watches(claims, handler.backend_of)
    for informer in jobs.values():
        builder.watches(informer, handler.backend_for, optional=True)
    builder.complete(handler.reconcile, workers=WORKERS)
