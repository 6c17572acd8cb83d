"""The loop around an Inference with one predictor, over the model of the API server."""

import asyncio

import msgspec
import pytest

from harness.fakes.api_server import with_metadata
from kubedl.api.model import MODEL_VERSIONS
from kubedl.kube.errors import ApiError, ForbiddenError, InvalidError, UnknownOutcomeError
from kubedl.kube.types.apps import DEPLOYMENTS, Deployment
from kubedl.kube.types.core import PODS, SERVICES, Service
from kubedl.kube.types.meta import ObjectKey
from kubedl.runtime.writer import NameConflictError
from kubedl.serving.naming import PREDICTOR
from kubedl.serving.workload.deployment import IMAGE, LOADER, MODEL_VERSION
from tests.training_builders import NAMESPACE
from tests.unit.serving.fake_cluster import Stage
from tests.unit.serving.inferences import DIGEST, NAME, OTHER, inference, loser, predictor, version
from tests.unit.training.api_model import Crash, Harm, with_status

MAIN = f"{NAME}-main"


def test_a_life(runner: asyncio.Runner) -> None:
    """Made, ready, at rest; and nothing is written twice, by the next process neither."""
    stage = Stage(runner, inference(predictor(replicas=3)), version())
    assert stage.look() is None
    assert stage.writes == [
        f"apply services {MAIN}",
        f"apply deployments {MAIN}",
        f"scale deployments {MAIN}",
        f"apply services {NAME}",
        "patch inferences status",
    ]
    assert stage.ready == ("False", "PodsNotReady")
    stage.serves(MAIN)
    stage.settle()
    assert stage.ready == ("True", "Serving")
    said = stage.predictors["main"]
    counted = (said.replicas, said.ready_replicas, said.updated_replicas)
    assert (counted, said.traffic_percent, said.loader) == ((3, 3, 3), 100, "ImageVolume")
    assert (said.image, said.model_version) == (f"hub/resnet@{DIGEST}", "v1")
    assert stage.inference.status.inference_endpoint == f"http://{NAME}.{NAMESPACE}.svc.cluster.local:8080"
    assert stage.events == ["Warning Inference PodsNotReady", "Normal Inference Serving"]
    stage.start()
    assert (stage.look(), stage.writes) == (None, [])


@pytest.mark.parametrize(
    ("versions", "reason"),
    [
        ((), "ModelVersionNotFound"),
        ((version(phase="ImageBuilding"),), "ModelNotBuilt"),
        ((version(phase="ImageBuildFailed"),), "ModelBuildFailed"),
    ],
)
def test_a_model_that_is_not_built_is_waited_for(
    runner: asyncio.Runner, versions: tuple[object, ...], reason: str
) -> None:
    """With a condition, and without pods."""
    stage = Stage(runner, inference(), *versions)  # type: ignore[arg-type]
    stage.look()
    assert (stage.writes, stage.ready) == (["patch inferences status"], ("False", reason))
    built = version()
    assert list(stage.controller.inferences_with(built)) == [stage.inference.metadata.key]
    stage.api.put(MODEL_VERSIONS, built)
    stage.look()
    assert stage.found(DEPLOYMENTS) == [MAIN]


def test_a_new_version_rolls_the_deployment_in_place(runner: asyncio.Runner) -> None:
    """Its pods name the new digest; how many they are is not touched; until it is built nothing changes."""
    stage = Stage(runner, inference(predictor(replicas=2)), version())
    stage.look()
    stage.serves(MAIN)
    stage.settle()
    stage.edit(inference(predictor(replicas=2, modelVersion="v2")))
    stage.settle()
    assert stage.predictors["main"].model_version == "v1"
    assert (stage.predictors["main"].reason, stage.ready) == ("ModelVersionNotFound", ("True", "Serving"))
    stage.api.put(MODEL_VERSIONS, version("v2", OTHER))
    stage.look()
    assert stage.writes == [f"apply deployments {MAIN}", "patch inferences status"]
    template = stage.body(DEPLOYMENTS, MAIN)["spec"]["template"]
    [image] = [volume["image"] for volume in template["spec"]["volumes"] if "image" in volume]
    assert image == {"reference": f"hub/resnet@{OTHER}", "pullPolicy": "IfNotPresent"}
    stage.settle()
    said = stage.predictors["main"]
    assert (said.image, said.ready_replicas, said.updated_replicas) == (f"hub/resnet@{OTHER}", 2, 0)
    stage.serves(MAIN)
    stage.settle()
    assert stage.predictors["main"].updated_replicas == 2


