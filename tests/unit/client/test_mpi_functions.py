"""Functions and directories as MPIJobs: mpirun starts them in each rank."""

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from kubedl.client import Invalid, NotSupported, TrainingClient
from kubedl.client.code_jobs import function_manifest
from kubedl.kube import codec
from kubedl.training.kinds import all_kinds
from tests.unit.client import api_server
from tests.unit.client.api_server import ApiServer

MPI = next(kind for kind in all_kinds() if kind.kind == "MPIJob")
JOB = "/apis/training.kubedl.io/v1alpha1/namespaces/team/mpijobs/pi"
PROGRAM = ["python3", "/kubedl-files/code.pyz"]


def work(count: int = 1) -> int:
    print(f"works {count}", flush=True)
    return count


def _made(**wishes: Any) -> tuple[dict[str, Any], bytes | None]:  # noqa: ANN401 - those of train
    given = {"name": "pi", "image": "i", "job_kind": "MPIJob", "num_workers": 2, **wishes}
    return function_manifest(given.pop("func", None), **given)


def _container(manifest: dict[str, Any], role: str) -> dict[str, Any]:
    found: dict[str, Any] = manifest["spec"]["mpiReplicaSpecs"][role]["template"]["spec"]["containers"][0]
    return found


def test_the_launcher_starts_the_function_in_every_rank() -> None:
    wants: dict[str, Any] = {"gpu": 1, "cpu": 2}
    manifest, archive = _made(
        func=work, num_procs_per_worker=4, resources_per_worker=wants, data={"claim": "/data"}, env={"A": "b"}
    )
    assert archive is not None
    codec.decode(codec.encode(manifest), MPI.type)
    roles = manifest["spec"]["mpiReplicaSpecs"]
    assert {name: role["replicas"] for name, role in roles.items()} == {"Launcher": 1, "Worker": 2}
    assert manifest["spec"]["slotsPerWorker"] == 4
    launcher, worker = _container(manifest, "Launcher"), _container(manifest, "Worker")
    assert launcher["command"] == ["mpirun", "-np", "8", *PROGRAM]
    assert "command" not in worker  # the operator makes it sshd
    assert (worker["resources"]["limits"]["nvidia.com/gpu"], "resources" in launcher) == ("1", False)
    assert ([one["mountPath"] for one in worker["volumeMounts"]], "volumeMounts" in launcher) == (["/data"], False)
    assert launcher["env"] == worker["env"] == [{"name": "A", "value": "b"}]


def test_a_directory_is_unpacked_by_every_rank_and_a_command_is_the_launchers_own(tmp_path: Path) -> None:
    (tmp_path / "train.py").write_text("print(1)\n")
    with_code, archive = _made(code=tmp_path, command=["python3", "train.py"])
    assert archive is not None
    assert _container(with_code, "Launcher")["command"] == ["mpirun", "-np", "2", *PROGRAM]
    alone, archive = _made(command=["mpirun", "-np", "2", "python3", "/pi.py"])
    assert archive is None
    assert _container(alone, "Launcher")["command"] == ["mpirun", "-np", "2", "python3", "/pi.py"]


def test_both_roles_mount_the_code(client: TrainingClient, api: ApiServer, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(api_server.KINDS, "mpijobs", "MPIJob")
    made = client.train(work, name="pi", image="i", num_workers=2, runtime="mpi-distributed")
    assert made.kind == "MPIJob"
    for role in ("Launcher", "Worker"):
        mounts = _container(api.objects[JOB], role)["volumeMounts"]
        assert [one["mountPath"] for one in mounts] == ["/kubedl-files"]
    other = client.create_job(name="pi-2", base_image="i", train_func=work, num_workers=2, job_kind="MPIJob")
    assert _container(dict(other.manifest), "Launcher")["command"][:3] == ["mpirun", "-np", "2"]


@pytest.mark.parametrize(
    ("wishes", "error"),
    [
        ({"packages_to_install": ["numpy"]}, NotSupported),
        ({"num_procs_per_worker": "auto"}, Invalid),
        ({"chiefs": 1}, Invalid),
    ],
)
def test_what_it_cannot_have(wishes: dict[str, Any], error: type[Exception]) -> None:
    with pytest.raises(error):
        _made(func=work, **wishes)


def test_it_does_not_run_on_this_machine(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    with TrainingClient(backend="local") as client, pytest.raises(NotSupported, match="an MPIJob does not run here"):
        client.train(work, job_kind="MPIJob")


@pytest.mark.parametrize(
    ("variables", "leaves"),
    [
        ({}, True),
        ({"RANK": "0"}, True),
        ({"RANK": "1", "OMPI_COMM_WORLD_RANK": "0"}, False),
        ({"OMPI_COMM_WORLD_RANK": "0"}, True),
        ({"OMPI_COMM_WORLD_RANK": "1"}, False),
        ({"PMI_RANK": "3"}, False),
        ({"JAX_PROCESS_ID": "1"}, False),
    ],
)
def test_only_the_first_rank_leaves_a_result(tmp_path: Path, variables: dict[str, str], leaves: bool) -> None:
    """The archive as python3 runs it in a pod."""
    _, archive = _made(func=work, args={"count": 7})
    assert archive is not None
    (tmp_path / "code.pyz").write_bytes(archive)
    result = tmp_path / "result"
    environment = {"PATH": os.environ["PATH"], "KUBEDL_RESULT": str(result), **variables}
    done = subprocess.run(
        [sys.executable, tmp_path / "code.pyz"], env=environment, capture_output=True, text=True, check=True
    )
    assert done.stdout == "works 7\n"
    assert (json.loads(result.read_text()) if result.exists() else None) == (7 if leaves else None)
