"""A company adds its own kind by installing a package of one file; nothing of this repository is touched."""

import os
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

from harness.operator import ROOT, Operator
from testbed.cluster import Cluster
from testbed.waiting import until

DECLARATION = '''
"""RingJob: a framework of our company, in one file."""

from collections.abc import Mapping

import msgspec

from kubedl.api.training import JobSpec, ReplicaSpecs, TrainingJob
from kubedl.training.job import Job, Replica, Role
from kubedl.training.kind import Done, Kind


class RingJobSpec(JobSpec, frozen=True, kw_only=True):
    """What a RingJob runs."""

    replica_specs: ReplicaSpecs = msgspec.field(name="ringReplicaSpecs")


class RingJob(TrainingJob, frozen=True):
    """A ring of nodes."""

    spec: RingJobSpec


class Ring(Kind):
    """Every node knows the next one."""

    kind = "RingJob"
    plural = "ringjobs"
    type = RingJob
    replicas_field = "ringReplicaSpecs"
    roles = (Role("Node"),)
    container = "ring"
    port_name = "ring-port"
    port = 7000

    def environment(self, job: Job, replica: Replica) -> Mapping[str, str]:
        following = Replica(replica.role, (replica.index + 1) % job.count(replica.role))
        return {"RING_NEXT": f"{job.host(following)}:{job.port(replica.role)}"}

    def succeeded(self, job: Job, done: Done) -> bool:
        return len(done.get("Node", ())) == job.count("Node")
'''


@pytest.fixture
def environment(tmp_path: Path) -> dict[str, str]:
    """Where the package is installed, beside the product."""
    wheel = tmp_path / "acme_ring-1.0-py3-none-any.whl"
    about = "acme_ring-1.0.dist-info"
    files = {
        "acme_ring.py": DECLARATION,
        f"{about}/METADATA": "Metadata-Version: 2.1\nName: acme-ring\nVersion: 1.0\n",
        f"{about}/WHEEL": "Wheel-Version: 1.0\nGenerator: by-hand\nRoot-Is-Purelib: true\nTag: py3-none-any\n",
        f"{about}/entry_points.txt": "[kubedl.kinds]\nring = acme_ring:Ring\n",
    }
    with zipfile.ZipFile(wheel, "w") as archive:
        for name, text in files.items():
            archive.writestr(name, text)
        archive.writestr(f"{about}/RECORD", "".join(f"{name},,\n" for name in (*files, f"{about}/RECORD")))
    target = tmp_path / "site"
    install = [sys.executable, "-m", "pip", "install", "--quiet", "--no-index", "--no-deps", "--target", str(target)]
    subprocess.run([*install, str(wheel)], check=True)
    return {"PYTHONPATH": os.pathsep.join([str(ROOT / "src"), str(target)])}


def test_a_kind_from_another_package(
    cluster: Cluster, namespace: str, environment: dict[str, str], tmp_path: Path
) -> None:
    """Its CRD is printed, its jobs run, and the other kinds stay as they are."""
    command = [sys.executable, "-m", "kubedl.main.manifests"]
    printed = subprocess.run(command, env={**os.environ, **environment}, check=True, capture_output=True, text=True)
    manifests = tmp_path / "manifests.yaml"
    manifests.write_text(printed.stdout)
    # The definition stays: while one is removed, the garbage collector of the shared cluster stands still.
    cluster.kubectl("apply", "--server-side", "--force-conflicts", "-f", str(manifests))
    cluster.kubectl("wait", "--for=condition=Established", "crd/ringjobs.training.kubedl.io", "--timeout=30s")
    with Operator(cluster, environment=environment, arguments=["--namespace", namespace]):
        path = f"/apis/training.kubedl.io/v1alpha1/namespaces/{namespace}/ringjobs"
        cluster.api.create(path, _job())
        pods = f"/api/v1/namespaces/{namespace}/pods"
        until("both pods", lambda: len(cluster.api.get(pods)["items"]) == 2, deadline=30)
        [container] = cluster.api.get(f"{pods}/r-node-1")["spec"]["containers"]
        expected = {"name": "RING_NEXT", "value": f"r-node-0.r.{namespace}.svc:7000"}
        assert expected in container["env"]
        until("its status", lambda: cluster.api.get(f"{path}/r").get("status", {}).get("state"), deadline=30)
        assert "Created" in cluster.kubectl("get", "ringjob", "r", "-n", namespace)


def _job() -> dict[str, object]:
    pod = {"containers": [{"name": "ring", "image": "none"}], "schedulingGates": [{"name": "tests.kubedl.io/never"}]}
    role = {"replicas": 2, "template": {"spec": pod}}
    return {
        "apiVersion": "training.kubedl.io/v1alpha1",
        "kind": "RingJob",
        "metadata": {"name": "r"},
        "spec": {"ringReplicaSpecs": {"Node": role}},
    }