def test_a_version_that_is_deleted_goes_on_being_served(runner: asyncio.Runner) -> None:
    stage = Stage(runner, inference(), version())
    stage.look()
    stage.serves(MAIN)
    stage.api.drop(MODEL_VERSIONS, ObjectKey(NAMESPACE, "v1"))
    stage.settle()
    assert (stage.found(DEPLOYMENTS), stage.ready) == ([MAIN], ("True", "Serving"))


def test_a_server_that_has_its_model_needs_no_version(runner: asyncio.Runner) -> None:
    stage = Stage(runner, inference(predictor(modelVersion=None), framework="Custom"))
    stage.look()
    spec = stage.body(DEPLOYMENTS, MAIN)["spec"]["template"]["spec"]
    assert (spec["volumes"], spec["initContainers"]) == ([], [])
    stage.serves(MAIN)
    stage.settle()
    assert stage.ready == ("True", "Serving")


@pytest.mark.parametrize("resource", [DEPLOYMENTS, SERVICES])
def test_what_is_somebody_elses_is_left_alone(runner: asyncio.Runner, resource: object) -> None:
    """Also where no cache shows it; the condition names it."""
    stage = Stage(runner, inference(), version())
    theirs = with_metadata(Deployment(), name=MAIN, namespace=NAMESPACE, uid="theirs")
    stage.api.put(resource, theirs)  # type: ignore[arg-type]
    with pytest.raises(NameConflictError):
        stage.look()
    assert stage.ready == ("False", "NameTaken")
    assert stage.api.find(resource, ObjectKey(NAMESPACE, MAIN)).metadata.uid == "theirs"  # type: ignore[arg-type]


def test_a_job_of_the_same_name_has_the_service(runner: asyncio.Runner) -> None:
    """The predictor's own Service is an address too, and nothing else is to be said against it."""
    stage = Stage(runner, inference(), version())
    stage.api.put(SERVICES, with_metadata(Service(), name=NAME, namespace=NAMESPACE, uid="a job's"))
    for _ in range(3):
        with pytest.raises(NameConflictError):
            stage.look()
        stage.serves(MAIN)
    assert (stage.ready, stage.condition("Named").reason) == (("True", "Serving"), "NameTaken")
    assert stage.inference.status.inference_endpoint == f"http://{MAIN}.{NAMESPACE}.svc.cluster.local:8080"
    stage.api.drop(SERVICES, ObjectKey(NAMESPACE, NAME))
    stage.settle()
    assert stage.inference.status.inference_endpoint == f"http://{NAME}.{NAMESPACE}.svc.cluster.local:8080"
    assert [one.type for one in stage.inference.status.conditions] == ["Ready"]


def test_an_edited_deployment_is_put_right(runner: asyncio.Runner) -> None:
    """What is ours in it; the number of its replicas too."""
    stage = Stage(runner, inference(predictor(replicas=2)), version())
    stage.look()
    stage.serves(MAIN)
    stage.settle()
    found = stage.api.find(DEPLOYMENTS, ObjectKey(NAMESPACE, MAIN))
    edited = msgspec.structs.replace(found, spec=msgspec.structs.replace(found.spec, replicas=5))
    stage.api.put(DEPLOYMENTS, with_metadata(edited, generation=found.metadata.generation + 1))
    stage.look()
    # The status: until the cluster has looked at it, nothing is known of its pods.
    assert stage.writes == [f"apply deployments {MAIN}", f"scale deployments {MAIN}", "patch inferences status"]
    stage.settle()


def test_where_image_volumes_are_stripped_the_model_is_copied(runner: asyncio.Runner) -> None:
    """Asked once, by a pod that is never made."""
    stage = Stage(runner, inference(), version(registry={"insecure": True, "credentials": {"secretName": "hub"}}))
    stage.client.strips = True
    stage.look()
    assert stage.body(DEPLOYMENTS, MAIN)["metadata"]["annotations"][LOADER] == "InitCopy"
    stage.settle()
    assert (stage.client.asked, stage.found(PODS)) == (1, [])
    assert stage.predictors["main"].loader == "InitCopy"


