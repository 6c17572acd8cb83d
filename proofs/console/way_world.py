"""Where the whole way of a model is gone: the chart with recorder, database, storage and console on two real nodes.

Who goes it has the role `edit` in one namespace and may list nodes, as the documentation tells administrators to give.
"""

import shutil
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

from harness.drivers.console_process import ROOT, rights_everywhere
from harness.drivers.history_installation import HistoryInstallation, installed_with_history
from harness.drivers.installation import NAMESPACE
from harness.drivers.operator_process import free_port
from harness.drivers.process import Process
from testbed import gateway, namespaces, tools
from testbed.cluster import Cluster
from testbed.http import answers
from testbed.waiting import until
from tests.e2e.serving import inferences
from tests.e2e.serving.inferences import ObservedInference
from tests.e2e.serving.test_scarce_gpus import offer
from tests.e2e.training import checkpoints
from tests.e2e.workspace import Workspace

PERSON = "mei.lin"
JOB, MODEL, SERVICE = "digits", "digit-net", "reader"
CONSOLE = f"system:serviceaccount:{NAMESPACE}:kubedl-console"
SECRETS = {"databaseSecret": "history-database", "logsSecret": "history-logs"}
LIST_NODES = {"apiGroups": [""], "resources": ["nodes"], "verbs": ["list"]}
TRAINING = Path(__file__).parent / "way_training.py"
GPU_NODE = "node1"


@dataclass(frozen=True)
class Way:
    """What the way is gone with."""

    cluster: Cluster
    history: HistoryInstallation
    workspace: Workspace
    directory: Path  # behind the claim
    url: str
    token: str

    @property
    def namespace(self) -> str:
        """Of the person."""
        return self.workspace.namespace

    @property
    def user(self) -> str:
        """As the API server calls the person."""
        return f"system:serviceaccount:{self.namespace}:{PERSON}"

    @property
    def repository(self) -> str:
        """Where images of models are pushed to."""
        return f"{self.cluster.instance.registry}/models/{self.namespace}"

    def recorded(self, job: str) -> bool:
        """Whether the history has the end of a job: its deletion, its receipt and its log."""
        found = self.history.rows(
            "SELECT jobs.namespace, jobs.name FROM jobs JOIN receipts ON receipts.uid = jobs.uid "
            "JOIN pods ON pods.job_uid = jobs.uid WHERE jobs.deleted IS NOT NULL AND pods.log_location IS NOT NULL"
        )
        return [self.namespace, job] in found

    @property
    def inference(self) -> ObservedInference:
        """What is served."""
        return ObservedInference(self.workspace, SERVICE)

    def job(self, name: str) -> dict[str, object]:
        """As the API server has it."""
        path = f"/apis/training.kubedl.io/v1alpha1/namespaces/{self.namespace}/pytorchjobs/{name}"
        found: dict[str, object] = self.cluster.api.get(path)
        return found

    def bring_gpu(self) -> None:
        """A node has a GPU from here on."""
        offer(self.cluster, GPU_NODE, "1")

    def end_training(self) -> None:
        """Let the program write its model and end."""
        (self.directory / "end").touch()


@contextmanager
def prepared(cluster: Cluster, directory: Path) -> Iterator[Way]:
    """Install everything, and take it away again."""
    cluster.add_gateway()
    values = {
        "replicas": 1,
        "operator": {"gateway": f"{gateway.NAMESPACE}/{gateway.NAME}"},
        "console": {"create": True, "cluster": "bed", "history": SECRETS},
    }
    shared = directory / "model"
    shared.mkdir()
    directory.chmod(0o755)
    shutil.copy(TRAINING, shared / "train.py")
    with (
        installed_with_history(cluster, values) as history,
        namespaces.fresh(cluster.api, "way") as namespace,
        checkpoints.shared(Workspace(cluster, namespace), shared),
        _forwarded(cluster, directory) as url,
    ):
        workspace = Workspace(cluster, namespace)
        workspace.create("configmaps", inferences.scripts())
        token = _person(cluster, namespace)
        try:
            with rights_everywhere(cluster, namespace, PERSON, LIST_NODES):
                yield Way(cluster, history, workspace, shared, url, token)
        finally:
            with suppress(Exception):
                offer(cluster, GPU_NODE, None)


def _person(cluster: Cluster, namespace: str) -> str:
    """Somebody with the role `edit`; returns a token."""
    account = f"/api/v1/namespaces/{namespace}/serviceaccounts"
    cluster.api.create(account, {"metadata": {"name": PERSON}})
    role = {"apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": "edit"}
    subject = {"kind": "ServiceAccount", "name": PERSON, "namespace": namespace}
    binding = {"metadata": {"name": PERSON}, "roleRef": role, "subjects": [subject]}
    cluster.api.create(f"/apis/rbac.authorization.k8s.io/v1/namespaces/{namespace}/rolebindings", binding)
    token: str = cluster.api.create(f"{account}/{PERSON}/token", {"spec": {}})["status"]["token"]
    return token


@contextmanager
def _forwarded(cluster: Cluster, directory: Path) -> Iterator[str]:
    """The address of the console as the documentation opens it: a port of this machine."""
    port = free_port()
    command = [str(tools.binary("kubectl")), f"--kubeconfig={cluster.kubeconfig}", f"--namespace={NAMESPACE}"]
    command += ["port-forward", "service/kubedl-console", f"{port}:80"]
    with Process(command, directory / "port-forward.log", {}, ROOT) as process:
        url = f"http://localhost:{port}"
        until("the console to be forwarded", lambda: process.insist() and answers(f"{url}/"), deadline=60)
        yield url
