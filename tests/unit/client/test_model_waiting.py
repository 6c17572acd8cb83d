"""Waits for the image of a job's model."""

import threading
from typing import Any

import pytest

from kubedl.client import Invalid, JobFailed, TrainingClient, WaitTimeout
from tests.unit.cli.conftest import Run, run  # noqa: F401 - a fixture
from tests.unit.client.api_server import ApiServer, until

VERSION = "/apis/model.kubedl.io/v1alpha1/namespaces/team/modelversions/bert-v1"
MODEL = {"modelVersion": {"modelName": "bert"}}


def _job(api: ApiServer, state: str = "Succeeded", **status: Any) -> str:  # noqa: ANN401
    said = {"state": state, "conditions": [{"type": state, "status": "True"}], **status}
    return api.job("bert", spec=MODEL, status=said)


def _version(api: ApiServer, **status: str) -> None:
    api.put(VERSION, {"spec": {"modelName": "bert"}, "status": status})


def test_it_ends_when_the_image_is_there(client: TrainingClient, api: ApiServer) -> None:
    path = _job(api, "Running")
    _version(api, imageBuildPhase="ImageBuilding")
    found: list[object] = []
    thread = threading.Thread(target=lambda: found.append(client.wait_for_job_status("bert", ("model",), timeout=30)))
    thread.start()
    until("watch", lambda: any(call.query.get("watch") for call in api.calls))
    done = {"state": "Succeeded", "conditions": [{"type": "Succeeded", "status": "True"}]}
    api.put(path, {**api.objects[path], "status": done})
    api.put(path, {**api.objects[path], "status": {**done, "modelVersionName": "bert-v1"}})
    until(
        "watch of the version",
        lambda: any("modelversions" in call.path for call in api.calls if call.query.get("watch")),
    )
    assert not found
    _version(api, imageBuildPhase="ImageBuildSucceeded", image="r/bert@sha256:1")
    thread.join(30)
    assert len(found) == 1


def test_an_image_that_is_there_needs_no_wait(client: TrainingClient, api: ApiServer) -> None:
    _job(api, modelVersionName="bert-v1")
    _version(api, image="r/bert@sha256:1")
    assert client.wait_for_job_status("bert", ("model",), timeout=30).is_succeeded


def test_a_model_that_will_never_be(client: TrainingClient, api: ApiServer) -> None:
    _job(api, modelVersionName="bert-v1")
    _version(api, imageBuildPhase="ImageBuildFailed", message="401 Unauthorized")
    with pytest.raises(JobFailed, match="bert has no model image: 401 Unauthorized") as failed:
        client.wait_for_job_status("bert", ("model",), timeout=30)
    assert failed.value.next == ("kubedl why modelversion/bert-v1",)
    _job(api, message="2 of 2 replicas succeeded; no ModelVersion was created: nobody mounted its storage")
    with pytest.raises(JobFailed, match="bert has left no model"):
        client.wait_for_job_status("bert", ("model",), timeout=30)
    api.job("clip")
    with pytest.raises(Invalid, match="clip makes no model"):
        client.wait_for_job_status("clip", ("model",), timeout=30)


def test_the_time_is_over(client: TrainingClient, api: ApiServer) -> None:
    _job(api, modelVersionName="bert-v1")
    _version(api, imageBuildPhase="ImageBuilding")
    with pytest.raises(WaitTimeout, match="the image of bert-v1 is not built in time"):
        client.wait_for_job_status("bert", ("model",), timeout=0.3)


def test_the_command_ends_with_1_if_there_is_no_image(run: Run, api: ApiServer) -> None:  # noqa: F811
    _job(api, modelVersionName="bert-v1")
    _version(api, imageBuildPhase="ImageBuildFailed", message="401 Unauthorized")
    assert run("wait", "bert", "--for", "model").code == 1
    _version(api, image="r/bert@sha256:1")
    assert run("wait", "bert", "--for", "model").code == 0
