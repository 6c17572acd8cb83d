"""A step of a pipeline with real containers: a job, the image of its model, and names for the next step."""

import subprocess
import sys
from pathlib import Path
from tempfile import TemporaryDirectory

import yaml

from harness.drivers.operator_process import ROOT, Operator
from testbed.api import Object
from tests.builders import pod
from tests.e2e.models.observed_version import ObservedVersion, sums_in_image, sums_of
from tests.e2e.workspace import Workspace

WRITE = "import os; open(os.environ['KUBEDL_MODEL_PATH'] + '/model.txt', 'w').write('digits'); print('trained')"
STEP = 300  # seconds
OUTPUTS = ("job-name", "model-version", "model-image")


def _job(image: str, repository: str, directory: Path) -> Object:
    body = pod("x", image).running("python3", "-c", WRITE).build()["spec"]
    body["containers"][0]["name"] = "pytorch"
    storage = {"localStorage": {"path": str(directory), "nodeName": "node1"}}
    wish = {"modelName": "digits", "imageRepo": repository, "registry": {"insecure": True}, "storage": storage}
    return {
        "apiVersion": "training.kubedl.io/v1alpha1",
        "kind": "PyTorchJob",
        "metadata": {"generateName": "digits-"},
        "spec": {"modelVersion": wish, "pytorchReplicaSpecs": {"Master": {"template": {"spec": body}}}},
    }


def test_a_step_hands_on_a_model_image_that_exists(
    open_workspace: Workspace, operator: Operator, base_image: str, empty: Path
) -> None:
    """The step is started twice, as after the loss of its pod: the second one finds the job of the first."""
    operator.insist()
    repository = ObservedVersion(open_workspace, "").repository
    manifest = yaml.safe_dump(_job(base_image, repository, empty))
    first, second = (_step(open_workspace, manifest) for _ in range(2))
    assert first == second
    name, version, image = first
    assert name.startswith("digits-")
    assert ObservedVersion(open_workspace, version).built() == image
    assert sums_in_image(open_workspace, image, base_image) == sums_of(empty)


def _step(workspace: Workspace, manifest: str) -> list[str]:
    """Run the process of the component; returns what it wrote for the next step."""
    with TemporaryDirectory() as directory:
        files = [Path(directory) / name / "data" for name in OUTPUTS]
        flags = [word for name, file in zip(OUTPUTS, files, strict=True) for word in (f"--write-{name}", str(file))]
        where = ["--kubeconfig", str(workspace.cluster.kubeconfig), "--namespace", workspace.namespace]
        command = [sys.executable, "-m", "kubedl.entrypoints.command", "pipeline-step", *where, *flags]
        environment = {"PYTHONPATH": str(ROOT / "src"), "XDG_CACHE_HOME": directory, "PATH": "/usr/bin:/bin"}
        done = subprocess.run(
            [*command, "--run", "run-1", "--timeout", f"{STEP}s", "--job", manifest],
            env=environment,
            capture_output=True,
            text=True,
            check=False,
            timeout=STEP + 60,
        )
        assert done.returncode == 0, done.stderr
        assert "[master-0] trained" in done.stdout
        return [file.read_text() for file in files]
