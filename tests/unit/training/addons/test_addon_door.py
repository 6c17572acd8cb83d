"""An add-on that the engine has never heard of: it gates pods, owns an object, changes pods and reports."""

import asyncio
from collections.abc import Iterable, Iterator, Sequence

import pytest

from kubedl.api.conditions import find, is_true
from kubedl.api.training import TrainingJob
from kubedl.kube.types.core import PODS
from kubedl.kube.types.meta import ObjectMeta, Record, Resource
from kubedl.training.addons import registry
from kubedl.training.addons.base import Addon, AddonError, Body, Reason
from kubedl.training.job import Job
from kubedl.training.kind import AuxiliaryObject
from kubedl.training.observed import ObservedReplica, Settings
from kubedl.training.plan import Gate, PlanBuilder
from tests.training_builders import JobBuilder, tf_job
from tests.unit.training.test_controller import Stage

ASKED, GRANTED = "test.kubedl.io/licenses", "test.kubedl.io/granted"


class ConfigMap(Record, frozen=True):
    metadata: ObjectMeta = ObjectMeta()


CONFIG_MAPS = Resource(ConfigMap, "ConfigMap", "configmaps")


class Licenses(Addon):
    """Pods wait until someone grants the licenses; a ConfigMap holds the number, each pod has a label."""

    condition, condition_passed = "WaitingForLicense", "Granted"

    def is_requested(self, resource: TrainingJob) -> bool:
        return ASKED in resource.metadata.annotations

    def validate(self, resource: TrainingJob) -> None:
        if not resource.metadata.annotations[ASKED].isdecimal():
            raise AddonError("LicensesInvalid", f"annotation {ASKED}: a number")

    def gate(self, builder: PlanBuilder) -> Gate | None:
        granted = GRANTED in builder.observed.job.resource.metadata.annotations
        return None if granted else Gate("NotGranted", "2 licenses are not granted yet")

    def objects(self, job: Job, settings: Settings) -> Iterable[AuxiliaryObject]:
        content = {"data": {"licenses": job.resource.metadata.annotations[ASKED]}}
        yield AuxiliaryObject(CONFIG_MAPS, f"{job.name}-licenses", content)

    def mutate_pod(self, pod: Body, job: Job, settings: Settings) -> None:
        pod["metadata"]["labels"]["licensed"] = "yes"

    def observe_status(self, builder: PlanBuilder, replicas: Sequence[ObservedReplica]) -> Reason | None:
        running = sum(seen.current is not None for seen in replicas)
        builder.condition("Licensed", running > 0, "LicensesInUse", f"{running} licenses are in use")
        return None


@pytest.fixture(autouse=True)
def _registered(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(registry, "ADDONS", (*registry.ADDONS, Licenses()))


@pytest.fixture
def runner() -> Iterator[asyncio.Runner]:
    with asyncio.Runner() as runner:
        yield runner


def asking(**annotations: str) -> JobBuilder:
    return tf_job("mnist").workers(2).with_metadata(annotations={ASKED: "2", **annotations})


def test_pods_wait_and_the_job_says_for_what(runner: asyncio.Runner) -> None:
    stage = Stage(asking(), runner)
    assert not [write for write in stage.look() if write.startswith("create pods")]
    assert is_true(stage.job.status.conditions, "WaitingForLicense")
    ready = find(stage.job.status.conditions, "PodsReady")
    assert ready is not None
    assert (ready.reason, "2 licenses are not granted yet" in ready.message) == ("WaitingForLicense", True)
    assert stage.job.status.message == "WaitingForLicense: 2 licenses are not granted yet"


def test_what_it_owns_comes_before_the_pods_and_belongs_to_the_job(runner: asyncio.Runner) -> None:
    stage = Stage(asking(**{GRANTED: "yes"}), runner)
    assert stage.look() == [
        "create configmaps mnist-licenses",
        "create services mnist",
        "create pods mnist-worker-0",
        "create pods mnist-worker-1",
        "patch",
    ]
    (owned,) = stage.world.api.all(CONFIG_MAPS)
    assert owned.metadata.controller is not None
    assert owned.metadata.controller.uid == stage.job.metadata.uid


def test_it_changes_pods_and_reports_what_they_do(runner: asyncio.Runner) -> None:
    stage = Stage(asking(**{GRANTED: "yes"}), runner)
    stage.look()
    assert {pod.metadata.labels.get("licensed") for pod in stage.world.api.all(PODS)} == {"yes"}
    stage.look()
    condition = find(stage.job.status.conditions, "Licensed")
    assert condition is not None
    assert condition.message == "2 licenses are in use"


def test_a_request_that_cannot_be_met_fails_the_job(runner: asyncio.Runner) -> None:
    stage = Stage(asking(**{ASKED: "many"}), runner)
    assert stage.look() == ["patch"]
    assert stage.job.status.reason == "LicensesInvalid"


def test_a_job_that_does_not_ask_has_none_of_it(runner: asyncio.Runner) -> None:
    stage = Stage(tf_job("mnist").workers(1), runner)
    assert stage.look() == ["create services mnist", "create pods mnist-worker-0", "patch"]
