"""An upgrade of the operator restarts no model server; what its user changes reaches the pods."""

import asyncio
from dataclasses import replace

import msgspec
import pytest

from harness.fakes.api_server import with_metadata
from kubedl.api.inference import INFERENCES
from kubedl.api.model import MODEL_VERSIONS
from kubedl.kube.codec import RawObject
from kubedl.kube.types.apps import DEPLOYMENTS, Deployment
from kubedl.kube.types.core import PODS
from kubedl.kube.types.meta import ObjectKey
from kubedl.serving.naming import APPLIED
from kubedl.serving.workload import model_servers
from kubedl.serving.workload.deployment import ASKED, LOADER, MODEL_VERSION, PredictorWorkload
from kubedl.serving.workload.model_init_container import Model, Program
from kubedl.serving.workload.requested_template import requested_digest
from tests.training_builders import NAMESPACE
from tests.unit.serving.fake_cluster import Stage
from tests.unit.serving.inferences import DIGEST, NAME, OTHER, inference, loser, predictor, version

MAIN = f"{NAME}-main"
FORMER = RawObject.of({"spec": {"containers": [{"name": "server", "image": "as the former operator made it"}]}})


@pytest.fixture
def stage(runner: asyncio.Runner) -> Stage:
    """A predictor that serves."""
    made = Stage(runner, inference(), version())
    made.look()
    made.serves(MAIN)
    made.settle()
    return made


def deployment(stage: Stage) -> Deployment:
    """As it is in the cluster."""
    found: Deployment = stage.api.find(DEPLOYMENTS, ObjectKey(NAMESPACE, MAIN))
    return found


def upgraded(stage: Stage, monkeypatch: pytest.MonkeyPatch) -> None:
    """Another operator: with another image, and other defaults."""
    stage.program = Program("packer:2", {"HTTPS_PROXY": "http://proxy:3128"})
    monkeypatch.setattr(model_servers, "SERVING", {"periodSeconds": 77})
    stage.start()


def made_by_former(stage: Stage, template: RawObject = FORMER) -> None:
    """As an operator left it that wrote no digest of what was asked for."""
    found = deployment(stage)
    notes = {name: value for name, value in found.metadata.annotations.items() if name != ASKED}
    spec = msgspec.structs.replace(found.spec, template=template)
    changed = msgspec.structs.replace(found, spec=spec)
    stage.api.put(DEPLOYMENTS, with_metadata(changed, annotations={**notes, APPLIED: "former"}))


def image(stage: Stage) -> str:
    """Of the loader."""
    spec = stage.body(DEPLOYMENTS, MAIN)["spec"]["template"]["spec"]
    found: str = spec["initContainers"][0]["image"]
    return found


def test_another_operator_restarts_no_server(stage: Stage, monkeypatch: pytest.MonkeyPatch) -> None:
    """It writes nothing at all; what it would render otherwise comes with the next version."""
    before = deployment(stage)
    upgraded(stage, monkeypatch)
    assert (stage.look(), stage.writes, deployment(stage)) == (None, [], before)
    assert image(stage) == "packer:1"
    stage.api.put(MODEL_VERSIONS, version("v2", OTHER))
    stage.edit(inference(predictor(modelVersion="v2")))
    stage.settle()
    assert image(stage) == "packer:2"
    spec = stage.body(DEPLOYMENTS, MAIN)["spec"]["template"]["spec"]
    assert spec["containers"][0]["readinessProbe"]["periodSeconds"] == 77


def test_another_template_gets_what_the_operator_renders_now(stage: Stage, monkeypatch: pytest.MonkeyPatch) -> None:
    upgraded(stage, monkeypatch)
    template = {"spec": {"containers": [{"name": "server", "image": "mlserver:2"}]}}
    stage.edit(inference(predictor(template=template)))
    stage.settle()
    assert image(stage) == "packer:2"


@pytest.mark.parametrize("field", ["replicas", "trafficWeight"])
def test_what_shapes_no_pod_restarts_none(stage: Stage, monkeypatch: pytest.MonkeyPatch, field: str) -> None:
    before = deployment(stage).spec.template
    upgraded(stage, monkeypatch)
    stage.edit(inference({**predictor(), field: 3}))
    stage.settle()
    assert deployment(stage).spec.template == before


