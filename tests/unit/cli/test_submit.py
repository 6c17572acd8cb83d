"""`kubedl submit pytorch`: flags become the manifest that a person would write."""

import json
import os
from pathlib import Path
from typing import Any

import pytest
import yaml

from kubedl.api.training import GROUP as API_GROUP
from kubedl.kube import codec
from kubedl.training.kinds.pytorch import PyTorch
from tests.unit.cli.conftest import Run
from tests.unit.client.api_server import GROUP, ApiServer, ended

BASE = ("--name", "bert", "--image", "team/torch:2.6")


@pytest.fixture
def manifest(run: Run) -> Any:  # noqa: ANN401
    """Returns the manifest of flags, read as the operator reads it."""

    def made(*flags: str) -> dict[str, Any]:
        answer = run("submit", "pytorch", "--dry-run=client", *BASE, *flags)
        assert (answer.code, answer.err) == (0, "")
        found: dict[str, Any] = yaml.safe_load(answer.out)
        codec.decode(codec.encode(found), PyTorch.type)
        return found

    return made


def _container(found: dict[str, Any], role: str = "Master") -> dict[str, Any]:
    container: dict[str, Any] = _pod(found, role)["containers"][0]
    return container


def _pod(found: dict[str, Any], role: str = "Master") -> dict[str, Any]:
    spec: dict[str, Any] = found["spec"]["pytorchReplicaSpecs"][role]["template"]["spec"]
    return spec


def test_the_manifest_of_the_design(manifest: Any) -> None:  # noqa: ANN401
    words = ("--workers", "4", "--gpus", "8", "--queue", "team-a", "--data", "corpus:/data", "torchrun train.py")
    found = manifest(*words)
    template = {
        "spec": {
            "containers": [
                {
                    "name": "pytorch",
                    "image": "team/torch:2.6",
                    "command": ["sh", "-c", "torchrun train.py"],
                    "resources": {"limits": {"nvidia.com/gpu": "8"}},
                    "volumeMounts": [
                        {"name": "data-0", "mountPath": "/data"},
                        {"name": "shm", "mountPath": "/dev/shm"},  # noqa: S108
                    ],
                }
            ],
            "volumes": [
                {"name": "data-0", "persistentVolumeClaim": {"claimName": "corpus"}},
                {"name": "shm", "emptyDir": {"medium": "Memory", "sizeLimit": "2Gi"}},
            ],
        }
    }
    assert found == {
        "apiVersion": f"{API_GROUP}/v1alpha1",
        "kind": "PyTorchJob",
        "metadata": {"name": "bert", "namespace": "team"},
        "spec": {
            "backoffLimit": 3,
            "schedulingPolicy": {"queue": "team-a"},
            "pytorchReplicaSpecs": {
                "Master": {"replicas": 1, "template": template},
                "Worker": {"replicas": 3, "template": template},
            },
        },
    }


def test_one_worker_is_the_master_alone(manifest: Any) -> None:  # noqa: ANN401
    assert list(manifest()["spec"]["pytorchReplicaSpecs"]) == ["Master"]


def test_several_words_are_a_program_and_its_arguments(manifest: Any) -> None:  # noqa: ANN401
    assert _container(manifest("--", "python", "train.py", "--lr", "3"))["command"] == [
        "python",
        "train.py",
        "--lr",
        "3",
    ]
    assert _container(manifest("--shell", "bash", "a && b"))["command"] == ["bash", "-c", "a && b"]
    assert "command" not in _container(manifest())


def test_resources(manifest: Any) -> None:  # noqa: ANN401
    found = _container(manifest("--cpu", "4", "--memory", "8Gi", "--memory-limit", "16Gi", "--device", "amd.com/gpu=2"))
    assert found["resources"] == {
        "requests": {"cpu": "4", "memory": "8Gi"},
        "limits": {"cpu": "4", "memory": "16Gi", "amd.com/gpu": "2"},
    }
    assert {"name": "NVIDIA_VISIBLE_DEVICES", "value": "void"} in _container(manifest("--gpus", "0"))["env"]


def test_variables(manifest: Any, monkeypatch: pytest.MonkeyPatch) -> None:  # noqa: ANN401
    monkeypatch.setenv("WANDB", "on")
    found = _container(manifest("-e", "A=b=c", "-e", "WANDB", "-e", "KEY=secret:login/token"))["env"]
    assert found == [
        {"name": "A", "value": "b=c"},
        {"name": "WANDB", "value": "on"},
        {"name": "KEY", "valueFrom": {"secretKeyRef": {"name": "login", "key": "token"}}},
    ]


