"""The operator is put together from the parts of its features."""

import asyncio
from collections.abc import Iterator
from contextlib import suppress
from typing import TYPE_CHECKING, cast

import pytest
import structlog

from kubedl.entrypoints import operator
from kubedl.entrypoints.process import configure_log
from kubedl.kube.errors import ApiError
from kubedl.runtime.context import Context
from kubedl.runtime.manager import Manager
from kubedl.runtime.metrics import Metrics
from kubedl.training.kinds import all_kinds
from tests.training_builders import NOW

if TYPE_CHECKING:
    from kubedl.kube.client import Client
    from kubedl.runtime.events import EventRecorder

OTHERS = {
    "CacheBackend": {"CacheBackend", "PersistentVolumeClaim"},
    "Cron": {"Cron"},
    "LocalQueue": set[str](),
    "ModelVersion": {"ModelVersion", "Pod"},
    "Model": {"Model", "ModelVersion"},
    "Scaler": {"ScaleIn", "ScaleOut"},
    "pre-warming": {"ModelVersion"},
    "Inference": {
        "Inference",
        "ModelVersion",
        "Deployment",
        "Service",
        "HorizontalPodAutoscaler",
        "EndpointSlice",
        "Pod",
    },
}


def needed(manager: Manager) -> dict[str, set[str]]:
    """By controller: the kinds whose caches it waits for."""
    return {
        controller.name: {one.resource.kind for one in manager.reflectors if one.store in stores}
        for controller, stores in manager._needs.items()  # noqa: SLF001 - as the manager runs them
    }


class NoServer:
    """An API server that does not answer."""

    async def call(self, *_: object) -> bytes:
        raise ApiError(503, "ServiceUnavailable", "not yet")


async def put_together(*arguments: str) -> tuple[Manager, Metrics]:
    """As `kubedl operator` would with these flags."""
    manager, metrics = Manager(cast("Client", NoServer())), Metrics()
    options = operator.parser().parse_args(arguments)
    recorder = cast("EventRecorder", None)
    operator._setup(Context(manager, recorder, metrics, options, lambda: NOW))  # noqa: SLF001 - as it starts
    for companion in manager._companions:  # noqa: SLF001 - which close what they have opened
        task = asyncio.create_task(companion())
        await asyncio.sleep(0)
        task.cancel()
        with suppress(asyncio.CancelledError):
            await task
    return manager, metrics


async def test_every_controller_waits_for_the_caches_that_it_decides_by() -> None:
    """A cache that it does not wait for is of a kind that the cluster may not have."""
    manager, _ = await put_together()
    jobs = {kind.kind: {kind.kind, "Pod", "Service", "Node"} for kind in all_kinds()}
    boards = {f"{kind.kind} TensorBoard": {kind.kind, "Pod", "Service"} for kind in all_kinds()}
    queued = {f"{kind.kind} Workload": {kind.kind, "Pod"} for kind in all_kinds()}
    scheduled = {f"{kind.kind} Cron": {kind.kind, "Cron"} for kind in all_kinds()}
    assert needed(manager) == {**jobs, **boards, **queued, **scheduled, **OTHERS}


async def test_without_a_cluster_role_nobody_looks_at_nodes() -> None:
    manager, _ = await put_together("--namespace=team", "--without-cluster-role")
    assert "Node" not in {one.resource.kind for one in manager.reflectors}
    assert needed(manager)["PyTorchJob"] == {"PyTorchJob", "Pod", "Service"}


async def test_volumes_are_looked_at_where_models_may_lie_in_efs() -> None:
    manager, _ = await put_together("--efs-file-systems=fs-1")
    assert needed(manager)["released volumes"] == {"PersistentVolume"}


async def test_every_queue_and_every_cache_is_among_the_metrics() -> None:
    manager, metrics = await put_together()
    page = metrics.render().decode()
    assert all(f'kubedl_queue_depth{{controller="{one.name}"}} 0.0' in page for one in manager.controllers)
    assert all(f'kubedl_cache_objects{{resource="{one.resource.name}"}} 0.0' in page for one in manager.reflectors)


@pytest.fixture
def logging() -> Iterator[None]:
    """Other tests have the log as it was."""
    before = structlog.get_config()
    yield
    structlog.configure(**before)


@pytest.mark.usefixtures("logging")
@pytest.mark.parametrize(
    ("level", "written"),
    [("debug", ["debug", "info", "warning", "error"]), ("info", ["info", "warning", "error"]), ("error", ["error"])],
)
def test_the_log_has_the_level_of_its_flag_and_above(
    level: str, written: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    options = operator.parser().parse_args([f"--log-level={level}"])
    configure_log(options.log_format, options.log_level)
    log = structlog.get_logger()
    for name in operator.LOG_LEVELS:
        getattr(log, name)("said")
    assert [
        line.partition('"level": "')[2].partition('"')[0] for line in capsys.readouterr().err.splitlines()
    ] == written


def test_pull_secrets_are_names_each_once() -> None:
    given = operator.parser().parse_args(["--packer-pull-secrets=hub, mirror.example,hub"])
    assert given.packer_pull_secrets == ("hub", "mirror.example")
    assert operator.parser().parse_args([]).packer_pull_secrets == ()


@pytest.mark.parametrize("text", ["Hub", "hub/x", "hub cred", "-hub", "h" * 254, "a..b"])
def test_what_is_no_name_of_a_secret_is_refused_at_the_start(text: str, capsys: pytest.CaptureFixture[str]) -> None:
    """Otherwise the API server would reject every build pod."""
    with pytest.raises(SystemExit):
        operator.parser().parse_args([f"--packer-pull-secrets={text}"])
    assert "is not the name of a Secret" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["--workers=0"], "--workers must be at least 1"),
        (["--lease-seconds=5"], "the renew deadline into the duration"),
        (["--lease-retry-seconds=6"], "two retry periods must fit into the renew deadline"),
    ],
)
def test_numbers_with_which_it_could_not_work_are_refused_at_the_start(
    arguments: list[str], said: str, capsys: pytest.CaptureFixture[str]
) -> None:
    """Without workers it would be ready and run no job; a bad lease ended it with a traceback."""
    with pytest.raises(SystemExit):
        operator.main(arguments)
    assert said in capsys.readouterr().err


def test_an_address_in_use_is_said_in_a_line(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """On a laptop, many programs listen at 8080."""

    async def serve(_: object) -> None:
        raise OSError(98, "address already in use")

    monkeypatch.setattr(operator, "_serve", serve)
    for name in ("configure_log", "collect_seldom"):  # of the whole process
        monkeypatch.setattr(operator, name, lambda *_: None)
    assert operator.main([]) == 2
    assert capsys.readouterr().err == "kubedl operator: [Errno 98] address already in use\n"