def test_where_image_volumes_are_refused_the_model_is_copied(runner: asyncio.Runner) -> None:
    stage = Stage(runner, inference(), version())
    stage.client.refuses = "'image': {'reference'"
    stage.look()
    assert stage.body(DEPLOYMENTS, MAIN)["metadata"]["annotations"][LOADER] == "InitCopy"


def test_a_pod_that_is_refused_either_way_is_told(runner: asyncio.Runner) -> None:
    stage = Stage(runner, inference(), version())
    stage.client.refuses = "containers"
    with pytest.raises(ApiError):
        stage.look()
    assert stage.ready == ("False", "Invalid")
    assert stage.found(DEPLOYMENTS) == []


def test_what_the_api_server_cannot_read_is_told(runner: asyncio.Runner) -> None:
    """For a field that no pod has, its answer to an apply is that it failed."""
    stage = Stage(runner, inference(predictor(), predictor("other")), version())
    stage.client.unreadable = MAIN
    with pytest.raises(InvalidError):
        stage.look()
    assert stage.ready == ("False", "Invalid")
    assert "field not declared in schema" in stage.predictors["main"].message
    assert stage.found(DEPLOYMENTS) == [f"{NAME}-other"]


def test_one_failed_write_costs_the_others_nothing(runner: asyncio.Runner) -> None:
    """It is tried again, and not told: it may be over then."""
    stage = Stage(runner, inference(predictor(), predictor("other")), version())
    with pytest.raises(UnknownOutcomeError):
        stage.look((1, "lost before"))
    assert stage.found(DEPLOYMENTS) == [f"{NAME}-other"]
    assert list(stage.predictors) == ["main", "other"]
    stage.settle()
    assert stage.found(DEPLOYMENTS) == [MAIN, f"{NAME}-other"]


def test_a_volume_that_is_lost_after_all_is_replaced_by_a_copy(runner: asyncio.Runner) -> None:
    """The dry run saw it; the pods have it not. It stays so until the template changes."""
    stage = Stage(runner, inference(), version())
    stage.look()
    assert stage.body(DEPLOYMENTS, MAIN)["metadata"]["annotations"][LOADER] == "ImageVolume"
    stage.api.put(PODS, loser())
    stage.look()
    assert stage.body(DEPLOYMENTS, MAIN)["metadata"]["annotations"][LOADER] == "InitCopy"
    stage.settle()
    assert stage.client.asked == 1


def test_a_deployment_that_others_touch_is_not_asked_about_anew(runner: asyncio.Runner) -> None:
    """An autoscaler would else turn a copy that works into a volume that does not."""
    stage = Stage(runner, inference(), version())
    stage.look()
    stage.api.put(PODS, loser())
    stage.settle()
    found = stage.api.find(DEPLOYMENTS, ObjectKey(NAMESPACE, MAIN))
    stage.api.put(DEPLOYMENTS, with_metadata(found, generation=found.metadata.generation + 1))
    stage.settle()
    assert stage.body(DEPLOYMENTS, MAIN)["metadata"]["annotations"][LOADER] == "InitCopy"
    assert stage.client.asked == 1


def test_a_volume_that_was_wished_is_not_replaced(runner: asyncio.Runner) -> None:
    """Nobody is asked; the guard's word is in the condition."""
    stage = Stage(runner, inference(predictor(loader="ImageVolume")), version())
    stage.client.strips = True
    stage.look()
    stage.api.put(PODS, loser())
    stage.settle()
    assert (stage.client.asked, stage.ready) == (0, ("False", "ModelNotLoaded"))
    assert "strips image volumes" in stage.condition().message
    stage.api.put(PODS, loser(reason="ModelIncomplete"))
    stage.settle()
    assert stage.condition().message == "predictor main: ModelIncomplete: as told"


def test_a_template_that_is_none_is_told(runner: asyncio.Runner) -> None:
    """It costs nobody anything."""
    stage = Stage(runner, inference(predictor(template={"spec": {"containers": [{"name": 7}]}})), version())
    assert stage.look() is None
    assert stage.ready == ("False", "TemplateInvalid")


