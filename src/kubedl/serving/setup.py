"""Wiring of the serving controller, and its flags."""

import os
from argparse import ArgumentParser, ArgumentTypeError, Namespace

import aiohttp

from kubedl.api.inference import INFERENCES
from kubedl.api.model import ModelVersion
from kubedl.kube.tls import client_context
from kubedl.kube.types.apps import DEPLOYMENTS
from kubedl.kube.types.autoscaling import AUTOSCALERS, SCALED_OBJECTS
from kubedl.kube.types.core import PODS, SERVICES
from kubedl.kube.types.discovery import ENDPOINT_SLICES
from kubedl.kube.types.meta import ObjectKey
from kubedl.podspec.proxy_environment import proxy_variables
from kubedl.runtime.context import Context
from kubedl.runtime.reflector import Reflector
from kubedl.runtime.server_side_apply import Applier
from kubedl.serving import naming
from kubedl.serving.controller import BY_LABEL, BY_NAMESPACE, InferenceController, Informers
from kubedl.serving.naming import APPLIED
from kubedl.serving.plan import Settings
from kubedl.serving.rollout import promql
from kubedl.serving.rollout.analysis_runner import AnalysisRunner
from kubedl.serving.rollout.prometheus import MetricsSource, Prometheus
from kubedl.serving.routing import HTTP_ROUTES, GatewayRef
from kubedl.serving.status import Endpoints
from kubedl.serving.workload.model_init_container import Program

WORKERS = 8


def add_options(parser: ArgumentParser) -> None:
    """Add the flags."""
    parser.add_argument(
        "--gateway",
        type=_gateway,
        help="NAMESPACE/NAME[/LISTENER] of the default Gateway of Inferences (default: none)",
    )
    parser.add_argument(
        "--inference-domain",
        default=Endpoints.domain,
        help="domain of Inferences, whose host names are {name}.{namespace}.{this}; point its DNS at the gateway",
    )
    parser.add_argument("--prometheus", default="", help="URL of the Prometheus for rollout analysis")
    parser.add_argument(
        "--analysis-queries",
        type=_queries,
        metavar="{traefik,istio,FILE}",
        help="PromQL queries of rollout analysis: of a known gateway, or from a YAML file (default: traefik)",
    )


def setup(context: Context, versions: Reflector[ModelVersion]) -> None:
    """Run the Inference controller. It starts without the caches of kinds that the cluster may not serve."""
    options, informer, ours = context.options, context.manager.informer, context.scope(naming.INFERENCE)
    inferences = informer(INFERENCES, context.scope(), {BY_NAMESPACE: lambda one: one.metadata.namespace})
    deployments, services = informer(DEPLOYMENTS, ours), informer(SERVICES, ours)
    autoscalers = informer(AUTOSCALERS, ours)
    slices = informer(ENDPOINT_SLICES, ours, {BY_LABEL: naming.labelled})
    pods = informer(PODS, ours, {BY_LABEL: naming.labelled})
    routes, scaled = informer(HTTP_ROUTES, ours), informer(SCALED_OBJECTS, ours)
    builder = context.controller().for_(inferences)
    builder.owns(deployments, services, autoscalers, keys=naming.inference_of)
    builder.owns(routes, scaled, keys=naming.inference_of, optional=True)
    builder.watches(slices, naming.inference_of).watches(pods, naming.inference_of)
    applier = Applier(context.manager.client, builder.expectations, APPLIED)
    for store in (deployments.store, services.store, autoscalers.store, routes.store, scaled.store):
        store.subscribe(applier.forget)
    program = Program(
        options.packer_image, proxy_variables(os.environ), options.omit_run_as_user, options.packer_pull_secrets
    )
    session = aiohttp.ClientSession(connector=aiohttp.TCPConnector(ssl=client_context()))

    def wake(key: ObjectKey) -> None:
        controller.queue.add(key)

    measurements = AnalysisRunner(_source(session, options), wake)
    handler = InferenceController(
        Informers(
            inferences.store,
            versions.store,
            deployments.store,
            services.store,
            autoscalers.store,
            slices.store,
            pods.store,
            routes,
            scaled,
        ),
        builder.writer,
        applier,
        context.recorder,
        settings=Settings(program, Endpoints(options.cluster_domain, options.inference_domain)),
        gateway=options.gateway,
        measurements=measurements,
        clock=context.clock,
    )
    controller = builder.watches(versions, handler.inferences_with).complete(handler.reconcile, workers=WORKERS)
    context.manager.add_runnable(lambda: _add_analysis(session, measurements))


async def _add_analysis(session: aiohttp.ClientSession, measurements: AnalysisRunner) -> None:
    """Keep the session open while the operator runs."""
    async with session:
        await measurements.run()


def _source(session: aiohttp.ClientSession, options: Namespace) -> MetricsSource | None:
    """Return the configured metrics source."""
    if options.prometheus:
        return Prometheus(session, options.prometheus, options.analysis_queries or promql.TRAEFIK)
    if options.analysis_queries is not None:
        raise SystemExit("kubedl operator: --analysis-queries requires --prometheus")
    return None


def _queries(text: str) -> promql.Queries:
    try:
        return promql.chosen(text)
    except ValueError as error:
        raise ArgumentTypeError(str(error)) from error


def _gateway(text: str) -> GatewayRef:
    parts = text.split("/")
    if len(parts) not in (2, 3) or not all(parts):
        raise ArgumentTypeError("NAMESPACE/NAME or NAMESPACE/NAME/LISTENER")
    return GatewayRef(parts[1], parts[0], parts[2] if len(parts) == 3 else "")
