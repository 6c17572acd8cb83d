"""A job that prints a million lines on real nodes, and what its pods are told and their nodes have of their logs."""

from dataclasses import dataclass
from functools import partial

from harness.drivers.environment import times
from testbed.api import Object
from testbed.cluster import Cluster
from testbed.waiting import until

KIND = "/apis/training.kubedl.io/v1alpha1"
NAME = "bert"
MASTER = f"{NAME}-master-0"
RANKS, LINES = times(4, 32), times(5_000, 31_250)  # a million lines of workers
MASTER_RANK = RANKS
FIRST_LINES = 20_000  # of the master, when somebody begins to look
BURST = 120_000  # lines: more than 10 MiB as the node keeps them, at which a kubelet rotates a log
NEEDLE = "RuntimeError: NCCL watchdog"
NEEDLE_RANK, NEEDLE_LINE = RANKS - 3, LINES - 1_250
PATIENCE = 600.0  # seconds; images are pulled, and pods start one after the other

_SAY = f"""
import os, socket, sys, time
number = 0
def say(rank, count, more=""):
    global number
    lines = []
    for number in range(number + 1, number + count + 1):
        needle = "{NEEDLE} " if (rank, number) == ({NEEDLE_RANK}, {NEEDLE_LINE}) else ""
        lines.append(f"rank {{rank}} line {{number}} {{needle}}step {{number}} loss 0.{{number % 997:03}}{{more}}\\n")
    sys.stdout.write("".join(lines))
    sys.stdout.flush()
def told(what):
    return os.path.exists(what)
def wait(what):
    while not told(what):
        time.sleep(0.05)
"""
# It goes on to print while the node rotates its log.
_MASTER = f"""{_SAY}
say({MASTER_RANK}, {FIRST_LINES})
for part in (1, 2):
    wait(f"part-{{part}}")
    say({MASTER_RANK}, {BURST})
    while not told(f"end-of-part-{{part}}"):
        say({MASTER_RANK}, 10)
        time.sleep(0.01)
    say({MASTER_RANK}, 1, f" end of part {{part}}")
wait("end")
"""
_WORKER = f"""{_SAY}
rank = int(socket.gethostname().rpartition("-")[2])
say(rank, {LINES})
if rank == 0:
    wait("end")
"""


def printed(rank: int) -> bytes:
    """All that a worker prints."""
    lines = [f"rank {rank} line {number} step {number} loss 0.{number % 997:03}\n" for number in range(1, LINES + 1)]
    if rank == NEEDLE_RANK:
        lines[NEEDLE_LINE - 1] = lines[NEEDLE_LINE - 1].replace("step", f"{NEEDLE} step")
    return "".join(lines).encode()


@dataclass(frozen=True)
class LogJob:
    """The job, which an operator runs."""

    cluster: Cluster
    namespace: str

    @property
    def path(self) -> str:
        """Where it is."""
        return f"{KIND}/namespaces/{self.namespace}/pytorchjobs/{NAME}"

    def create(self) -> str:
        """Create it; returns its uid."""
        roles = {"Master": _role(self._container(_MASTER), 1), "Worker": _role(self._container(_WORKER), RANKS)}
        # Pods that have ended stay, so that the recorder reads them in its own time.
        spec = {"pytorchReplicaSpecs": roles, "cleanPodPolicy": "None"}
        head = {"apiVersion": "training.kubedl.io/v1alpha1", "kind": "PyTorchJob"}
        made = self.cluster.api.create(
            self.path.removesuffix(f"/{NAME}"), {**head, "metadata": {"name": NAME}, "spec": spec}
        )
        uid: str = made["metadata"]["uid"]
        return uid

    def pods(self) -> list[Object]:
        """Its pods."""
        return self.cluster.api.list(f"/api/v1/namespaces/{self.namespace}/pods")

    def phases(self) -> list[str]:
        """Of its pods."""
        return sorted(pod["status"].get("phase", "") for pod in self.pods())

    def until_printed(self) -> None:
        """Wait until all workers but the first have ended, and that one and the master run."""
        wanted = ["Running"] * 2 + ["Succeeded"] * (RANKS - 1)
        until("the workers to print", lambda: self.phases() == wanted, deadline=PATIENCE, interval=1)

    def tell(self, pod: str, what: str) -> None:
        """Let the program of a pod go on."""
        self.cluster.kubectl(f"--namespace={self.namespace}", "exec", pod, "--", "touch", what)

    def rotations(self) -> set[str]:
        """When the master's node has put a file of its log aside; it compresses those of before."""
        (pod,) = (one for one in self.pods() if one["metadata"]["name"] == MASTER)
        place = self.cluster.instance.state / pod["spec"]["nodeName"] / "var-log-pods"
        logs = place / f"{self.namespace}_{MASTER}_{pod['metadata']['uid']}" / "pytorch"
        return {file.name.split(".")[2] for file in logs.glob("0.log.*")}

    def rotate(self, part: int) -> None:
        """Let the master print a part, and its node rotate its log meanwhile."""
        before = self.rotations()
        self.tell(MASTER, f"part-{part}")
        until("the node to rotate the log", lambda: self.rotations() > before, deadline=120, interval=0.5)
        self.tell(MASTER, f"end-of-part-{part}")

    def end(self) -> None:
        """Let all pods end."""
        for pod in (f"{NAME}-worker-0", MASTER):
            self.tell(pod, "end")
        until("all pods to end", lambda: set(self.phases()) == {"Succeeded"}, deadline=120, interval=0.5)

    def delete(self) -> None:
        """Delete it, and wait until its pods are gone."""
        self.cluster.api.delete(self.path)
        until("the job to be gone", partial(self._gone, self.path), deadline=120, interval=0.5)
        until("the pods to be gone", lambda: not self.pods(), deadline=120, interval=0.5)

    def _gone(self, path: str) -> bool:
        return not self.cluster.api.exists(path)

    def _container(self, program: str) -> Object:
        command = ["python3", "-c", program]
        return {"name": "pytorch", "image": self.cluster.image("base"), "command": command}


def _role(container: Object, replicas: int) -> Object:
    spec = {"containers": [container], "terminationGracePeriodSeconds": 0}
    return {"replicas": replicas, "template": {"spec": spec}}
