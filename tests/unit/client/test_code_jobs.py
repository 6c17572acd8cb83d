"""`train`: on the stand-in server, on this machine, and from an event loop; and Kubeflow's names."""

import asyncio
import base64
import threading
import warnings
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from kubedl.client import AsyncTrainingClient, Invalid, JobFailed, NotFound, NotSupported, TrainingClient, WaitTimeout
from kubedl.client.code_jobs import function_manifest
from kubedl.client.kubeflow_arguments import kind_of_runtime
from kubedl.client.local_client import LocalClient
from kubedl.kube import codec
from kubedl.kube.sync_credentials import Overrides
from kubedl.training.kinds import all_kinds
from tests.unit.client.api_server import GROUP, ApiServer, ended, running, until

MAPS = "/api/v1/namespaces/team/configmaps"


def work(epochs: int = 1, code: int = 0) -> dict[str, object]:
    import os
    import sys

    print(f"rank {os.environ['RANK']} of {os.environ['WORLD_SIZE']}", flush=True)
    if code and os.environ["RANK"] == "1":
        sys.exit(code)
    return {"epochs": epochs}


def sleep() -> None:
    import time

    time.sleep(60)


class TestManifest:
    """The job of a request."""

    def test_everything(self) -> None:
        manifest, archive = function_manifest(
            work,
            name="digits",
            image="i",
            num_workers=3,
            num_procs_per_worker=2,
            resources_per_worker={"gpu": 1, "cpu": 4, "amd.com/gpu": 2},
            env={"A": "b"},
            packages_to_install=["a b", "c"],
            data={"claim": "/data"},
            queue_name="q",
            labels={"x": "y"},
        )
        assert archive is not None
        types = {kind.kind: kind.type for kind in all_kinds()}
        codec.decode(codec.encode(manifest), types["PyTorchJob"])
        roles = manifest["spec"]["pytorchReplicaSpecs"]
        assert {role: value["replicas"] for role, value in roles.items()} == {"Master": 1, "Worker": 2}
        (container,) = roles["Worker"]["template"]["spec"]["containers"]
        assert container["command"] == [
            "sh",
            "-c",
            "python3 -m pip install --quiet 'a b' c && exec torchrun /kubedl-files/code.pyz",
        ]
        assert container["resources"]["limits"] == {"nvidia.com/gpu": "1", "cpu": "4", "amd.com/gpu": "2"}
        assert manifest["spec"]["schedulingPolicy"] == {"queue": "q"}
        assert manifest["spec"]["nprocPerNode"] == 2

    def test_runtimes_of_kubeflow(self) -> None:
        for runtime, framework in (("torch", "pytorch"), ("jax", "jax"), ("mpi", "mpi")):
            assert kind_of_runtime(f"{runtime}-distributed").lower() == f"{framework}job"
        with pytest.raises(NotSupported):
            kind_of_runtime("deepspeed-x")

    def test_no_image(self) -> None:
        with pytest.raises(Invalid, match="no image"):
            function_manifest(work)


