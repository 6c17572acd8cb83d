"""Code of this machine in real containers: a directory by `kubedl run`, a function by the client."""

from pathlib import Path

import pytest

from harness.drivers import command_line
from harness.drivers.operator_process import Operator
from kubedl.client import TrainingClient
from kubedl.kube.sync_credentials import Overrides
from tests.e2e.workspace import Workspace


def test_run_ships_a_directory_and_ends_with_the_exit_code(
    baseline_workspace: Workspace, operator: Operator, base_image: str, tmp_path: Path
) -> None:
    """Two replicas run a program that imports another file; then one that fails with its own exit code."""
    operator.insist()
    code = tmp_path / "code"
    code.mkdir()
    (code / "shared.py").write_text("WORD = 'cost $HOME `id`'\n")
    (code / "train.py").write_text(
        "import os, sys, shared\nprint(shared.WORD, os.environ['RANK'])\nsys.exit(int(sys.argv[1]))\n"
    )
    (code / ".env").write_text("SECRET=1\n")
    done = _run(baseline_workspace, tmp_path, code, base_image, "0")
    assert done.returncode == 0, done.stderr
    assert sorted(done.stdout.splitlines()) == ["[master-0] cost $HOME `id` 0", "[worker-0] cost $HOME `id` 1"]
    assert "left out, as they look like keys: .env" in done.stderr
    assert _run(baseline_workspace, tmp_path, code, base_image, "7").returncode == 7


def test_a_function_runs_as_here_and_its_result_comes_back(
    baseline_workspace: Workspace, operator: Operator, base_image: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The same function on the cluster and on this machine prints and returns the same."""
    operator.insist()
    overrides = Overrides(kubeconfig=str(baseline_workspace.cluster.kubeconfig))
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))  # where jobs of this machine are kept
    cluster = TrainingClient(namespace=baseline_workspace.namespace, overrides=overrides)
    answers = []
    for client in (cluster, TrainingClient(backend="local")):
        with client:
            job = client.train(digits, name="digits", image=base_image, num_workers=2, args={"epochs": 3})
            lines = sorted(f"{line.replica} {line}" for line in client.get_job_logs(job.name, follow=True))
            answers.append((lines, client.wait_for_job_status(job.name, timeout=120).result))
            client.delete_job(job.name)
    assert answers[0] == answers[1]
    assert answers[0] == (["master-0 rank 0 of 2", "worker-0 rank 1 of 2"], {"loss": 0.25})


def digits(epochs: int) -> dict[str, float]:
    import os  # noqa: PLC0415 - a function that is sent imports what it uses

    print(f"rank {os.environ['RANK']} of {os.environ['WORLD_SIZE']}", flush=True)
    return {"loss": 1 / (epochs + 1)}


def _run(workspace: Workspace, cache: Path, code: Path, image: str, status: str) -> command_line.Done:
    flags = ("--image", image, "--workers", "2", "--retry", "0", "--rm", "--", "python3", "train.py", status)
    place = workspace.cluster, workspace.namespace
    return command_line.kubedl(*place, cache, "run", *flags, directory=code, timeout=180)
