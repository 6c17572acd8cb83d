"""Who is measured: how each is started, what a user creates for it, and how its jobs say that they are done.

A contender is started as its project ships it; where something was changed, it is to the contender's advantage.
"""

import json
import shutil
import sys
from collections.abc import Callable, Iterable, Iterator
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path

from benchmarks import control_plane, objects
from benchmarks.environment import say
from benchmarks.objects import Object
from harness.drivers.operator_process import ROOT, USER, Operator, free_port, install_custom_resources, kubeconfig_of
from harness.drivers.process import Process
from testbed import tools
from testbed.cluster import Cluster
from testbed.http import answers
from testbed.waiting import until

READY_DEADLINE = 60.0


@dataclass(frozen=True)
class Contender:
    """A controller with a custom resource of its own."""

    name: str
    user: str  # as whom it speaks to the API server
    running: Callable[[Cluster, Path], Iterator[Process]]  # ready; its log goes into the directory
    jobs_path: Callable[[str], str]
    job: Callable[[int, int], Object]  # number, pods
    settled: Callable[[Object, int], bool]  # status, pods
    control_plane: Callable[[Cluster], AbstractContextManager[None]] = control_plane.as_it_is


def prepare(cluster: Cluster, names: Iterable[str]) -> None:
    """Build and install what these contenders need, outside of every clock."""
    install_custom_resources(cluster)
    if any(name in CONTENDERS and CONTENDERS[name].user == "jobset" for name in names):
        tools.binary("jobset", say)
        cluster.install_custom_resources("jobset")


def operator(cluster: Cluster, directory: Path) -> Iterator[Process]:
    """KubeDL's, with its defaults but for the leader election, which the other contenders are spared too."""
    with Operator(cluster, directory=directory) as running:
        yield running


def kopf(cluster: Cluster, directory: Path) -> Iterator[Process]:
    """An operator on kopf, cluster-wide."""
    probe = f"http://127.0.0.1:{free_port()}/healthz"
    command = [sys.executable, "-m", "kopf", "run", "--all-namespaces", "--standalone", f"--liveness={probe}"]
    environment = {"KUBECONFIG": str(kubeconfig_of(cluster, "kopf")), "INSTANCE": str(cluster.instance.index)}
    started = Process([*command, "-m", "benchmarks.kopf_peer"], directory / "kopf.log", environment, ROOT)
    with started as running:
        until("kopf to be ready", partial(_ready, running, probe), deadline=READY_DEADLINE)
        yield running


def jobset(cluster: Cluster, directory: Path) -> Iterator[Process]:
    """JobSet's controller with the settings it is shipped with.

    Its webhooks are not registered, which saves the API server two calls for each job and one for each pod;
    what they would have filled in is written in the object. Its pods are made by the Job controller of Kubernetes,
    whose processor time is the controller-manager's.
    """
    certificates = directory / "certificates"
    certificates.mkdir(exist_ok=True)
    for file, content in zip(("tls.crt", "tls.key"), cluster.authority.files("kube-apiserver"), strict=True):
        shutil.copy(content, certificates / file)
    probe = f"127.0.0.1:{free_port()}"
    configuration = {
        "apiVersion": "config.jobset.x-k8s.io/v1alpha1",
        "kind": "Configuration",
        "leaderElection": {"leaderElect": False},
        "internalCertManagement": {"enable": False},
        "webhook": {"host": "127.0.0.1", "port": free_port(), "certDir": str(certificates)},
        "metrics": {"bindAddress": "0"},
        "health": {"healthProbeBindAddress": probe},
    }
    settings = directory / "jobset.json"
    settings.write_text(json.dumps(configuration))
    command = [str(tools.binary("jobset", say)), f"--config={settings}", "--zap-log-level=2"]
    environment = {"KUBECONFIG": str(kubeconfig_of(cluster, "jobset"))}
    with Process(command, directory / "jobset.log", environment, directory) as running:
        until("JobSet to be ready", partial(_ready, running, f"http://{probe}/readyz"), deadline=READY_DEADLINE)
        yield running


def jobset_path(namespace: str) -> str:
    return f"/apis/jobset.x-k8s.io/v1alpha2/namespaces/{namespace}/jobsets"


def jobset_job(number: int, pods: int) -> Object:
    """A JobSet with one Job of so many pods."""
    template = {"spec": {**objects.pod_spec(), "restartPolicy": "Never"}}
    job = {"parallelism": pods, "completions": pods, "completionMode": "Indexed", "backoffLimit": 0}
    return {
        "apiVersion": "jobset.x-k8s.io/v1alpha2",
        "kind": "JobSet",
        "metadata": {"name": objects.name(number)},
        "spec": {
            "successPolicy": {"operator": "All"},
            "startupPolicy": {"startupPolicyOrder": "AnyOrder"},
            "network": {"enableDNSHostnames": True, "publishNotReadyAddresses": True},
            "replicatedJobs": [
                {"name": "worker", "replicas": 1, "template": {"spec": {**job, "template": template}}},
            ],
        },
    }


def jobset_settled(status: Object, _: int) -> bool:
    """Whether the Job is known to be there and to have pods."""
    return any(job.get("active") == 1 for job in status.get("replicatedJobsStatus") or [])


_OPERATOR = Contender("operator", USER, operator, objects.jobs_path, objects.job, objects.settled)
_JOBSET = Contender("jobset", "jobset", jobset, jobset_path, jobset_job, jobset_settled)
CONTENDERS = {
    "operator": _OPERATOR,
    "operator with gangs": replace(_OPERATOR, name="operator with gangs", job=objects.gang_job),
    "kopf": replace(_OPERATOR, name="kopf", user="kopf", running=kopf),
    # By default the Job controller may make 20 calls a second, which would be all that is measured.
    "jobset": replace(_JOBSET, control_plane=control_plane.hurrying),
    "jobset default": replace(_JOBSET, name="jobset default"),
}


@contextmanager
def running(chosen: Contender, cluster: Cluster, directory: Path) -> Iterator[Process]:
    """A contender's process, ready and ended afterwards."""
    yield from chosen.running(cluster, directory)


def _ready(process: Process, probe: str) -> bool:
    return process.insist() and answers(probe)