def test_mounts(manifest: Any) -> None:  # noqa: ANN401
    found = manifest("-d", "c/sub:/a:ro", "-d", "c:/b", "--data-dir", "/mnt:/m", "--share-memory", "0")
    assert [one["name"] for one in _pod(found)["volumes"]] == ["data-0", "data-1"]
    assert _container(found)["volumeMounts"] == [
        {"name": "data-0", "mountPath": "/a", "subPath": "sub", "readOnly": True},
        {"name": "data-0", "mountPath": "/b"},
        {"name": "data-1", "mountPath": "/m"},
    ]


def test_places(manifest: Any) -> None:  # noqa: ANN401
    found = manifest(
        *("--toleration", "all", "--toleration", "gpu", "--toleration", "a=b:NoSchedule,Equal", "--selector", "pool=a"),
        *("--priority", "prod", "--gang", "--workers", "2", "--scheduler", "mine", "--service-account", "me"),
    )
    assert _pod(found)["tolerations"] == [
        {"operator": "Exists"},
        {"key": "gpu", "operator": "Exists"},
        {"key": "a", "operator": "Equal", "value": "b", "effect": "NoSchedule"},
    ]
    assert found["spec"]["schedulingPolicy"] == {"priorityClassName": "prod", "minAvailable": 2}
    assert (_pod(found)["schedulerName"], _pod(found)["serviceAccountName"]) == ("mine", "me")


def test_policies_labels_and_addons(manifest: Any) -> None:  # noqa: ANN401
    found = manifest(
        *("--retry", "0", "--running-timeout", "2h", "--ttl-after-finished", "1d", "--clean-task-policy", "All"),
        *("--label", "team=a", "--annotation", "why=test", "--nproc-per-node", "8", "--working-dir", "/src"),
        *("--sync-source", "https://git.example/a/repo.git", "--sync-branch", "main", "--sync-secret", "login"),
        *("--model-name", "m", "--model-repo", "hub/m", "--model-storage", "pvc://team/models/m"),
        *("--tensorboard", "--logdir", "/logs", "--data", "logs:/logs"),
    )
    spec = {name: value for name, value in found["spec"].items() if name != "pytorchReplicaSpecs"}
    assert spec == {
        "backoffLimit": 0,
        "activeDeadlineSeconds": 7200,
        "ttlSecondsAfterFinished": 86400,
        "cleanPodPolicy": "All",
        "nprocPerNode": 8,
        "codeSource": {
            "repository": "https://git.example/a/repo.git",
            "branch": "main",
            "secretName": "login",
            "destination": "code/repo",
        },
        "modelVersion": {
            "modelName": "m",
            "imageRepo": "hub/m",
            "storage": {"claim": {"claimName": "models", "subPath": "m"}},
        },
        "tensorBoard": {"logDir": "/logs"},
    }
    template = found["spec"]["pytorchReplicaSpecs"]["Master"]["template"]
    assert template["metadata"] == {"labels": {"team": "a"}, "annotations": {"why": "test"}}
    assert found["metadata"]["labels"] == {"team": "a"}
    assert _container(found)["workingDir"] == "/src"


@pytest.mark.parametrize(
    ("flags", "what"),
    [
        (("--gpu", "8"), "no such option: --gpu"),
        (("--data", "corpus"), "--data corpus is not understood"),
        (("--toleration", "a=b:Never"), "--toleration a=b:Never is not understood"),
        (("--env", "NOT_THERE"), "--env NOT_THERE: the shell has no such variable"),
        (("--env", "A=secret:x"), "--env A=secret:x is not understood"),
        (("--model-name", "m"), "--model-name needs --model-repo"),
        (("--logdir", "/l"), "--logdir needs --tensorboard"),
        (("--sync-branch", "main"), "--sync-branch needs --sync-source"),
        (
            ("--model-name", "m", "--model-repo", "r", "--model-storage", "s3://b"),
            "--model-storage s3://b: storage is a volume",
        ),
        (("--timeout", "1m"), "--timeout needs --wait"),
        (("--timeout", "soon"), "invalid value for '--timeout': 'soon' is no duration"),
        (("--workers", "0"), "invalid value for '--workers'"),
    ],
)
def test_wrong_use_is_said_and_nothing_is_sent(run: Run, api: ApiServer, flags: tuple[str, ...], what: str) -> None:
    answer = run("submit", "pytorch", *BASE, *flags)
    assert answer.code == 2
    assert answer.err.startswith(f"error: {what}")
    assert "  next  " in answer.err
    assert not api.calls


