"""A company adds its own kind by installing a package of one file; nothing of this repository is touched.

The page that tells how is followed to the letter, in an environment of its own.
"""

import json
import os
import site
import subprocess
import venv
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import urlsplit

import pytest

from harness.drivers.operator_process import ROOT, Operator
from kubedl.api.cron import CRONS
from testbed import tools
from testbed.api import Object
from testbed.cluster import Cluster
from testbed.waiting import until
from tests import howto_page

PAGE = howto_page.sections("add-a-framework.md")


@dataclass(frozen=True)
class Reader:
    """Somebody who does what the page says."""

    directory: Path
    environment: dict[str, str]

    def follow(self, section: str) -> str:
        """Write the files of a section and run its commands; returns what they print."""
        for name, text in PAGE[section].files.items():
            (self.directory / name).write_text(text)
        shell = ["bash", "-euo", "pipefail", "-c", PAGE[section].commands]
        done = subprocess.run(
            shell, cwd=self.directory, env=self.environment, capture_output=True, text=True, check=False, timeout=300
        )
        assert done.returncode == 0, done.stderr
        return done.stdout

    def python_path(self) -> str:
        """Where an operator that runs beside the package finds both."""
        [installed] = self.directory.glob("venv/lib/python*/site-packages")
        return os.pathsep.join([str(ROOT / "src"), str(installed)])


@pytest.fixture
def reader(cluster: Cluster, namespace: str, tmp_path: Path) -> Reader:
    """Has an environment with KubeDL in it, kubectl, and a namespace of his own as the current one."""
    venv.create(tmp_path / "venv", with_pip=True)
    [installed] = tmp_path.glob("venv/lib/python*/site-packages")
    (installed / "kubedl.pth").write_text("\n".join([str(ROOT / "src"), *site.getsitepackages()]))
    kubeconfig = tmp_path / "kubeconfig"
    kubeconfig.write_text(cluster.kubeconfig.read_text())
    kubeconfig.chmod(0o600)
    kubectl = tools.binary("kubectl")
    subprocess.run(
        [kubectl, "config", "set-context", "--current", f"--namespace={namespace}", f"--kubeconfig={kubeconfig}"],
        check=True,
        capture_output=True,
    )
    path = os.pathsep.join([str(tmp_path / "venv" / "bin"), str(kubectl.parent), os.environ["PATH"]])
    # kubectl's way to the API server leads through no proxy; pip may need one to fetch setuptools.
    direct = ",".join(filter(None, [urlsplit(cluster.instance.server).hostname, os.environ.get("NO_PROXY")]))
    own = {"KUBECONFIG": str(kubeconfig), "PATH": path, "NO_PROXY": direct, "no_proxy": direct}
    # With the current directory in its path, pip takes what it builds there for installed.
    inherited = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}
    return Reader(tmp_path, {**inherited, **own})


def test_a_kind_from_another_package(cluster: Cluster, namespace: str, reader: Reader) -> None:
    """Its CRD is printed, its jobs run, and the other kinds stay as they are."""
    # The definition stays: while one is removed, the garbage collector of the shared cluster stands still.
    for section in ("Declare it", "Pack it", "Install it"):
        reader.follow(section)
    environment = {"PYTHONPATH": reader.python_path()}
    with Operator(cluster, environment=environment, arguments=["--namespace", namespace]):
        assert "hello" in reader.follow("Run a job")
        pods = f"/api/v1/namespaces/{namespace}/pods"
        until("both pods", lambda: len(cluster.api.list(pods)) == 2, deadline=120)
        [container] = cluster.api.get(f"{pods}/hello-worker-1")["spec"]["containers"]
        given = {variable["name"]: variable["value"] for variable in container["env"]}
        assert given == {"RING_NEXT": f"hello-worker-0.hello.{namespace}.svc:7000", "RING_ROUNDS": "3"}
        for name in ("hello-worker-0", "hello-worker-1"):
            _succeed(cluster, namespace, name)
        job = f"/apis/training.kubedl.io/v1alpha1/namespaces/{namespace}/ringjobs/hello"
        until("its success", lambda: cluster.api.get(job).get("status", {}).get("state") == "Succeeded", deadline=120)
        _schedule(cluster, namespace, cluster.api.get(job)["spec"])
        runs = f"/apis/training.kubedl.io/v1alpha1/namespaces/{namespace}/ringjobs"
        until("a run of its Cron", lambda: len(cluster.api.list(runs)) == 2, deadline=120)


def _schedule(cluster: Cluster, namespace: str, spec: Object) -> None:
    """Make a Cron of such jobs, which has missed a time."""
    template = {"apiVersion": "training.kubedl.io/v1alpha1", "kind": "RingJob", "workload": {"spec": spec}}
    head = {"apiVersion": CRONS.api_version, "kind": CRONS.kind, "metadata": {"name": "yearly"}}
    cron = {**head, "spec": {"schedule": "@yearly", "template": template}}
    cluster.api.create(f"/apis/{CRONS.api_version}/namespaces/{namespace}/crons", cron)
    missed = json.dumps({"status": {"lastScheduleTime": "2000-01-01T00:00:00Z"}})
    cluster.kubectl("patch", "cron", "yearly", "-n", namespace, "--subresource=status", "--type=merge", "-p", missed)


def _succeed(cluster: Cluster, namespace: str, pod: str) -> None:
    """Play the kubelet: there is no image for an imaginary framework."""
    ended = {"name": "ring", "image": "", "imageID": "", "ready": False, "restartCount": 0}
    ended["state"] = {"terminated": {"exitCode": 0, "reason": "Completed"}}
    status = json.dumps({"status": {"phase": "Succeeded", "containerStatuses": [ended]}})
    cluster.kubectl("patch", "pod", pod, "-n", namespace, "--subresource=status", "--type=merge", "-p", status)
