"""Who changes the number of replicas, and that nobody else does."""

import asyncio

import msgspec
import pytest

from harness.fakes.api_server import with_metadata
from kubedl.kube.types.apps import DEPLOYMENTS, DeploymentSpec
from kubedl.kube.types.autoscaling import AUTOSCALERS, SCALED_OBJECTS
from kubedl.kube.types.meta import ObjectKey
from tests.training_builders import NAMESPACE
from tests.unit.serving.fake_cluster import Stage
from tests.unit.serving.inferences import NAME, inference, predictor, version

MAIN = f"{NAME}-main"
KEDA = {"kind": "ScaledObject"}


def scaled(**wish: object) -> Stage:
    """What is made for a predictor that scales so."""
    with asyncio.Runner() as runner:
        stage = Stage(runner, inference(predictor(autoScale=wish)), version())
        stage.settle()
        return stage


def resize(stage: Stage, replicas: int) -> None:
    """The autoscaler does its work."""
    found = stage.api.find(DEPLOYMENTS, ObjectKey(NAMESPACE, MAIN))
    changed = msgspec.structs.replace(found, spec=DeploymentSpec(replicas=replicas))
    stage.api.put(DEPLOYMENTS, with_metadata(changed, generation=found.metadata.generation + 1))
    stage.serves(MAIN)


def test_by_default_it_is_kubernetes_own_by_cpu() -> None:
    stage = scaled(minReplicas=2, maxReplicas=5)
    target = {"type": "Utilization", "averageUtilization": 80}
    assert stage.body(AUTOSCALERS, MAIN)["spec"] == {
        "scaleTargetRef": {"apiVersion": "apps/v1", "kind": "Deployment", "name": MAIN},
        "minReplicas": 2,
        "maxReplicas": 5,
        "metrics": [{"type": "Resource", "resource": {"name": "cpu", "target": target}}],
    }
    assert stage.api.find(DEPLOYMENTS, ObjectKey(NAMESPACE, MAIN)).spec.replicas == 2


def test_by_cpu_memory_and_metrics_of_ones_own() -> None:
    custom = {"type": "Pods", "pods": {"metric": {"name": "queue"}, "target": {"type": "Value", "value": "3"}}}
    calm = {"scaleDown": {"stabilizationWindowSeconds": 10}}
    spec = scaled(cpu=50, memory=70, metrics=[custom], behavior=calm).body(AUTOSCALERS, MAIN)["spec"]
    named = [metric.get("resource", {}).get("name") for metric in spec["metrics"]]
    assert (named, spec["metrics"][2], spec["behavior"]) == (["cpu", "memory", None], custom, calm)


def test_by_keda_down_to_nothing() -> None:
    trigger = {"type": "prometheus", "metadata": {"query": "up", "threshold": "1"}}
    stage = scaled(minReplicas=0, maxReplicas=3, autoScaler=KEDA, triggers=[trigger], cooldownSeconds=30)
    assert stage.body(SCALED_OBJECTS, MAIN)["spec"] == {
        "scaleTargetRef": {"apiVersion": "apps/v1", "kind": "Deployment", "name": MAIN},
        "minReplicaCount": 0,
        "maxReplicaCount": 3,
        "triggers": [trigger],
        "cooldownPeriod": 30,
    }
    assert stage.found(AUTOSCALERS) == []


def test_replicas_are_left_alone(runner: asyncio.Runner) -> None:
    """However many the autoscaler wants, and though the spec says another number; none is fine too."""
    wish = {"minReplicas": 0, "autoScaler": KEDA, "triggers": [{"type": "cron"}]}
    stage = Stage(runner, inference(predictor(autoScale=wish, replicas=4)), version())
    stage.settle()
    for replicas in (7, 0):
        resize(stage, replicas)
        stage.settle()
        assert stage.api.find(DEPLOYMENTS, ObjectKey(NAMESPACE, MAIN)).spec.replicas == replicas
        assert stage.ready == ("True", "Serving")


def test_when_it_ends_the_number_is_ours_again(runner: asyncio.Runner) -> None:
    """The autoscaler goes first, or it would answer."""
    stage = Stage(runner, inference(predictor(autoScale={"maxReplicas": 9})), version())
    stage.settle()
    resize(stage, 7)
    stage.edit(inference(predictor(replicas=2)))
    stage.look()
    writes = [write for write in stage.writes if not write.startswith(("apply", "patch"))]
    assert writes == [f"delete horizontalpodautoscalers {MAIN}", f"scale deployments {MAIN}"]
    stage.settle()


def test_when_it_begins_nobody_starts_anew(runner: asyncio.Runner) -> None:
    """The Deployment itself is not written: a field that is let go would count as removed, which means one replica."""
    stage = Stage(runner, inference(predictor(replicas=6)), version())
    stage.settle()
    stage.edit(inference(predictor(replicas=6, autoScale={"maxReplicas": 9})))
    stage.look()
    assert stage.writes == [f"apply horizontalpodautoscalers {MAIN}", "patch inferences status"]
    assert "replicas" not in stage.body(DEPLOYMENTS, MAIN)["spec"]


def test_somebody_elses_autoscaler_is_believed(runner: asyncio.Runner) -> None:
    """None is made beside it."""
    wish = {"autoScaler": {"name": "theirs", "kind": "HorizontalPodAutoscaler"}}
    stage = Stage(runner, inference(predictor(autoScale=wish)), version())
    stage.settle()
    resize(stage, 5)
    stage.settle()
    assert (stage.found(AUTOSCALERS), stage.api.find(DEPLOYMENTS, ObjectKey(NAMESPACE, MAIN)).spec.replicas) == ([], 5)


@pytest.mark.parametrize("known", [True, False])
def test_without_keda_it_is_said(runner: asyncio.Runner, known: bool) -> None:
    """The servers run, and KEDA is looked for again."""
    wish = {"autoScaler": KEDA, "triggers": [{"type": "cron"}]}
    stage = Stage(runner, inference(predictor(autoScale=wish)), version())
    stage.client.unknown = () if known else (SCALED_OBJECTS,)
    again = stage.look()
    stage.settle()
    stage.serves(MAIN)
    stage.settle()
    reason = stage.predictors["main"].reason
    assert (again, reason, stage.ready) == (
        None if known else 30,
        "" if known else "KedaNotInstalled",
        ("True", "Serving"),
    )
