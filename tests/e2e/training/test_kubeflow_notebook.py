"""A notebook for Kubeflow's client, in real containers, with a few lines changed."""

import os
import subprocess
import sys
from pathlib import Path

from harness.drivers import kubeflow_notebook
from harness.drivers.operator_process import Operator
from tests.e2e.workspace import Workspace

ROOT = Path(__file__).parents[3]


def test_the_notebook_runs(baseline_workspace: Workspace, operator: Operator, base_image: str, tmp_path: Path) -> None:
    """create_job from a function, list, wait, pods, logs, delete."""
    operator.insist()
    script = tmp_path / "notebook.py"
    script.write_text(kubeflow_notebook.changed())
    own = {
        "NAMESPACE": baseline_workspace.namespace,
        "IMAGE": base_image,
        "KUBECONFIG": str(baseline_workspace.cluster.kubeconfig),
        "XDG_CACHE_HOME": str(tmp_path),
        "PYTHONPATH": str(ROOT / "src"),
    }
    done = subprocess.run(
        [sys.executable, str(script)],
        env={**os.environ, **own},
        capture_output=True,
        text=True,
        check=False,
        timeout=300,
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
