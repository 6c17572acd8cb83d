"""Wiring of the model controllers."""

import os
from argparse import ArgumentParser, ArgumentTypeError

from kubedl.api.model import BY_MODEL, MODEL_VERSIONS, MODELS, ModelVersion, model_key
from kubedl.kube.types.core import PODS
from kubedl.kube.watch import ListOptions
from kubedl.models import build_pod, model_controller, prepull_controller, version_controller
from kubedl.models.model_controller import ModelController
from kubedl.models.prepull_controller import PrePullController
from kubedl.models.version_controller import ModelVersionController
from kubedl.models.volume_gc import VolumeGarbageCollector
from kubedl.podspec.model_volumes import CLAIM_NAMESPACE, PERSISTENT_VOLUMES
from kubedl.podspec.proxy_environment import proxy_variables
from kubedl.podspec.registry_access import parse_pull_secrets
from kubedl.runtime.context import Context
from kubedl.runtime.reflector import Reflector

WORKERS = 8
PACKER_IMAGE = "kubedl"


def add_options(parser: ArgumentParser) -> None:
    """Add the flags."""
    parser.add_argument(
        "--packer-image",
        default=PACKER_IMAGE,
        help="image of the model packer and loader; use the version of the operator",
    )
    parser.add_argument(
        "--packer-pull-secrets",
        type=_pull_secrets,
        default="",
        help="pull secrets for the packer image, comma-separated; every namespace with models needs Secrets of these "
        "names (default: those of its ServiceAccount)",
    )


def setup(context: Context) -> Reflector[ModelVersion]:
    """Run the controllers of ModelVersions, Models, pre-pull and volumes; returns the informer of versions."""
    versions = context.manager.informer(MODEL_VERSIONS, context.scope(), {BY_MODEL: model_key})
    _setup_versions(context, versions)
    _setup_models(context, versions)
    _setup_prepulls(context, versions)
    if context.options.efs_file_systems.allowed:  # otherwise there are no permissions for PersistentVolumes
        _setup_volumes(context)
    return versions


def _setup_versions(context: Context, versions: Reflector[ModelVersion]) -> None:
    options = context.options
    pods = context.manager.informer(PODS, context.scope(build_pod.VERSION_UID))
    builder = context.controller().for_(versions).owns(pods)
    handler = ModelVersionController(
        version_controller.Informers(versions.store, pods.store),
        builder.writer,
        context.recorder,
        packer=build_pod.Packer(
            options.packer_image,
            proxy_variables(os.environ),
            options.omit_run_as_user,
            options.packer_pull_secrets,
        ),
        file_systems=options.efs_file_systems,
        clock=context.clock,
    )
    builder.complete(handler.reconcile, workers=WORKERS)


def _setup_models(context: Context, versions: Reflector[ModelVersion]) -> None:
    by_name = {model_controller.BY_NAME: lambda model: model.metadata.key}
    models = context.manager.informer(MODELS, context.scope(), by_name, remember=model_controller.BY_NAME)
    builder = context.controller().for_(models).watches(versions, lambda version: (model_key(version),))
    informers = model_controller.Informers(models.store, versions.store)
    builder.complete(ModelController(informers, builder.writer, context.recorder).reconcile, workers=WORKERS)


def _setup_prepulls(context: Context, versions: Reflector[ModelVersion]) -> None:
    builder = context.controller("pre-warming").for_(versions, prepull_controller.versions_to_pull)
    handler = PrePullController(versions.store, builder.writer, clock=context.clock)
    builder.complete(handler.reconcile, workers=WORKERS)


def _setup_volumes(context: Context) -> None:
    namespace = context.options.namespace
    ours = f"{CLAIM_NAMESPACE}={namespace}" if namespace else CLAIM_NAMESPACE
    volumes = context.manager.informer(PERSISTENT_VOLUMES, ListOptions(labels=ours))
    builder = context.controller("released volumes").for_(volumes)
    builder.complete(VolumeGarbageCollector(volumes.store, builder.writer).reconcile, workers=WORKERS)


def _pull_secrets(text: str) -> tuple[str, ...]:
    try:
        return parse_pull_secrets(text)
    except ValueError as error:
        raise ArgumentTypeError(str(error)) from error
