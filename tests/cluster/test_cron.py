"""Crons on a real API server: what is refused, and runs that are due at once."""

from collections.abc import Iterator
from typing import Any

import pytest

from harness.drivers.environment import Stage
from harness.drivers.proxied_operator import ProxiedOperator
from harness.fakes.scheduled import PlayedCron
from harness.scenarios.driver import ScenarioDriver, job_body
from testbed.api import ApiError, Object

TRY = "dryRun=All&fieldValidation=Strict"
JOBS = "/apis/training.kubedl.io/v1alpha1/namespaces/{}/pytorchjobs"


@pytest.fixture
def world(ready_stage: Stage, namespace: str) -> Iterator[ScenarioDriver]:
    """A namespace that an operator serves."""
    arguments = ("--no-leader-election", "--namespace", namespace)
    with ProxiedOperator(ready_stage, namespace, arguments) as operator:
        operator.start()
        yield ScenarioDriver(ready_stage.watcher, namespace, ready_stage.node, tend=operator.insist)


def workload(**fields: object) -> Object:
    """A template with a workload."""
    return {"template": {"apiVersion": "training.kubedl.io/v1alpha1", "kind": "PyTorchJob", "workload": fields}}


@pytest.mark.parametrize(
    ("spec", "text"),
    [
        ({"schedule": "* * * *"}, "spec.schedule: Invalid value: five fields"),
        ({"schedule": "@every 1h"}, "spec.schedule: Invalid value: @every has no fixed times"),
        ({"schedule": "CRON_TZ=UTC 0 5 * * *"}, "spec.schedule: Invalid value: set the time zone in timeZone"),
        ({"timeZone": "Europe/Berlin; rm"}, "spec.timeZone: Invalid value: the name of a time zone"),
        ({"concurrencyPolicy": "Queue"}, 'Unsupported value: "Queue"'),
        ({"historyLimit": -1}, "spec.historyLimit in body should be greater than or equal to 0"),
        ({"deadline": "0000-01-01T00:00:00Z"}, "spec.deadline in body should match"),
        ({"deadline": "2026-01-01T00:00:00+99:00"}, "spec.deadline"),
        (workload(), "spec.template.workload.spec: Required value: the spec of the job"),
        (workload(metadata={"name": "x"}, spec={}), "spec.template.workload.metadata: Forbidden: the name of a run"),
        (workload(metadata={"finalizers": ["a/b"]}, spec={}), "unknown field"),
        (workload(kind="TFJob", spec={}), "spec.template.workload: Invalid value: apiVersion and kind"),
        (workload(spec={"cronPolicy": {}}), "spec.template.workload.spec: Forbidden: the template of a Cron cannot"),
        (workload(spec={"runPolicy": {"cronPolicy": {}}}), "spec.template.workload.spec: Forbidden"),
        ({"template": {"apiVersion": "v1", "kind": "Pod", "workload": {"spec": {}}}}, "a Cron creates training jobs"),
    ],
)
def test_a_cron_that_cannot_run_is_refused(ready_stage: Stage, namespace: str, spec: dict[str, Any], text: str) -> None:
    """With the field, at admission."""
    driver = ScenarioDriver(ready_stage.watcher, namespace, ready_stage.node)
    cron = PlayedCron(driver)
    with pytest.raises(ApiError) as refused:
        ready_stage.cluster.api.create(f"{cron.collection}?{TRY}", cron.body(**spec))
    assert text in str(refused.value)


def test_a_job_keeps_its_schedule(ready_stage: Stage, namespace: str) -> None:
    """It can be changed, not removed, and not be added to a job that runs."""
    place, server = JOBS.format(namespace), ready_stage.watcher.connection
    with_schedule = job_body("PyTorchJob", "a", {"Master": 1}, ready_stage.node, cronPolicy={"schedule": "@daily"})
    ready_stage.cluster.api.create(place, with_schedule)
    ready_stage.cluster.api.create(place, job_body("PyTorchJob", "b", {"Master": 1}, ready_stage.node))
    server.patch(f"{place}/a", {"spec": {"cronPolicy": {"schedule": "@hourly"}}})
    with pytest.raises(ApiError, match=r"spec\.cronPolicy: Forbidden: a job either runs once or at the times"):
        server.patch(f"{place}/a", {"spec": {"cronPolicy": None}})
    with pytest.raises(ApiError, match=r"spec\.cronPolicy: Forbidden: a job either runs once or at the times"):
        server.patch(f"{place}/b", {"spec": {"cronPolicy": {"schedule": "@daily"}}})


def test_a_patch_that_changes_nothing_still_tells_of_a_conflict(ready_stage: Stage, namespace: str) -> None:
    """By which an operator with an old cache learns that a run is not its to create."""
    cron = PlayedCron(ScenarioDriver(ready_stage.watcher, namespace, ready_stage.node))
    server = ready_stage.watcher.connection
    made = ready_stage.cluster.api.create(cron.collection, cron.body())
    guard = {name: made["metadata"][name] for name in ("uid", "resourceVersion")}
    path = f"{cron.collection}/{made['metadata']['name']}"
    server.patch(f"{path}/status", {"metadata": guard, "status": {}})
    server.patch(path, {"spec": {"suspend": True}})
    with pytest.raises(ApiError, match=r"409|Conflict|modified"):
        server.patch(f"{path}/status", {"metadata": guard, "status": {}})


def test_a_refused_run_is_reported_and_follows_the_template(world: ScenarioDriver) -> None:
    """The API server's own words; the corrected template is used at once."""
    cron = PlayedCron(world)
    broken = cron.body()["spec"]["template"]
    broken["workload"]["spec"]["pytorchReplicaSpecs"] = {"Boss": {"template": {"spec": {"containers": []}}}}
    cron.create(template=broken)
    world.until("a refusal", lambda: cron.reason() == "RunRefused")
    assert "Boss" in next(one["message"] for one in cron.status()["conditions"] if one["type"] == "Ready")
    cron.change(template={"workload": {"spec": {"pytorchReplicaSpecs": {"Boss": None}}}})
    good = cron.body()["spec"]["template"]["workload"]["spec"]["pytorchReplicaSpecs"]
    cron.change(template={"workload": {"spec": {"pytorchReplicaSpecs": good}}})
    cron.run(0).until_pods(master_0=0)
    world.until("no complaint", lambda: cron.reason() == "Scheduled")