class TestSend:
    """To the server."""

    def test_it_is_created(self, run: Run, api: ApiServer) -> None:
        answer = run("submit", "pytorch", *BASE, "python train.py")
        assert (answer.code, answer.out, answer.err) == (0, "pytorchjob/bert created in team\n", "")
        assert f"{GROUP}/namespaces/team/pytorchjobs/bert" in api.objects
        assert run("submit", "pytorch", "--name", "two", "--image", "i", "-o", "name").out == "pytorchjob/two\n"
        out = run("submit", "pytorch", "--name", "three", "--image", "i", "-o", "json").out
        assert json.loads(out)["metadata"]["name"] == "three"

    def test_who_submits_is_written_into_the_job(self, run: Run, api: ApiServer) -> None:
        """`list --mine` and the history read it; what was given stays, and a server that does not say is no reason."""
        path = "/apis/training.kubedl.io/v1alpha1/namespaces/team/pytorchjobs"
        run("submit", "pytorch", *BASE)
        assert api.objects[f"{path}/bert"]["metadata"]["annotations"] == {"kubedl.io/user": "alice"}
        run("submit", "pytorch", "--name", "b", "--image", "i", "-a", "kubedl.io/user=bob")
        assert api.objects[f"{path}/b"]["metadata"]["annotations"]["kubedl.io/user"] == "bob"
        reviews = "POST /apis/authentication.k8s.io/v1/selfsubjectreviews"
        api.refusals[reviews] = (404, {"kind": "Status", "reason": "NotFound", "code": 404, "message": "no"})
        assert run("submit", "pytorch", "--name", "c", "--image", "i").code == 0
        assert "annotations" not in api.objects[f"{path}/c"]["metadata"]

    def test_a_directory_is_shipped(self, run: Run, api: ApiServer, tmp_path: Path) -> None:
        """The job runs the archive, which runs the command in a copy of the directory."""
        (tmp_path / "train.py").write_text("print(1)")
        answer = run("submit", "pytorch", *BASE, "--code", str(tmp_path), "python train.py")
        assert (answer.code, answer.out) == (0, "pytorchjob/bert created in team\n"), answer.err
        assert answer.err == f"ships 1 file, 1 KiB, of {tmp_path.name}\n"
        (files,) = [value for path, value in api.objects.items() if "/configmaps/" in path]
        assert files["metadata"]["ownerReferences"][0]["name"] == "bert"
        spec = api.objects[f"{GROUP}/namespaces/team/pytorchjobs/bert"]["spec"]["pytorchReplicaSpecs"]["Master"]
        container = spec["template"]["spec"]["containers"][0]
        assert container["command"] == ["python3", "/kubedl-files/code.pyz"]
        assert container["volumeMounts"][-1]["mountPath"] == "/kubedl-files"
        assert run("submit", "pytorch", "--name", "x", "--image", "i", "--code", str(tmp_path)).code == 2

    def test_the_server_may_be_asked_first(self, run: Run, api: ApiServer) -> None:
        assert "would be created" in run("submit", "pytorch", *BASE, "--dry-run=server").out
        assert next(call for call in api.calls if call.path.endswith("/pytorchjobs")).query == {"dryRun": "All"}

    def test_a_name_that_is_taken(self, run: Run, api: ApiServer) -> None:
        api.job("bert", status={"state": "Running"})
        answer = run("submit", "pytorch", *BASE)
        assert answer.code == 1
        assert answer.err == (
            "error: bert is taken: PyTorchJob in team, Running\n"
            "  why   a name is free again when its job is deleted\n"
            "  next  --name bert-2      or  kubedl get bert      or  kubedl delete bert\n"
        )

    @pytest.mark.parametrize(("flags", "code"), [((), 1), (("--wait",), 126)])
    def test_a_refusal(self, run: Run, api: ApiServer, flags: tuple[str, ...], code: int) -> None:
        body = {"kind": "Status", "code": 422, "reason": "Invalid", "message": "spec.x: bad\nspec.y: worse"}
        api.refusals[f"POST {GROUP}/namespaces/team/pytorchjobs"] = (422, body)
        answer = run("submit", "pytorch", *BASE, *flags)
        assert answer.code == code
        assert answer.err == (
            "error: cannot create pytorchjob/bert\n  why   spec.x: bad\n        spec.y: worse\n"
            "  next  correct this, and repeat the command\n"
        )

    def test_waiting_ends_with_the_exit_code_of_the_job(
        self, run: Run, api: ApiServer, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        put = api.put

        def fail_at_once(path: str, value: dict[str, Any], kind: str = "") -> None:
            if "pytorchjobs" in path:
                value["status"] = {"state": "Failed", "conditions": [{"type": "Failed", "status": "True"}]}
            put(path, value, kind)

        monkeypatch.setattr(api, "put", fail_at_once)
        api.pod("bert", "worker", 0, **ended(7))
        answer = run("submit", "pytorch", *BASE, "--wait")
        assert (answer.code, answer.out) == (7, "pytorchjob/bert created in team\n")


def test_the_environment_is_not_sent_unasked(manifest: Any) -> None:  # noqa: ANN401
    assert os.environ["PATH"] not in json.dumps(manifest())
