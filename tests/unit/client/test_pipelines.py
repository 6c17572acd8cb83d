"""A job as a step of a pipeline: one job however often the step starts, and the model version for the next step."""

import threading
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from kubedl.client import AlreadyExists, Invalid, JobFailed, KubedlError, TrainingClient, WaitTimeout, pipelines
from kubedl.client.pipeline_component import component
from kubedl.client.pipelines import RUN_LABEL, StepResult, run_step
from kubedl.entrypoints import command, pipeline_step
from tests.unit.client.api_server import GROUP, ApiServer, ended, until

MODEL = {"modelName": "digits", "imageRepo": "registry.example/digits"}
VERSIONS = "/apis/model.kubedl.io/v1alpha1/namespaces/team/modelversions"
SUCCEEDED = {"state": "Succeeded", "conditions": [{"type": "Succeeded", "status": "True"}]}


def manifest(name: str = "digits", **spec: Any) -> dict[str, Any]:  # noqa: ANN401
    return {"apiVersion": GROUP[6:], "kind": "PyTorchJob", "metadata": {"name": name}, "spec": spec}


@pytest.fixture(autouse=True)
def quick(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pipelines, "POLL", 0.01)
    monkeypatch.setattr(pipelines, "LATE_VERSION", 0.2)


@pytest.fixture
def ending(api: ApiServer) -> Iterator[dict[str, Any]]:
    """Gives the job that a test submits a status, as the operator would."""
    status: dict[str, Any] = dict(SUCCEEDED)
    path = f"{GROUP}/namespaces/team/pytorchjobs"

    def end() -> None:
        until("job", lambda: any(place.startswith(path) for place in api.objects))
        place = next(place for place in api.objects if place.startswith(path))
        api.put(place, {**api.objects[place], "status": status})

    thread = threading.Thread(target=end, daemon=True)
    thread.start()
    yield status
    thread.join()


def version(api: ApiServer, **status: str) -> None:
    api.put(f"{VERSIONS}/mv-1", {"spec": {}, "status": status})


def test_the_version_and_its_image_are_handed_on(
    api: ApiServer, client: TrainingClient, ending: dict[str, Any]
) -> None:
    ending["modelVersionName"] = "mv-1"
    version(api, imageBuildPhase="ImageBuildSucceeded", image="registry.example/digits@sha256:1")
    found = run_step(client, manifest(modelVersion=MODEL))
    assert found == StepResult("digits", "team", "mv-1", "registry.example/digits@sha256:1")


def test_a_job_without_a_model_hands_on_its_name(client: TrainingClient, ending: dict[str, Any]) -> None:
    assert ending
    assert run_step(client, manifest()) == StepResult("digits", "team")


@pytest.mark.usefixtures("ending")
def test_a_job_that_left_no_model_fails_the_step(client: TrainingClient) -> None:
    with pytest.raises(KubedlError, match="made no model"):
        run_step(client, manifest(modelVersion=MODEL))


def test_a_failed_build_fails_the_step(api: ApiServer, client: TrainingClient, ending: dict[str, Any]) -> None:
    ending["modelVersionName"] = "mv-1"
    version(api, imageBuildPhase="ImageBuildFailed", message="TagConflict")
    with pytest.raises(KubedlError, match="the image of mv-1 was not built") as failure:
        run_step(client, manifest(modelVersion=MODEL))
    assert (failure.value.why, failure.value.next) == ("TagConflict", ("kubedl why modelversion/mv-1",))


