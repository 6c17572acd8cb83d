"""The part of the operator that serves models, put together."""

import os
from argparse import ArgumentParser, ArgumentTypeError, Namespace
from collections.abc import Callable
from datetime import datetime
from typing import Any

import aiohttp

from kubedl.api.inference import INFERENCES
from kubedl.api.model import ModelVersion
from kubedl.kube.tls import client_context
from kubedl.kube.watch import Scope
from kubedl.main.proxies import proxies
from kubedl.runtime.controller import Controller
from kubedl.runtime.events import Recorder
from kubedl.runtime.gate import Gate
from kubedl.runtime.manager import Manager
from kubedl.runtime.metrics import Metrics
from kubedl.runtime.reflector import Reflector
from kubedl.runtime.store import Store
from kubedl.runtime.writer import Writer
from kubedl.serving import objects, queries
from kubedl.serving.analysis import GatewayPage, Prometheus, Source
from kubedl.serving.applier import Applier
from kubedl.serving.controller import BY_LABEL, BY_NAMESPACE, GRANTS, Caches, InferenceController
from kubedl.serving.loading import Program
from kubedl.serving.measuring import Measurements
from kubedl.serving.objects import AUTOSCALERS, DEPLOYMENTS, SCALED_OBJECTS, SLICES
from kubedl.serving.provision import Provisioner
from kubedl.serving.status import Place
from kubedl.serving.traffic import HTTP_ROUTES, GatewayRef
from kubedl.wire.core import PODS, SERVICES
from kubedl.wire.meta import Key, ObjectT, Resource

__all__ = ["GRANTS", "add_options", "add_serving"]

WORKERS = 8


def add_options(parser: ArgumentParser) -> None:
    """What an administrator may set."""
    parser.add_argument(
        "--gateway",
        type=_gateway,
        help="NAMESPACE/NAME[/LISTENER] of the Gateway for Inferences that name none (default: none)",
    )
    parser.add_argument(
        "--inference-domain",
        default=Place.domain,
        help="an Inference is asked at {name}.{namespace}.{this}; let it lead to the gateway",
    )
    measured = parser.add_mutually_exclusive_group()
    measured.add_argument("--prometheus", default="", help="address of the Prometheus that rollouts are judged by")
    measured.add_argument("--gateway-metrics", default="", help="address of Traefik's metrics, to judge rollouts by")
    parser.add_argument(
        "--analysis-queries",
        type=_queries,
        metavar="{traefik,istio,FILE}",
        help="what that Prometheus is asked: about a gateway that is known, or as a file of YAML words it "
        "(default: traefik)",
    )


def add_serving(
    manager: Manager,
    recorder: Recorder,
    metrics: Metrics,
    scope: Scope,
    versions: Store[ModelVersion],
    options: Namespace,
    clock: Callable[[], datetime],
) -> None:
    """Run the controller of Inferences. It starts without the caches of kinds that the cluster may not have."""
    ours = Scope(scope.namespace, labels=objects.INFERENCE)
    caches = Caches(
        inferences=manager.cache(INFERENCES, scope, {BY_NAMESPACE: lambda one: one.metadata.namespace}),
        versions=versions,
        deployments=manager.cache(DEPLOYMENTS, ours),
        services=manager.cache(SERVICES, ours),
        autoscalers=manager.cache(AUTOSCALERS, ours),
        slices=manager.cache(SLICES, ours, {BY_LABEL: objects.labelled}),
        pods=manager.cache(PODS, ours, {BY_LABEL: objects.labelled}),
        routes=_reflector(manager, HTTP_ROUTES, ours),
        scaled=_reflector(manager, SCALED_OBJECTS, ours),
    )
    gate = Gate(
        {
            INFERENCES: caches.inferences,
            DEPLOYMENTS: caches.deployments,
            SERVICES: caches.services,
            AUTOSCALERS: caches.autoscalers,
            HTTP_ROUTES: caches.routes.store,
            SCALED_OBJECTS: caches.scaled.store,
        }
    )
    writer, place = Writer(manager.client, gate), Place(options.cluster_domain, options.inference_domain)
    program = Program(options.packer_image, proxies(os.environ), options.omit_run_as_user)
    applier = Applier(manager.client, gate)
    session = aiohttp.ClientSession(connector=aiohttp.TCPConnector(ssl=client_context()))

    def wake(key: Key) -> None:
        controller.queue.add(key)

    measurements = Measurements(_source(session, options), wake)
    handler = InferenceController(
        caches,
        writer,
        applier,
        Provisioner(writer, applier, program=program, place=place),
        recorder,
        place=place,
        gateway=options.gateway,
        measurements=measurements,
        clock=clock,
    )
    controller = Controller(INFERENCES.kind, handler.reconcile, gate=gate, workers=WORKERS, observer=metrics)
    controller.watch(caches.inferences, lambda inference: (inference.metadata.key,))
    controller.watch(versions, handler.inferences_with)
    stores: list[Store[Any]] = [
        caches.deployments,
        caches.services,
        caches.autoscalers,
        caches.slices,
        caches.pods,
    ]
    for store in (*stores, caches.routes.store, caches.scaled.store):
        controller.watch(store, objects.inference_of)
        store.subscribe(applier.forget)
    manager.add(controller, caches.inferences, versions, *stores)
    manager.beside(lambda: _measure(session, measurements))
    metrics.add_queue(controller.name, lambda: len(controller.queue))


async def _measure(session: aiohttp.ClientSession, measurements: Measurements) -> None:
    """The connection lives as long as the operator."""
    async with session:
        await measurements.run()


def _source(session: aiohttp.ClientSession, options: Namespace) -> Source | None:
    """Who is asked about requests."""
    if options.prometheus:
        return Prometheus(session, options.prometheus, options.analysis_queries or queries.TRAEFIK)
    if options.analysis_queries is not None:
        raise SystemExit("kubedl operator: --analysis-queries are for a Prometheus: name it with --prometheus")
    return GatewayPage(session, options.gateway_metrics) if options.gateway_metrics else None


def _reflector(manager: Manager, resource: Resource[ObjectT], scope: Scope) -> Reflector[ObjectT]:
    """It knows, as its store does not, whether the cluster has the kind at all."""
    manager.cache(resource, scope)
    return manager.reflectors[-1]


def _queries(text: str) -> queries.Queries:
    try:
        return queries.chosen(text)
    except ValueError as error:
        raise ArgumentTypeError(str(error)) from error


def _gateway(text: str) -> GatewayRef:
    parts = text.split("/")
    if len(parts) not in (2, 3) or not all(parts):
        raise ArgumentTypeError("NAMESPACE/NAME or NAMESPACE/NAME/LISTENER")
    return GatewayRef(parts[1], parts[0], parts[2] if len(parts) == 3 else "")
