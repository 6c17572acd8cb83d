"""`kubedl submit KIND`: every kind from its own schema, flags of roles, and jobs from files."""

import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import yaml

from devtools.cli_help import kinds_of_submit
from kubedl.cli.submit.kind_schema import FILE
from kubedl.kube import codec
from kubedl.training.kinds import all_kinds
from tests.unit.cli.conftest import Run
from tests.unit.client.api_server import GROUP, ApiServer

BASE = ("--name", "x", "--image", "i", "--dry-run=client")
ROLES = {
    "pytorch": {"Master": 1, "Worker": 2},
    "tf": {"Worker": 3},
    "mpi": {"Worker": 3, "Launcher": 1},
    "jax": {"Worker": 3},
    "xgboost": {"Master": 1, "Worker": 2},
    "xdl": {"Scheduler": 1, "Worker": 3},
    "mars": {"Scheduler": 1, "WebService": 1, "Worker": 3},
}


@pytest.fixture
def manifest(run: Run) -> Any:  # noqa: ANN401
    """Returns the manifest of flags, read as the operator reads it."""
    types = {kind.kind: kind.type for kind in all_kinds()}

    def made(word: str, *flags: str) -> dict[str, Any]:
        answer = run("submit", word, *BASE, *flags)
        assert answer.code == 0, answer.err
        found: dict[str, Any] = yaml.safe_load(answer.out)
        codec.decode(codec.encode(found), types[found["kind"]])
        return found

    return made


def _roles(found: dict[str, Any]) -> dict[str, Any]:
    (roles,) = (value for name, value in found["spec"].items() if name.endswith("ReplicaSpecs"))
    assert isinstance(roles, dict)
    return roles


def _container(found: dict[str, Any], role: str) -> dict[str, Any]:
    container: dict[str, Any] = _roles(found)[role]["template"]["spec"]["containers"][0]
    return container


def test_the_file_is_that_of_the_kinds() -> None:
    """`make check` finds drift too; here it is named."""
    assert Path(FILE).read_text() == kinds_of_submit()


@pytest.mark.parametrize("word", ROLES)
def test_replicas(manifest: Any, word: str) -> None:  # noqa: ANN401
    found = manifest(word, "--workers", "3", "--gpus", "2", "--cpu", "4", "python x.py")
    assert {role: value["replicas"] for role, value in _roles(found).items()} == ROLES[word]
    computing = {role for role in ROLES[word] if "resources" in _container(found, role)}
    assert computing == {role for role in ROLES[word] if role in ("Master", "Worker")}


def test_elasticdl_has_a_master_and_no_workers(manifest: Any, run: Run) -> None:  # noqa: ANN401
    assert {role: value["replicas"] for role, value in _roles(manifest("elasticdl")).items()} == {"Master": 1}
    assert run("submit", "elasticdl", *BASE, "--workers", "3").err.startswith("error: no such option: --workers")


def test_only_the_launcher_runs_the_command(manifest: Any) -> None:  # noqa: ANN401
    found = manifest("mpi", "--data", "c:/d", "--slots-per-worker", "8", "mpirun python x.py")
    assert "command" not in _container(found, "Worker")
    assert _container(found, "Launcher")["command"] == ["sh", "-c", "mpirun python x.py"]
    assert found["spec"]["slotsPerWorker"] == 8
    mounts = [{one["mountPath"] for one in _container(found, role)["volumeMounts"]} for role in ("Worker", "Launcher")]
    assert [("/d" in one) for one in mounts] == [True, False]
    both = manifest("mpi", "--data", "c:/d", "--mounts-on-launcher")
    assert "/d" in {one["mountPath"] for one in _container(both, "Launcher")["volumeMounts"]}


