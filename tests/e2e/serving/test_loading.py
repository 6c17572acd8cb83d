"""Real servers answer correctly with models that this system trained and packed, however the model reaches the pod."""

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from testbed.api import Object, is_true
from testbed.waiting import until
from tests.builders import pod
from tests.e2e.models.observed_version import ObservedVersion, sums_of
from tests.e2e.serving.flowers import PREDICT, QUESTION, TRAINED, is_right, mlserver, trained
from tests.e2e.serving.inferences import SCRIPTS_MAP, ObservedInference, answering, template
from tests.e2e.serving.no_image_volumes import is_stripped, stripped
from tests.e2e.serving.versions import CLAIM, versions
from tests.e2e.training import checkpoints
from tests.e2e.workspace import Workspace

LINE = "/v1/models/line:predict"


def answers(inference: ObservedInference) -> bool:
    """Whether it is right, through the gateway."""
    return is_right(*inference.ask(PREDICT, QUESTION))


def test_mlserver_answers_with_a_model_trained_and_packed_here(
    inference: ObservedInference, serving: Workspace, image: Callable[[str], str], tmp_path: Path
) -> None:
    """From an image volume, and then from a copy: the same bytes, by their digest, and the same answers."""
    tmp_path.chmod(0o755)
    with checkpoints.shared(serving, tmp_path):
        version = trained(serving, image("mlserver"))
        reference = version.built()
        predictor = {
            "name": "a",
            "modelVersion": version.name,
            "template": mlserver(image("mlserver")),
            "loader": "ImageVolume",
        }
        inference.create(predictor, framework="MLServer")
        inference.wait("to answer correctly", lambda: inference.host and answers(inference), TRAINED)
        said = inference.predictor("a")
        assert (said["image"], said["loader"]) == (reference, "ImageVolume")
        assert sums_in(inference) == sums_of(tmp_path)
        inference.change(lambda spec: spec["predictors"][0].update(loader="InitCopy"))
        inference.wait("to copy", lambda: inference.predictor("a").get("loader") == "InitCopy", TRAINED)
        inference.wait("the new pod alone", lambda: copied(inference), TRAINED)
        inference.wait("to answer correctly", lambda: answers(inference), TRAINED)
        assert sums_in(inference) == sums_of(tmp_path)


def copied(inference: ObservedInference) -> bool:
    """Whether one pod is there, ready and without an image volume."""
    found = inference.pods("a")
    volumes = [volume for one in found for volume in one["spec"]["volumes"]]
    return len(found) == 1 and is_true(found[0], "Ready") and not any("image" in volume for volume in volumes)


def ready_in(inference: ObservedInference) -> Iterator[str]:
    """The names of its ready pods."""
    return (one["metadata"]["name"] for one in inference.pods("a") if is_true(one, "Ready"))


def sums_in(inference: ObservedInference) -> dict[str, str]:
    """What a predictor's container sees: the sum of each file, by its path."""
    name = until("a ready pod", lambda: next(ready_in(inference), ""), deadline=60)
    script = "cd /kubedl-model/ && find -L . -type f -exec sha256sum {} +"
    lines = inference.workspace.execute(name, "sh", "-c", script).splitlines()
    return {path.removeprefix("./"): total for total, path in (line.split(maxsplit=1) for line in lines)}


@pytest.mark.parametrize("loader", ["Auto", "ImageVolume"])
def test_where_image_volumes_are_taken_out_of_pods(
    inference: ObservedInference, serving: Workspace, base_image: str, tmp_path: Path, loader: str
) -> None:
    """Auto copies instead; where the volume is insisted on, no server starts without its model, and it is said why."""
    with versions(serving, tmp_path) as made:
        reference = made.behaving("v1")
        with stripped(serving.cluster, serving.namespace):
            until("the policy to act", lambda: is_stripped(serving, reference, base_image), deadline=60)
            predictor = answering("a", base_image, modelVersion="v1", loader=loader)
            predictor["template"]["spec"]["containers"][0]["env"] = []
            inference.create(predictor)
            if loader == "Auto":
                inference.ready()
                assert inference.ask()[1]["by"] == "v1"
                assert inference.predictor("a")["loader"] == "InitCopy"
                assert sums_in(inference) == sums_of(tmp_path)
                return
            inference.wait("to say why", lambda: inference.condition().get("reason") == "ModelNotLoaded", 180)
            assert "strips image volumes" in inference.condition()["message"]
            assert inference.condition()["status"] == "False"
            assert inference.predictor("a").get("readyReplicas", 0) == 0


def test_tf_serving_is_told_of_its_model_as_its_documents_say(
    inference: ObservedInference, serving: Workspace, image: Callable[[str], str], tmp_path: Path
) -> None:
    """On a stand-in that takes the documented flags and no others, with a SavedModel of real TensorFlow."""
    tensorflow = image("tensorflow")
    tmp_path.chmod(0o755)
    with checkpoints.shared(serving, tmp_path):
        export = Path(__file__).parents[1] / "models" / "workloads" / "export.py"
        serving.create("configmaps", {"metadata": {"name": "export"}, "data": {"export.py": export.read_text()}})
        serving.create("pods", exporter(tensorflow))
        serving.succeeded("exporter", deadline=TRAINED)
        version = ObservedVersion(serving, "line")
        version.create(CLAIM)
        version.built()
        made = template(tensorflow)
        (container,) = made["spec"]["containers"]
        container["command"] = ["/usr/bin/tensorflow_model_server"]
        container["args"] = [
            "--port=9000",
            "--rest_api_port=8500",
            "--model_name=line",
            "--model_base_path=/kubedl-model/",
        ]
        container["volumeMounts"].append(
            {
                "name": "program",
                "mountPath": "/usr/bin/tensorflow_model_server",
                "subPath": "tensorflow_model_server.py",
            }
        )
        made["spec"]["volumes"].append({"name": "program", "configMap": {"name": SCRIPTS_MAP, "defaultMode": 0o555}})
        predictor = {"name": "a", "modelVersion": "line", "template": made, "batching": {"batchSize": 4}}
        inference.create(predictor, framework="TFServing")
        inference.wait("to be ready", lambda: inference.condition().get("status") == "True", TRAINED)
        inference.wait("to predict", lambda: inference.ask(LINE, {"instances": [0.0]})[0] == 200, 60)
        status, said = inference.ask(LINE, {"instances": [2.0, 0.0]})
        assert status == 200
        assert [round(value) for value in said["predictions"]] == [7, 1]
        # The batching file has reached it: five are more than a batch may hold.
        assert inference.ask(LINE, {"instances": [1.0] * 5})[0] == 400
        state = inference.ask("/v1/models/line")[1]["model_version_status"][0]["state"]
        assert state == "AVAILABLE"


def exporter(image: str) -> Object:
    """A pod that trains and leaves a SavedModel as version 1."""
    builder = pod("exporter", image).running("python3", "/export/export.py")
    body = builder.environment(KUBEDL_MODEL_PATH="/model/1").build()
    body["spec"]["volumes"] = [
        {"name": "export", "configMap": {"name": "export"}},
        {"name": "model", "persistentVolumeClaim": {"claimName": checkpoints.CLAIM}},
    ]
    body["spec"]["containers"][0]["volumeMounts"] = [
        {"name": "export", "mountPath": "/export"},
        {"name": "model", "mountPath": "/model"},
    ]
    return body