def test_the_time_limit_holds_for_the_build_too(
    api: ApiServer, client: TrainingClient, ending: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Time passes while the image is built, however long the machine takes for the job."""
    ending["modelVersionName"] = "mv-1"
    version(api, imageBuildPhase="ImageBuilding")
    clock = SimpleNamespace(monotonic=lambda: 60.0 * sum(call.path.endswith("/mv-1") for call in api.calls))
    monkeypatch.setattr(pipelines, "time", clock)
    with pytest.raises(WaitTimeout, match="the image of mv-1"):
        run_step(client, manifest(modelVersion=MODEL), timeout=60)


@pytest.mark.usefixtures("ending")
def test_a_step_that_starts_again_finds_its_job(api: ApiServer, client: TrainingClient) -> None:
    start = {**manifest(), "metadata": {"generateName": "digits-"}}
    first = run_step(client, start, run="run-1")
    assert run_step(client, start, run="run-1") == first
    made = [call for call in api.calls if call.method == "POST"]
    assert made[0].body["metadata"]["labels"] == {RUN_LABEL: "run-1"}
    assert [path for path in api.objects if "/pytorchjobs/" in path] == [
        f"{GROUP}/namespaces/team/pytorchjobs/{first.job}"
    ]


def test_the_job_of_another_run_is_not_taken_for_its_own(api: ApiServer, client: TrainingClient) -> None:
    api.job("digits", status=SUCCEEDED, metadata={"labels": {RUN_LABEL: "run-1"}})
    for run in ("", "run-2"):
        with pytest.raises(AlreadyExists):
            run_step(client, manifest(), run=run)


def test_runs_that_are_no_labels_are_told_apart() -> None:
    labels = {pipelines._label(run) for run in ("a b", "a c", "x" * 64, "x" * 65, "-a")}  # noqa: SLF001
    assert len(labels) == 5
    assert all(len(label) <= 63 and label.isalnum() for label in labels)


@pytest.mark.parametrize("metadata", [{}, {"name": "x", "namespace": "other"}])
def test_a_manifest_without_a_name_or_for_elsewhere(client: TrainingClient, metadata: dict[str, str]) -> None:
    with pytest.raises(Invalid):
        run_step(client, {**manifest(), "metadata": metadata})


class TestProcess:
    """`kubedl pipeline-step`, which the component starts."""

    @pytest.fixture
    def kubeconfig(self, api: ApiServer, tmp_path: Path) -> str:
        path = tmp_path / "kubeconfig"
        cluster = f"{{name: c, cluster: {{server: '{api.url}'}}}}"
        context = "{name: c, context: {cluster: c, user: c, namespace: team}}"
        path.write_text(
            f"clusters: [{cluster}]\ncontexts: [{context}]\ncurrent-context: c\nusers: [{{name: c, user: {{}}}}]\n"
        )
        return str(path)

    def test_names_are_written_to_files(
        self,
        api: ApiServer,
        ending: dict[str, Any],
        tmp_path: Path,
        kubeconfig: str,
        capsys: pytest.CaptureFixture[str],
    ) -> None:
        ending["modelVersionName"] = "mv-1"
        version(api, imageBuildPhase="ImageBuildSucceeded", image="i@sha256:1")
        files = {name: tmp_path / "outputs" / name / "data" for name in ("job-name", "model-version", "model-image")}
        words = [word for name, file in files.items() for word in (f"--write-{name}", str(file))]
        job = "{kind: PyTorchJob, metadata: {name: digits}, spec: {modelVersion: {modelName: digits}}}"
        empty = ["--run", "", "--namespace", "", "--timeout", ""]
        assert command.main(["pipeline-step", "--kubeconfig", kubeconfig, "--job", job, *empty, *words]) == 0
        assert [file.read_text() for file in files.values()] == ["digits", "mv-1", "i@sha256:1"]
        assert capsys.readouterr().out.splitlines()[-1] == "digits succeeded, model version mv-1"

    def test_the_exit_code_is_that_of_the_job(
        self, api: ApiServer, ending: dict[str, Any], kubeconfig: str, capsys: pytest.CaptureFixture[str]
    ) -> None:
        ending |= {"state": "Failed", "conditions": [{"type": "Failed", "status": "True"}]}
        api.pod("digits", "master", 0, **ended(7))
        file = Path(kubeconfig).with_name("job.yaml")
        file.write_text("{kind: PyTorchJob, metadata: {name: digits}, spec: {}}")
        assert pipeline_step.main(["--kubeconfig", kubeconfig, "--job-file", str(file), "--no-logs"]) == 7
        assert capsys.readouterr().err.startswith("error: ")

    @pytest.mark.parametrize("job", ["[1]", "{", "{kind: PyTorchJob}"])
    def test_a_manifest_that_is_none(self, kubeconfig: str, capsys: pytest.CaptureFixture[str], job: str) -> None:
        assert pipeline_step.main(["--kubeconfig", kubeconfig, "--job", job]) == 125
        assert capsys.readouterr().err.startswith("error: the ")


def test_a_failed_job_fails_the_step(api: ApiServer, client: TrainingClient, ending: dict[str, Any]) -> None:
    ending |= {"state": "Failed", "conditions": [{"type": "Failed", "status": "True"}]}
    api.pod("digits", "master", 0, **ended(3))
    with pytest.raises(JobFailed) as failure:
        run_step(client, manifest())
    assert failure.value.exit_code == 3


def test_the_component_names_an_image_and_nothing_else() -> None:
    assert "\n    image: registry.example/kubedl:0.1\n" in component("registry.example/kubedl:0.1")
    with pytest.raises(ValueError, match="is no image"):
        component("a\n    command: [sh]")