class TestCluster:
    """On a server."""

    def test_the_code_is_there_before_the_job_and_then_its_own(self, api: ApiServer, client: TrainingClient) -> None:
        job = client.train(work, name="digits", image="i", args={"epochs": 2})
        writes = [(call.method, call.path) for call in api.calls if call.method != "GET"]
        (name,) = [path.rpartition("/")[2] for path in api.objects if path.startswith(MAPS)]
        assert name.startswith("digits-files-")
        assert writes == [
            ("POST", MAPS),
            ("POST", f"{GROUP}/namespaces/team/pytorchjobs"),
            ("PATCH", f"{MAPS}/{name}"),
        ]
        files = api.objects[f"{MAPS}/{name}"]
        assert files["metadata"]["ownerReferences"][0]["uid"] == job.uid
        assert base64.b64decode(files["binaryData"]["code.pyz"])[:2] == b"PK"
        pod = job.manifest["spec"]["pytorchReplicaSpecs"]["Master"]["template"]["spec"]
        assert pod["volumes"] == [{"name": "kubedl-files", "configMap": {"name": name}}]

    def test_a_submit_that_broke_off_is_repeated(self, api: ApiServer, client: TrainingClient) -> None:
        path = client.train(work, name="digits", image="i")
        api.delete(f"{GROUP}/namespaces/team/pytorchjobs/{path.name}")
        assert client.train(work, name="digits", image="i").name == "digits"

    def test_the_result_of_rank_0(self, api: ApiServer, client: TrainingClient) -> None:
        client.train(work, name="digits", image="i")
        assert client.get_job_result("digits") is None
        status = ended(0)
        status["containerStatuses"][0]["state"]["terminated"]["message"] = '{"loss": 1}'
        api.pod("digits", "master", 0, **status)
        assert client.get_job_result("digits") == {"loss": 1}

    def test_a_trainer_of_kubeflow(self, client: TrainingClient) -> None:
        @dataclass
        class CustomTrainer:
            func: Any = work
            func_args: dict[str, int] = field(default_factory=lambda: {"epochs": 3})
            num_nodes: int = 2
            image: str = "i"

        job = client.train(trainer=CustomTrainer(), runtime="torch-distributed", name="x")
        assert job.manifest["spec"]["pytorchReplicaSpecs"]["Worker"]["replicas"] == 1
        with pytest.raises(NotSupported):
            client.train(name="x", model_provider_parameters={})

    def test_names_of_kubeflow(self, api: ApiServer, client: TrainingClient) -> None:
        conditions = [{"type": "Created", "status": "True"}, {"type": "Succeeded", "status": "True"}]
        api.job("bert", status={"state": "Succeeded", "conditions": conditions})
        api.pod("bert", "master", 0, **running())
        api.pod("bert", "worker", 1, **running())
        assert client.get_job_conditions("bert") == conditions
        assert client.is_job_created("bert")
        assert client.is_job_succeeded("bert")
        assert not client.is_job_running("bert")
        assert not client.is_job_restarting("bert")
        assert not client.is_job_failed("bert")
        assert client.wait_for_job_conditions("bert", job_kind="PyTorchJob", polling_interval=3).name == "bert"
        assert client.get_job_pod_names("bert") == ["bert-master-0", "bert-worker-1"]
        assert client.get_job_pod_names("bert", is_master=True) == ["bert-master-0"]
        assert client.get_job_pod_names("bert", replica_type="Worker", replica_index=1) == ["bert-worker-1"]

    def test_suspend_resume_and_scale(self, api: ApiServer, client: TrainingClient) -> None:
        roles = {"Master": {"replicas": 1}, "Worker": {"replicas": 3}}
        path = api.job("bert", spec={"pytorchReplicaSpecs": roles, "suspend": True})
        assert client.scale_job("bert", workers=2).spec["pytorchReplicaSpecs"]["Worker"]["replicas"] == 1
        assert client.resume_job("bert").spec["suspend"] is False
        assert client.suspend_job("bert").spec["suspend"] is True
        api.objects[path]["status"] = {"conditions": [{"type": "Failed", "status": "True"}]}
        with pytest.raises(Invalid, match="has ended"):
            client.scale_job("bert", workers=2)

    def test_a_size_that_is_refused_does_not_stop_the_job(self, api: ApiServer, client: TrainingClient) -> None:
        spec = {"pytorchReplicaSpecs": {"Master": {"replicas": 1}, "Worker": {"replicas": 3}}}
        path = api.job("bert", spec=spec, status={"state": "Running"})

        def suspend() -> None:
            until("a patch", lambda: bool(api.objects[path]["spec"].get("suspend")))
            refusal = {"kind": "Status", "reason": "Invalid", "code": 422, "message": "minAvailable is larger"}
            api.refusals[f"PATCH {path}"] = (422, refusal)
            conditions = [{"type": "Suspended", "status": "True"}]
            api.put(path, {**api.objects[path], "status": {"conditions": conditions}})

        threading.Thread(target=suspend).start()
        with pytest.raises(Invalid, match="cannot change"):
            client.scale_job("bert", workers=2)
        changes = [call.body["spec"] for call in api.calls if call.method == "PATCH"]
        assert (changes[0], changes[-1], len(changes)) == ({"suspend": True}, {"suspend": False}, 3)

    def test_an_elastic_job_is_scaled_in_place(self, api: ApiServer, client: TrainingClient) -> None:
        spec = {"pytorchReplicaSpecs": {"Worker": {"replicas": 3}}, "elastic": {"minReplicas": 1, "maxReplicas": 4}}
        api.job("bert", spec=spec, status={"state": "Running"})
        assert client.scale_job("bert", workers=2).spec["pytorchReplicaSpecs"]["Worker"]["replicas"] == 2
        assert [call.method for call in api.calls].count("PATCH") == 1


class TestEventLoop:
    """From an event loop."""

    async def test_the_same_operations(self, api: ApiServer) -> None:
        api.job("bert", status={"state": "Running"})
        api.pod("bert", "worker", 0, **running())
        api.logs["bert-worker-0"] = ["2026-01-01T00:00:01.000000001Z one\n2026-01-01T00:00:02.000000001Z two\n"]
        async with AsyncTrainingClient(namespace="team", overrides=Overrides(server=api.url)) as client:
            jobs, job = await asyncio.gather(client.list_jobs(), client.get_job("bert"))
            assert [one.name for one in jobs] == [job.name] == ["bert"]
            assert [str(line) async for line in client.get_job_logs("bert")] == ["one", "two"]
            with pytest.raises(NotFound):
                await client.get_job("nothing")
            with pytest.raises(NotFound):
                [line async for line in client.get_job_logs("nothing")]
            assert client.namespace == "team"


class TestLocal:
    """On this machine."""

    @pytest.fixture
    def local(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Any:  # noqa: ANN401
        monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
        return TrainingClient(backend="local")

    def test_a_function_in_processes(self, local: LocalClient) -> None:
        with warnings.catch_warnings(record=True) as said:
            warnings.simplefilter("always")
            job = local.train(work, name="digits", num_workers=2, args={"epochs": 4}, queue_name="a")
        assert "queue_name" in str(said[0].message)
        lines = sorted(f"{line.replica}: {line}" for line in local.get_job_logs(job.name, follow=True))
        assert lines == ["master-0: rank 0 of 2", "worker-0: rank 1 of 2"]
        assert local.wait_for_job_status(job.name, timeout=30).is_succeeded
        assert local.get_job_result(job.name) == {"epochs": 4}
        assert [one.name for one in local.list_jobs()] == ["digits"]
        local.delete_job(job.name)
        with pytest.raises(NotFound):
            local.get_job(job.name)

    def test_an_exit_code(self, local: LocalClient) -> None:
        job = local.train(work, num_workers=2, args={"code": 7})
        with pytest.raises(JobFailed, match="worker-0 failed with exit code 7") as raised:
            local.wait_for_job_status(job.name, timeout=30)
        assert raised.value.exit_code == 7

    def test_a_job_that_is_deleted_ends(self, local: LocalClient) -> None:
        job = local.train(sleep, name="slow")
        with pytest.raises(WaitTimeout):
            local.wait_for_job_status(job.name, timeout=0.2)
        local.delete_job("slow")
        assert not local.list_jobs()