def test_the_same_image_under_another_name_restarts_no_server(stage: Stage, monkeypatch: pytest.MonkeyPatch) -> None:
    """The Deployment says which version it is, and its pods stay."""
    before = deployment(stage).spec.template
    upgraded(stage, monkeypatch)
    stage.api.put(MODEL_VERSIONS, version("v2", DIGEST))
    stage.edit(inference(predictor(modelVersion="v2")))
    stage.settle()
    found = deployment(stage)
    assert (found.metadata.annotations[MODEL_VERSION], found.spec.template) == ("v2", before)


def test_what_a_former_operator_made_is_kept(stage: Stage) -> None:
    """It left no digest; the status says that it had seen the spec. From then on changes are noticed."""
    made_by_former(stage)
    stage.start()
    stage.settle()
    found = deployment(stage)
    assert (found.spec.template, found.metadata.annotations[LOADER]) == (FORMER, "ImageVolume")
    assert found.metadata.annotations[ASKED]
    stage.edit(inference(predictor(modelPath="/other")))
    stage.settle()
    assert deployment(stage).spec.template != FORMER


@pytest.mark.parametrize("case", ["unseen", "refused", "other version", "other loader"])
def test_what_a_former_operator_had_not_done_is_done(stage: Stage, case: str) -> None:
    made_by_former(stage)
    if case == "unseen":
        stage.edit(inference(predictor(batching={"batchSize": 4})))
    elif case == "refused":
        found = stage.inference
        [said] = found.status.predictor_statuses
        said = msgspec.structs.replace(said, reason="Invalid")
        status = msgspec.structs.replace(found.status, predictor_statuses=(said,))
        stage.api.put(INFERENCES, msgspec.structs.replace(found, status=status))
    elif case == "other version":
        notes = {**deployment(stage).metadata.annotations, MODEL_VERSION: "v0"}
        stage.api.put(DEPLOYMENTS, with_metadata(deployment(stage), annotations=notes))
    else:
        notes = {**deployment(stage).metadata.annotations, LOADER: "InitCopy"}
        stage.api.put(DEPLOYMENTS, with_metadata(deployment(stage), annotations=notes))
        stage.api.put(
            INFERENCES, msgspec.structs.replace(stage.inference, spec=inference(predictor(loader="ImageVolume")).spec)
        )
    stage.start()
    stage.settle()
    assert deployment(stage).spec.template != FORMER


def test_pods_that_somebody_edits_are_put_right(stage: Stage, monkeypatch: pytest.MonkeyPatch) -> None:
    """Also those that an earlier operator made, as soon as this one has written to the Deployment."""
    for _ in range(2):
        found = deployment(stage)
        edited = msgspec.structs.replace(found, spec=msgspec.structs.replace(found.spec, template=FORMER))
        stage.api.put(DEPLOYMENTS, with_metadata(edited, generation=found.metadata.generation + 1))
        stage.settle()
        assert deployment(stage).spec.template != FORMER
        upgraded(stage, monkeypatch)
        stage.api.put(MODEL_VERSIONS, version("v2", DIGEST))
        stage.edit(inference(predictor(modelVersion="v2")))
        stage.settle()


def test_a_copy_that_replaced_a_volume_stays_with_another_operator(
    stage: Stage, monkeypatch: pytest.MonkeyPatch
) -> None:
    stage.api.put(PODS, loser())
    stage.settle()
    assert deployment(stage).metadata.annotations[LOADER] == "InitCopy"
    upgraded(stage, monkeypatch)
    assert (stage.look(), stage.writes) == (None, [])


def test_the_digest_of_a_wish_never_changes() -> None:
    """Another one here restarts every model server of every cluster with the next upgrade."""
    found = inference(predictor(template={"spec": {"containers": [{"name": "a"}]}}, batching={"batchSize": 4}))
    servers = PredictorWorkload(found, found.spec.predictors[0], Model("v1", "mnist", f"hub/mnist@{DIGEST}"))
    assert requested_digest(servers) == "110244a95bdab602"
    assert servers.model is not None
    trusting = replace(servers, model=replace(servers.model, authority="company"))
    assert requested_digest(trusting) != requested_digest(servers)