def test_flags_of_a_role(manifest: Any) -> None:  # noqa: ANN401
    found = manifest(
        *(
            "tf",
            "--ps",
            "2",
            "--chief",
            "--evaluator",
            "--cpu",
            "8",
            "--memory",
            "9Gi",
            "--ps-cpu",
            "2",
            "--ps-gpus",
            "1",
        ),
        *("--ps-image", "other", "--ps-selector", "pool=cpu", "--selector", "pool=gpu", "--ps-annotation", "a=b"),
        *("--worker-port", "2223", "--worker-memory-limit", "12Gi", "--worker-restart-policy", "Never"),
        *("--ps-affinity-policy", "spread", "--worker-affinity-policy", "binpack", "--chief-command", "python c.py"),
        *("--worker-affinity-constraint", "required", "--role-sequence", "p,Worker,chief", "python x.py"),
    )
    roles = _roles(found)
    assert list(roles) == ["PS", "Chief", "Worker", "Evaluator"]
    servers = roles["PS"]["template"]
    assert _container(found, "PS")["image"] == "other"
    assert _container(found, "PS")["resources"] == {"requests": {"cpu": "2"}, "limits": {"nvidia.com/gpu": "1"}}
    assert servers["spec"]["nodeSelector"] == {"pool": "cpu"}
    assert servers["metadata"] == {"annotations": {"a": "b"}}
    (term,) = servers["spec"]["affinity"]["podAntiAffinity"]["preferredDuringSchedulingIgnoredDuringExecution"]
    assert term["podAffinityTerm"]["labelSelector"]["matchLabels"]["training.kubedl.io/replica-type"] == "ps"
    worker = _container(found, "Worker")
    assert worker["ports"] == [{"name": "tfjob-port", "containerPort": 2223}]
    assert worker["resources"] == {
        "requests": {"cpu": "8", "memory": "9Gi"},
        "limits": {"cpu": "8", "memory": "12Gi"},
    }
    assert roles["Worker"]["restartPolicy"] == "Never"
    assert (
        "requiredDuringSchedulingIgnoredDuringExecution"
        in roles["Worker"]["template"]["spec"]["affinity"]["podAffinity"]
    )
    assert [roles[role].get("dependsOn") for role in ("PS", "Worker", "Chief", "Evaluator")] == [
        [],
        [{"upstream": "PS", "phase": "Running"}],
        [{"upstream": "Worker", "phase": "Running"}],
        None,
    ]
    assert _container(found, "Chief")["command"][-1] == "python c.py"


def test_defaults_of_a_kind_stay(manifest: Any) -> None:  # noqa: ANN401
    assert "backoffLimit" not in manifest("xdl")["spec"]
    assert manifest("xdl", "--retry", "1", "--min-finish-work-rate", "80")["spec"]["backoffLimit"] == 1
    assert manifest("jax")["spec"]["backoffLimit"] == 3


def test_host_rdma_and_restricted(manifest: Any) -> None:  # noqa: ANN401
    found = manifest("jax", "--host-network", "--rdma", "--success-policy", "AllWorkers")
    assert (found["spec"]["networkMode"], found["spec"]["successPolicy"]) == ("Host", "AllWorkers")
    assert _container(found, "Worker")["resources"] == {"limits": {"rdma/hca": "1"}}
    assert _container(found, "Worker")["securityContext"] == {"capabilities": {"add": ["IPC_LOCK"]}}
    strict = manifest("jax", "--restricted", "--rdma=mlx/a:4")
    assert _container(strict, "Worker")["securityContext"]["capabilities"] == {"drop": ["ALL"]}
    assert _roles(strict)["Worker"]["template"]["spec"]["securityContext"]["runAsNonRoot"] is True


def test_processes_by_torchrun(manifest: Any, run: Run) -> None:  # noqa: ANN401
    assert manifest("pytorch", "--nproc-per-node", "4")["spec"]["nprocPerNode"] == 4
    found = manifest("pytorch", "--nproc-per-node", "gpu")
    assert {"name": "PET_NPROC_PER_NODE", "value": "gpu"} in _container(found, "Master")["env"]
    assert run("submit", "pytorch", *BASE, "--nproc-per-node", "0").code == 2


def test_dry_run_may_stand_before_the_command(run: Run) -> None:
    answer = run("submit", "jax", *BASE[:4], "--dry-run", "python x.py")
    assert yaml.safe_load(answer.out)["spec"]["jaxReplicaSpecs"]["Worker"]["replicas"] == 1


@pytest.mark.parametrize(
    ("flags", "what"),
    [
        (("--ps-cpu", "2"), "--ps-cpu: the job has no PS"),
        (("--role-sequence", "PS,Worker"), "--role-sequence PS,Worker is not understood"),
        (("--queue", "python x.py"), "--queue python x.py: this is a command, no queue"),
        (("--sync-mode", "rsync"), "--sync-mode rsync: a copy without a version"),
        (("--rdma", ":x"), "--rdma :x is not understood"),
    ],
)
def test_wrong_use(run: Run, api: ApiServer, flags: tuple[str, ...], what: str) -> None:
    answer = run("submit", "tf", *BASE, *flags)
    assert answer.code == 2
    assert answer.err.startswith(f"error: {what}")
    assert not api.calls