def test_a_predictor_with_another_name_takes_its_place(runner: asyncio.Runner) -> None:
    """When it answers, and not before; then what was made for the first goes."""
    stage = Stage(runner, inference(), version())
    stage.look()
    stage.serves(MAIN)
    stage.settle()
    stage.edit(inference(predictor("other")))
    stage.settle()
    assert stage.found(DEPLOYMENTS) == [MAIN, f"{NAME}-other"]
    assert stage.body(SERVICES, NAME)["spec"]["selector"][PREDICTOR] == "main"
    stage.serves(f"{NAME}-other")
    stage.settle()
    assert stage.body(SERVICES, NAME)["spec"]["selector"][PREDICTOR] == "other"
    assert (stage.found(DEPLOYMENTS), stage.found(SERVICES)) == ([f"{NAME}-other"], [NAME, f"{NAME}-other"])
    assert list(stage.predictors) == ["other"]


def test_a_deletion_that_is_refused_costs_the_others_nothing(runner: asyncio.Runner) -> None:
    """What remains is scaled and told of; the deletion is tried again."""
    stage = Stage(runner, inference(), version())
    stage.look()
    stage.serves(MAIN)
    stage.edit(inference(predictor("other")))
    stage.settle()
    stage.serves(f"{NAME}-other")
    stage.edit(inference(predictor("other", replicas=3)))
    stage.client.keeps = (DEPLOYMENTS,)
    with pytest.raises(ForbiddenError):
        stage.look()
    assert stage.api.find(DEPLOYMENTS, ObjectKey(NAMESPACE, f"{NAME}-other")).spec.replicas == 3
    assert stage.inference.status.observed_generation == stage.inference.metadata.generation
    stage.client.keeps = ()
    stage.settle()
    assert stage.found(DEPLOYMENTS) == [f"{NAME}-other"]


def test_an_evicted_pod_tells_nothing_of_those_that_replace_it(runner: asyncio.Runner) -> None:
    """It stays in the cluster, as it ended: perhaps while its loader ran."""
    stage = Stage(runner, inference(), version())
    stage.look()
    stage.serves(MAIN)
    stage.api.put(PODS, loser(reason="LoadingFailed"))
    stage.settle()
    assert stage.predictors["main"].reason == "ModelNotLoaded"
    stage.api.put(PODS, with_status(loser(reason="LoadingFailed"), phase="Failed"))
    stage.settle()
    assert (stage.predictors["main"].reason, stage.ready) == ("", ("True", "Serving"))


@pytest.mark.parametrize("harm", ["crash before", "crash after", "lost before", "lost after"])
def test_wherever_it_dies_the_end_is_the_same(runner: asyncio.Runner, harm: Harm) -> None:
    for number in range(6):
        stage = Stage(runner, inference(predictor(replicas=2)), version())
        try:
            stage.look((number, harm))
        except (Crash, ApiError):
            stage.start()
        stage.settle()
        stage.serves(MAIN)
        stage.settle()
        assert stage.ready == ("True", "Serving")
        found = stage.api.find(DEPLOYMENTS, ObjectKey(NAMESPACE, MAIN))
        assert (found.spec.replicas, stage.found(SERVICES)) == (2, [NAME, MAIN])
        annotations = found.metadata.annotations
        assert (annotations[MODEL_VERSION], annotations[IMAGE]) == ("v1", f"hub/resnet@{DIGEST}")


def test_what_is_deleted_is_nobodys_business(runner: asyncio.Runner) -> None:
    stage = Stage(runner, inference(), version())
    stage.edit(with_metadata(inference(), deletion_timestamp=stage.api.now))
    assert (stage.look(), stage.writes) == (None, [])


def test_what_a_neighbour_made_is_nobodys(runner: asyncio.Runner) -> None:
    """With the uid of somebody else's Inference in it: the Inference makes its own, and deletes nothing of his."""
    stage = Stage(runner, inference(), version())
    stage.look()
    for resource in (DEPLOYMENTS, SERVICES):
        for mine in list(stage.api.all(resource)):
            stage.api.put(resource, with_metadata(mine, namespace="neighbour", uid=f"theirs-{mine.metadata.name}"))
            stage.api.drop(resource, mine.metadata.key)
    before = {one.metadata.uid for one in stage.api.all(DEPLOYMENTS)}
    stage.look()
    assert stage.api.find(DEPLOYMENTS, ObjectKey(NAMESPACE, MAIN)) is not None
    assert before <= {one.metadata.uid for one in stage.api.all(DEPLOYMENTS)}
