"""The part of the operator that makes images of models, put together."""

import os
from argparse import Namespace
from collections.abc import Callable
from datetime import datetime

from kubedl.api.model import BY_MODEL, MODEL_VERSIONS, MODELS, ModelVersion, model_key
from kubedl.api.model_volumes import CLAIM_NAMESPACE, PERSISTENT_VOLUMES
from kubedl.kube.watch import Scope
from kubedl.main.proxies import proxies
from kubedl.models import build_pod, catalogue, controller, prewarm, released
from kubedl.models.catalogue import ModelController
from kubedl.models.controller import ModelVersionController
from kubedl.models.prewarm import PreWarming
from kubedl.models.released import ReleasedVolumes
from kubedl.runtime.controller import Controller, Reconcile
from kubedl.runtime.events import Recorder
from kubedl.runtime.gate import Gate
from kubedl.runtime.manager import Manager
from kubedl.runtime.metrics import Metrics
from kubedl.runtime.store import Store
from kubedl.runtime.writer import Writer
from kubedl.wire.core import PODS

WORKERS = 8
PACKER_IMAGE = "kubedl"
GRANTS = (*controller.GRANTS, *catalogue.GRANTS, *prewarm.GRANTS, *released.GRANTS)


def add_modelling(
    manager: Manager,
    recorder: Recorder,
    metrics: Metrics,
    scope: Scope,
    options: Namespace,
    clock: Callable[[], datetime],
) -> Store[ModelVersion]:
    """Run the controllers of ModelVersions, Models, images on nodes, and volumes; returns the cache of versions."""

    def run(name: str, reconcile: Reconcile, gate: Gate) -> Controller:
        made = Controller(name, reconcile, gate=gate, workers=WORKERS, observer=metrics)
        metrics.add_queue(name, lambda: len(made.queue))
        return made

    versions = manager.cache(MODEL_VERSIONS, scope, {BY_MODEL: model_key})
    pods = manager.cache(PODS, Scope(scope.namespace, labels=build_pod.VERSION_UID))
    gate = Gate({MODEL_VERSIONS: versions, PODS: pods})
    builds = ModelVersionController(
        controller.Caches(versions, pods),
        Writer(manager.client, gate),
        recorder,
        packer=build_pod.Packer(options.packer_image, proxies(os.environ), options.omit_run_as_user),
        file_systems=options.efs_file_systems,
        clock=clock,
    )
    building = run(MODEL_VERSIONS.kind, builds.reconcile, gate)
    building.watch(versions, lambda version: (version.metadata.key,))
    building.watch(pods, builds.version_of)
    manager.add(building, versions, pods)

    models = manager.cache(MODELS, scope, {catalogue.BY_NAME: lambda model: model.metadata.key}, catalogue.BY_NAME)
    gate = Gate({MODELS: models})
    lists = ModelController(catalogue.Caches(models, versions), Writer(manager.client, gate), recorder)
    listing = run(MODELS.kind, lists.reconcile, gate)
    listing.watch(models, lambda model: (model.metadata.key,))
    listing.watch(versions, lambda version: (model_key(version),))
    manager.add(listing, models, versions)

    gate = Gate({MODEL_VERSIONS: versions})
    pulls = run("pre-warming", PreWarming(versions, Writer(manager.client, gate), clock=clock).reconcile, gate)
    pulls.watch(versions, lambda version: (version.metadata.key,) if prewarm.wished(version) else ())
    manager.add(pulls, versions)

    if not options.efs_file_systems.allowed:
        return versions  # there are no rights to volumes
    ours = f"{CLAIM_NAMESPACE}={scope.namespace}" if scope.namespace else CLAIM_NAMESPACE
    volumes = manager.cache(PERSISTENT_VOLUMES, Scope(labels=ours))
    gate = Gate({PERSISTENT_VOLUMES: volumes})
    removing = run("released volumes", ReleasedVolumes(volumes, Writer(manager.client, gate)).reconcile, gate)
    removing.watch(volumes, lambda volume: (volume.metadata.key,))
    manager.add(removing, volumes)
    return versions
