"""The part of the operator that serves models: its options, and that it can be put together."""

import argparse
import asyncio
import json
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, cast

import aiohttp
import pytest

from kubedl.api.model import MODEL_VERSIONS
from kubedl.runtime.context import Context
from kubedl.runtime.manager import Manager
from kubedl.runtime.metrics import Metrics
from kubedl.serving import setup as serving_setup
from kubedl.serving.rollout.prometheus import Prometheus
from kubedl.serving.rollout.promql import ISTIO, TRAEFIK, Queries
from kubedl.serving.routing import GatewayRef

if TYPE_CHECKING:
    from kubedl.kube.client import Client
    from kubedl.runtime.events import EventRecorder

NOW = datetime(2026, 1, 1, tzinfo=UTC)


def parsed(*arguments: str) -> argparse.Namespace:
    """What the operator was told."""
    parser = argparse.ArgumentParser()
    serving_setup.add_options(parser)
    options = parser.parse_args(arguments)
    options.cluster_domain, options.packer_image = "cluster.local", "packer"
    options.omit_run_as_user, options.packer_pull_secrets, options.namespace = False, (), ""
    return options


@pytest.mark.parametrize(
    ("text", "expected"),
    [("gateways/public", GatewayRef("public", "gateways")), ("a/b/web", GatewayRef("b", "a", "web"))],
)
def test_a_gateway_is_named_with_its_namespace(text: str, expected: GatewayRef) -> None:
    assert parsed(f"--gateway={text}").gateway == expected


@pytest.mark.parametrize("text", ["public", "a/", "/b", "a/b/c/d"])
def test_anything_else_is_no_gateway(text: str, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        parsed(f"--gateway={text}")
    assert "NAMESPACE/NAME" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("arguments", "kind"),
    [((), None), (("--prometheus=http://p",), Prometheus)],
)
async def test_who_measures_is_the_administrators_choice(arguments: tuple[str, ...], kind: type | None) -> None:
    async with aiohttp.ClientSession() as session:
        found = serving_setup._source(session, parsed(*arguments))  # noqa: SLF001 - put together there
    assert (type(found) if found is not None else None) == kind


def test_a_gateways_own_metrics_are_no_source_any_more(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        parsed("--gateway-metrics=http://traefik:9100/metrics")
    assert "--gateway-metrics" in capsys.readouterr().err


@pytest.mark.parametrize(("name", "expected"), [("traefik", TRAEFIK), ("istio", ISTIO)])
def test_questions_for_known_gateways_have_names(name: str, expected: Queries) -> None:
    assert parsed(f"--analysis-queries={name}").analysis_queries == expected


async def test_questions_without_anybody_to_ask_are_refused() -> None:
    async with aiohttp.ClientSession() as session:
        with pytest.raises(SystemExit, match="--prometheus"):
            serving_setup._source(session, parsed("--analysis-queries=istio"))  # noqa: SLF001 - put together there


def test_other_questions_are_a_file(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """One that cannot be used is refused at the start, with what is wrong."""
    place, query = tmp_path / "queries.yaml", 'x{n="$namespace",s="$service"}'
    place.write_text(json.dumps({"requests": query, "errors": query, "p99": query}))
    assert parsed(f"--analysis-queries={place}").analysis_queries == Queries(query, query, query)
    place.write_text(json.dumps({"requests": query, "errors": "up", "p99": query}))
    with pytest.raises(SystemExit):
        parsed(f"--analysis-queries={place}")
    assert "errors: needs $namespace and $service, or $backend" in capsys.readouterr().err


async def test_kinds_that_may_be_missing_are_not_waited_for() -> None:
    """Gateway API and KEDA; all others are."""
    manager = Manager(cast("Client", None))
    versions = manager.informer(MODEL_VERSIONS)
    recorder = cast("EventRecorder", None)
    serving_setup.setup(Context(manager, recorder, Metrics(), parsed(), lambda: NOW), versions)
    [controller] = manager.controllers
    stores = manager._needs[controller]  # noqa: SLF001 - as the manager runs it
    needed = {reflector.resource.plural for reflector in manager.reflectors if reflector.store in stores}
    followed = {reflector.resource.plural for reflector in manager.reflectors}
    assert followed - needed == {"httproutes", "scaledobjects"}
    for companion in manager._companions:  # noqa: SLF001 - as the manager runs them
        task = asyncio.create_task(companion())
        await asyncio.sleep(0)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
