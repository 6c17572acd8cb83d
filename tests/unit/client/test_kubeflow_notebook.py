"""A notebook for Kubeflow's client with a few lines changed, and what `create_job` makes of Kubeflow's words."""

import base64
import io
import json
import os
import subprocess
import sys
import threading
import zipfile
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, ClassVar

import pytest

from harness.drivers import kubeflow_notebook
from kubedl.client import Conflict, Invalid, NotSupported, TrainingClient
from tests.unit.client.api_server import GROUP, ApiServer, ended, until

ROOT = Path(__file__).parents[3]
JOB = f"{GROUP}/namespaces/team/pytorchjobs/digits"


def work(parameters: dict[str, float]) -> dict[str, float]:
    return {"lr": parameters["lr"]}


def test_the_notebook_runs_with_at_most_five_lines_changed(api: ApiServer, tmp_path: Path) -> None:
    """On a server that runs the job at once; tests/e2e runs it in containers."""
    print("\n".join(kubeflow_notebook.difference()))
    assert kubeflow_notebook.lines_changed() <= 5
    script = tmp_path / "notebook.py"
    script.write_text(kubeflow_notebook.changed())
    kubeconfig = {"clusters": [{"name": "c", "cluster": {"server": api.url}}], "current-context": "c"}
    kubeconfig |= {
        "contexts": [{"name": "c", "context": {"cluster": "c", "user": "u"}}],
        "users": [{"name": "u", "user": {}}],
    }
    (tmp_path / "config").write_text(json.dumps(kubeconfig))
    threading.Thread(target=_operate, args=(api,), daemon=True).start()
    own = {"NAMESPACE": "team", "IMAGE": "i", "KUBECONFIG": str(tmp_path / "config"), "PYTHONPATH": str(ROOT / "src")}
    done = subprocess.run(
        [sys.executable, str(script)],
        env={**os.environ, **own},
        capture_output=True,
        text=True,
        check=False,
        timeout=60,
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout.splitlines() == [
        "jobs: ['digits']",
        "succeeded: True",
        "pods: ['digits-master-0', 'digits-worker-0']",
        "digits-master-0 Succeeded",
        "digits-worker-0 Succeeded",
        "hello from rank 0 of 2, learning rate 0.1",
        "",
    ]
    assert JOB not in api.objects


def _operate(api: ApiServer) -> None:
    until("watch", lambda: any(call.query.get("watch") for call in api.calls), 50)
    job = api.objects[JOB]
    for role, index in (("master", 0), ("worker", 0)):
        api.logs[f"digits-{role}-{index}"] = ["2026-01-01T00:00:01Z hello from rank 0 of 2, learning rate 0.1\n"]
        api.pod("digits", role, index, **ended(0))
    done = {"state": "Succeeded", "conditions": [{"type": "Succeeded", "status": "True"}]}
    api.put(JOB, {**job, "status": done})


class V1EnvVar:
    """An object as the `kubernetes` package has it: it knows the names of its fields."""

    attribute_map: ClassVar = {"name": "name", "value": "value", "value_from": "valueFrom"}

    def __init__(self, name: str, value: str | None = None, value_from: object = None) -> None:
        self.name, self.value, self.value_from = name, value, value_from


class V1ResourceRequirements:
    """Another one."""

    attribute_map: ClassVar = {"limits": "limits", "requests": "requests"}

    def __init__(self, limits: dict[str, str], requests: dict[str, str] | None = None) -> None:
        self.limits, self.requests = limits, requests


class TestCreateJob:
    """Kubeflow's arguments."""

    def test_a_function(self, api: ApiServer, client: TrainingClient) -> None:
        job = client.create_job(
            name="digits",
            train_func=work,
            parameters={"lr": 0.1},
            base_image="i",
            num_workers=3,
            num_procs_per_worker="auto",
            resources_per_worker={"gpu": 1, "rdma/hca": 2},
            packages_to_install=["a"],
            pip_index_url="https://pypi.example/simple",
            env_vars=[V1EnvVar("A", "b"), V1EnvVar("S", value_from={"secretKeyRef": {"name": "s", "key": "k"}})],
            queue_name="team-a",
            volumes=[{"name": "v", "emptyDir": {}}],
            volume_mounts=[{"name": "v", "mountPath": "/v"}],
            labels={"x": "y"},
            annotations={"n": "m"},
        )
        roles = job.spec["pytorchReplicaSpecs"]
        assert {role: value["replicas"] for role, value in roles.items()} == {"Master": 1, "Worker": 2}
        assert (job.queue, job.metadata["labels"], job.metadata["annotations"]) == ("team-a", {"x": "y"}, {"n": "m"})
        pod = roles["Master"]["template"]["spec"]
        (container,) = pod["containers"]
        install = "python3 -m pip install --quiet --index-url https://pypi.example/simple a"
        assert container["command"] == ["sh", "-c", f"{install} && exec torchrun /kubedl-files/code.pyz"]
        assert container["resources"]["limits"] == {"nvidia.com/gpu": "1", "rdma/hca": "2"}
        assert container["env"] == [
            {"name": "A", "value": "b"},
            {"name": "S", "valueFrom": {"secretKeyRef": {"name": "s", "key": "k"}}},
            {"name": "PET_NPROC_PER_NODE", "value": "auto"},
        ]
        assert [volume["name"] for volume in pod["volumes"]] == ["v", "kubedl-files"]
        assert [mount["mountPath"] for mount in container["volumeMounts"]] == ["/v", "/kubedl-files"]

    def test_parameters_are_one_argument(self, api: ApiServer, client: TrainingClient, tmp_path: Path) -> None:
        """`train` passes keywords; Kubeflow 1.9 passes a dict."""
        client.create_job(name="digits", train_func=work, parameters={"lr": 0.5}, base_image="i")
        [files] = [value for path, value in api.objects.items() if "/configmaps/" in path]
        archive = base64.b64decode(files["binaryData"]["code.pyz"])
        order = json.loads(zipfile.ZipFile(io.BytesIO(archive)).read("order.json"))
        assert (order["positional"], order["args"]) == ([{"lr": 0.5}], {})
        (tmp_path / "code.pyz").write_bytes(archive)
        own = {"KUBEDL_RESULT": str(tmp_path / "result"), "RANK": "0"}
        subprocess.run([sys.executable, str(tmp_path / "code.pyz")], env={**os.environ, **own}, check=True)
        assert json.loads((tmp_path / "result").read_text()) == {"lr": 0.5}

    def test_an_image_with_its_own_command(self, client: TrainingClient) -> None:
        limits = V1ResourceRequirements({"cpu": "2"})
        job = client.create_job(name="x", base_image="i", num_workers=1, resources_per_worker=limits)
        (container,) = job.spec["pytorchReplicaSpecs"]["Master"]["template"]["spec"]["containers"]
        assert container == {"name": "pytorch", "image": "i", "resources": {"limits": {"cpu": "2"}}}

    def test_chiefs_and_parameter_servers(self, client: TrainingClient) -> None:
        job = client.create_job(
            name="x", base_image="i", job_kind="TFJob", num_workers=2, num_chief_replicas=1, num_ps_replicas=3
        )
        roles = {role: value["replicas"] for role, value in job.spec["tfReplicaSpecs"].items()}
        assert roles == {"Worker": 2, "Chief": 1, "PS": 3}
        with pytest.raises(Invalid, match="a PyTorchJob has no chiefs"):
            client.create_job(name="y", base_image="i", num_ps_replicas=1)

    def test_a_file(self, client: TrainingClient, tmp_path: Path) -> None:
        file = tmp_path / "job.yaml"
        file.write_text("apiVersion: training.kubedl.io/v1alpha1\nkind: TFJob\nmetadata: {name: bert}\nspec: {}\n")
        assert str(client.create_job(file)) == "tfjob/bert"

    def test_what_is_missing(self, client: TrainingClient) -> None:
        with pytest.raises(Invalid, match="no name"):
            client.create_job(train_func=work, base_image="i")
        with pytest.raises(Invalid, match="no image"):
            client.create_job(name="x", train_func=work)
        with pytest.raises(NotSupported, match="PyTorchJob is a job of Kubeflow") as raised:
            client.create_job({"apiVersion": "kubeflow.org/v1", "kind": "PyTorchJob", "metadata": {"name": "x"}})
        assert raised.value.next == ("docs/how-to/migrate-from-training-operator.md",)
        with pytest.raises(Invalid, match="no manifest"):
            client.create_job({"spec": {}})


class TestTrain:
    """Words of the SDK 0.5, and of 1.9's `train`."""

    @pytest.mark.parametrize("name", ["model_provider_parameters", "dataset_provider_parameters", "trainer_parameters"])
    def test_fine_tuning_is_refused_with_the_page(self, api: ApiServer, client: TrainingClient, name: str) -> None:
        wishes: dict[str, Any] = {name: object()}
        with pytest.raises(NotSupported, match=f"train has no {name}") as raised:
            client.train(**wishes)
        assert "docs/how-to/train-from-python.md" in raised.value.next
        assert (ROOT / "docs/how-to/train-from-python.md").is_file()
        assert not [call for call in api.calls if call.method == "POST"]

    def test_a_trainer(self, client: TrainingClient) -> None:
        @dataclass
        class CustomTrainer:
            func: Any = work
            func_args: dict[str, Any] = field(default_factory=lambda: {"parameters": {"lr": 1}})
            image: str = "i"
            packages_to_install: list[str] = field(default_factory=lambda: ["a"])
            pip_index_urls: list[str] = field(default_factory=lambda: ["https://one", "https://two"])
            num_nodes: int = 2
            resources_per_node: dict[str, int] = field(default_factory=lambda: {"cpu": 1})
            env: dict[str, str] = field(default_factory=lambda: {"A": "b"})

        job = client.train(trainer=CustomTrainer(), runtime="tensorflow-distributed", name="x")
        assert (job.kind, job.spec["tfReplicaSpecs"]["Worker"]["replicas"]) == ("TFJob", 2)
        (container,) = job.spec["tfReplicaSpecs"]["Worker"]["template"]["spec"]["containers"]
        assert "--index-url https://one --extra-index-url https://two a" in container["command"][2]

    def test_a_trainer_that_is_not_known(self, client: TrainingClient) -> None:
        class BuiltinTrainer:
            config = None

        with pytest.raises(NotSupported, match="train has no BuiltinTrainer"):
            client.train(trainer=BuiltinTrainer())


class Once(dict[str, tuple[int, dict[str, Any]]]):
    """Refusals of the first such request only."""

    def get(self, key: str, default: Any = None) -> Any:  # noqa: ANN401 - as of any dictionary
        return self.pop(key, default)


class TestUpdate:
    """A job that was read and changed."""

    def test_what_was_read_is_replaced(self, api: ApiServer, client: TrainingClient) -> None:
        path = api.job("bert", spec={"backoffLimit": 1}, metadata={"generation": 3})
        job = client.get_job("bert")
        api.put(path, {**api.objects[path], "status": {"state": "Running"}})
        changed = client.update_job({**job.manifest, "spec": {"backoffLimit": 2}})
        assert changed.spec == {"backoffLimit": 2}
        assert api.objects[path]["status"] == {"state": "Running"}

    def test_a_status_that_is_written_meanwhile_does_not_matter(self, api: ApiServer, client: TrainingClient) -> None:
        """The API server refuses the version that was read; the next one has the same spec."""
        path = api.job("bert", spec={"backoffLimit": 1}, metadata={"generation": 3})
        conflict = {"kind": "Status", "reason": "Conflict", "code": 409, "message": "the object has been modified"}
        api.refusals = Once({f"PUT {path}": (409, conflict)})
        changed = client.update_job({**client.get_job("bert").manifest, "spec": {"backoffLimit": 2}})
        assert changed.spec == {"backoffLimit": 2}
        assert [call.method for call in api.calls].count("PUT") == 2

    def test_a_server_that_always_refuses_is_given_up(self, api: ApiServer, client: TrainingClient) -> None:
        path = api.job("bert", spec={}, metadata={"generation": 3})
        conflict = {"kind": "Status", "reason": "Conflict", "code": 409, "message": "the object has been modified"}
        api.refusals[f"PUT {path}"] = 409, conflict
        with pytest.raises(Conflict, match="change pytorchjob/bert"):
            client.update_job(client.get_job("bert"))

    def test_somebody_else_changed_it(self, api: ApiServer, client: TrainingClient) -> None:
        path = api.job("bert", spec={}, metadata={"generation": 3})
        job = client.get_job("bert")
        api.put(path, {**api.objects[path], "metadata": {**api.objects[path]["metadata"], "generation": 4}})
        with pytest.raises(Conflict, match="bert is not changed"):
            client.update_job(job)


def test_a_connection_of_the_kubernetes_package(api: ApiServer) -> None:
    with pytest.raises(NotSupported, match="client_configuration"):
        TrainingClient(client_configuration=object())
    with TrainingClient(namespace="team", server=api.url, token="t") as client:  # noqa: S106 - no password
        client.list_jobs()
    assert api.calls[-1].headers["Authorization"] == "Bearer t"


def test_logs_by_pod(api: ApiServer, client: TrainingClient) -> None:
    api.job("bert")
    for index in (0, 1):
        api.logs[f"bert-worker-{index}"] = [f"2026-01-01T00:00:01Z of {index}\n2026-01-01T00:00:02Z end\n"]
        api.pod("bert", "worker", index, **ended(0))
    assert client.get_job_logs("bert").by_pod() == {"bert-worker-0": "of 0\nend\n", "bert-worker-1": "of 1\nend\n"}
    assert client.get_job_logs("bert", replicas="worker-1", tail=1).by_pod().keys() == {"bert-worker-1"}
    assert api.calls[-1].query["tailLines"] == "1"