def test_a_queue_without_a_name_is_the_only_one(run: Run, api: ApiServer) -> None:
    words = ("submit", "pytorch", "--name", "x", "--image", "i", "--queue")
    refused = run(*words)
    assert refused.err.startswith("error: --queue needs a name: team has none")
    path = "/apis/kueue.x-k8s.io/v1beta2/namespaces/team/localqueues"
    api.refusals[f"GET {path}"] = (200, {"items": [{"metadata": {"name": "team-a"}}]})
    assert run(*words).code == 0
    made = api.objects[f"{GROUP}/namespaces/team/pytorchjobs/x"]
    assert made["spec"]["schedulingPolicy"] == {"queue": "team-a"}


class TestFiles:
    """`submit -f`."""

    def test_jobs_of_a_file(self, run: Run, api: ApiServer, tmp_path: Path) -> None:
        file = tmp_path / "jobs.yaml"
        job = {"apiVersion": GROUP[6:], "kind": "PyTorchJob", "metadata": {"name": "a"}, "spec": {}}
        file.write_text(
            yaml.safe_dump_all([job, None, {"kind": "List", "items": [{**job, "metadata": {"name": "b"}}]}])
        )
        answer = run("submit", "-f", str(file))
        assert (answer.code, answer.out) == (0, "pytorchjob/a created in team\npytorchjob/b created in team\n")
        assert run("submit", "-f", str(file), "--dry-run=client", "-o", "name").out.endswith("pytorchjob/b\n")

    @pytest.mark.parametrize(
        ("text", "what"),
        [
            ("kind: Pod\napiVersion: v1\nmetadata: {name: x}", "holds a Pod, which is no training job"),
            ("a: [", "is no YAML"),
            ("just words", "holds something that is no object of Kubernetes"),
            ("", "has 0 objects"),
            ("kind: X\napiVersion: training.kubedl.io/v1alpha1\nmetadata: {}", "a X without metadata.name"),
        ],
    )
    def test_other_files(self, run: Run, tmp_path: Path, text: str, what: str) -> None:
        file = tmp_path / "file"
        file.write_text(text)
        answer = run("submit", "-f", str(file))
        assert answer.code == 2
        assert what in answer.err
        assert "next" in answer.err

    def test_no_file(self, run: Run) -> None:
        assert run("submit", "-f", "nowhere.yaml").err.startswith("error: cannot read nowhere.yaml: No such file")


def test_fields_that_the_server_refuses_are_lines(run: Run, api: ApiServer) -> None:
    causes = [{"field": "spec.x", "message": "must be 1"}, {"field": "spec.y", "message": "must be 2"}]
    body = {"kind": "Status", "code": 422, "reason": "Invalid", "message": "both", "details": {"causes": causes}}
    api.refusals[f"POST {GROUP}/namespaces/team/pytorchjobs"] = (422, body)
    answer = run("submit", "pytorch", *BASE[:4])
    assert answer.err == (
        "error: cannot create pytorchjob/x\n  why   spec.x: must be 1\n        spec.y: must be 2\n"
        "  next  correct this, and repeat the command\n"
    )


def test_a_kind_of_another_package(tmp_path: Path) -> None:
    """A package that registers a kind brings its command."""
    (tmp_path / "other.py").write_text(
        "from kubedl.training.kinds.jax import JAX\n\n"
        "class Other(JAX):\n    kind = 'OtherJob'\n    plural = 'otherjobs'\n"
    )
    info = tmp_path / "other-1.dist-info"
    info.mkdir()
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: other\nVersion: 1\n")
    (info / "entry_points.txt").write_text("[kubedl.kinds]\nother = other:Other\n")
    code = "import sys; from kubedl.entrypoints.command import main; sys.exit(main(sys.argv[1:]))"
    done = subprocess.run(
        [sys.executable, "-c", code, "submit", "other", *BASE],
        env={"PYTHONPATH": f"{Path(__file__).parents[3] / 'src'}:{tmp_path}"},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert yaml.safe_load(done.stdout)["kind"] == "OtherJob"
