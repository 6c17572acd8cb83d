"""The trainings as jobs: what users would write, with real frameworks, in a namespace that is *restricted*."""

from dataclasses import dataclass, field, replace
from pathlib import Path

from kubedl import training_runtime
from kubedl.training.kind import Kind
from kubedl.training.kinds.jax import JAX
from kubedl.training.kinds.mpi import MPI
from kubedl.training.kinds.pytorch import PyTorch
from kubedl.training.kinds.tensorflow import TensorFlow
from kubedl.training.kinds.xgboost import XGBoost
from testbed.api import Object
from tests.builders import PodBuilder
from tests.e2e.training.checkpoints import CLAIM

API_VERSION = "training.kubedl.io/v1alpha1"
SCRIPTS = Path(__file__).parent / "workloads"
SCRIPTS_MAP = "scripts"
# Below this the scripts lie as they lie in the repository, so their imports are the same in both places.
ROOT = "/training"
MOUNTED_SCRIPTS = f"{ROOT}/tests/e2e/training/workloads"
WORKER_LABEL = "spread"


@dataclass(frozen=True)
class Training:
    """One framework's way to train, and what it needs of the job."""

    name: str
    kind: Kind
    image: str  # one of the test bed's
    roles: dict[str, int]
    command: tuple[str, ...]
    spec: Object = field(default_factory=dict)
    pinned: str | None = None  # the node of all that are not workers
    policy: str = "ExitCode"
    serving: frozenset[str] = frozenset()  # roles that run what their kind gives them
    variables: dict[str, str] = field(default_factory=dict)

    @property
    def leader(self) -> str:
        """The pod that saves checkpoints and says how the training went."""
        return f"{self.name}-{next(iter(self.roles)).lower()}-0"

    @property
    def pods(self) -> set[str]:
        """Every pod of the job."""
        return {f"{self.name}-{role.lower()}-{index}" for role, count in self.roles.items() for index in range(count)}

    def build(self, image: str, *, held: bool = False) -> Object:
        """The job as it is created; a held one goes on until its checkpoints are released."""
        replicas = {
            role: {"replicas": count, "restartPolicy": self.policy, "template": self._template(role, image, held)}
            for role, count in self.roles.items()
        }
        return {
            "apiVersion": API_VERSION,
            "kind": self.kind.kind,
            "metadata": {"name": self.name},
            "spec": {"backoffLimit": 3, **self.spec, self.kind.replicas_field: replicas},
        }

    def _template(self, role: str, image: str, held: bool) -> Object:
        variables = {"PYTHONPATH": ROOT, "CHECKPOINTS": "/checkpoints", **self.variables}
        if held:
            variables |= {"HELD": "yes", "STEP_SECONDS": "0.2"}
        mounts = {"scripts": MOUNTED_SCRIPTS, "checkpoints": "/checkpoints"}
        volumes = [
            {"name": "scripts", "configMap": {"name": SCRIPTS_MAP}},
            {"name": "checkpoints", "persistentVolumeClaim": {"claimName": CLAIM}},
        ]
        builder = PodBuilder(
            self.name,
            image,
            spec={"volumes": volumes},
            container={
                "name": self.kind.container,
                "volumeMounts": [{"name": name, "mountPath": path} for name, path in mounts.items()],
            },
        )
        builder = builder.environment(**variables)
        builder = builder if role in self.serving else builder.running(*self.command)
        body = self._spread(builder).build() if role == "Worker" else self._pinned(builder).build()
        return {"metadata": {"labels": body["metadata"]["labels"]}, "spec": body["spec"]}

    def _spread(self, builder: PodBuilder) -> PodBuilder:
        """Workers on both nodes while both live, and on the other one when a node is lost."""
        constraint = {
            "maxSkew": 1,
            "topologyKey": "kubernetes.io/hostname",
            "whenUnsatisfiable": "DoNotSchedule",
            "nodeTaintsPolicy": "Honor",  # a lost node is tainted, and then no place that must be filled first
            "labelSelector": {"matchLabels": {WORKER_LABEL: self.name}},
        }
        spread = replace(builder, spec=builder.spec | {"topologySpreadConstraints": [constraint]})
        return spread.labelled(**{WORKER_LABEL: self.name})

    def _pinned(self, builder: PodBuilder) -> PodBuilder:
        return builder.on(self.pinned) if self.pinned else builder


def scripts() -> Object:
    """The ConfigMap that carries the scripts into the pods, and the library that users copy."""
    files = [*SCRIPTS.glob("*.py"), Path(training_runtime.__file__)]
    return {"metadata": {"name": SCRIPTS_MAP}, "data": {path.name: path.read_text() for path in files}}


def _script(name: str) -> str:
    return f"{MOUNTED_SCRIPTS}/{name}"


PARAMETER_SERVER = Training(
    name="parameters",
    kind=TensorFlow(),
    image="tensorflow",
    roles={"Chief": 1, "PS": 1, "Worker": 2},
    command=("python3", _script("parameter_server.py")),
    pinned="node1",
)
MULTI_WORKER = Training(
    name="mirrored",
    kind=TensorFlow(),
    image="tensorflow",
    roles={"Worker": 2},
    command=("python3", _script("multi_worker.py")),
    spec={"restartScope": "Job"},
)
DDP = Training(
    name="ddp",
    kind=PyTorch(),
    image="torch",
    roles={"Master": 1, "Worker": 3},
    command=("python3", _script("ddp.py")),
    pinned="node1",
)
TORCHRUN = Training(
    name="torchrun",
    kind=PyTorch(),
    image="torch",
    roles={"Master": 1, "Worker": 3},
    command=("torchrun", _script("ddp.py")),
    pinned="node1",
)
ELASTIC = Training(
    name="elastic",
    kind=PyTorch(),
    image="torch",
    roles={"Worker": 2},
    command=("torchrun", _script("ddp.py")),
    spec={"elastic": {"minReplicas": 1, "maxReplicas": 3}},
)
TAKEN = replace(
    ELASTIC,
    name="taken",
    roles={"Worker": 3},
    command=("torchrun", _script("on_request.py")),
    spec={"elastic": {"minReplicas": 2, "maxReplicas": 4, "checkpoint": {"timeoutSeconds": 100}}},
)
RESTARTED = replace(
    ELASTIC,
    name="restarted",
    command=("python3", _script("on_request.py")),
    spec={"elastic": {"minReplicas": 1, "maxReplicas": 3, "resize": "Restart", "checkpoint": {"timeoutSeconds": 100}}},
)
PI = Training(
    name="pi",
    kind=MPI(),
    image="mpi",
    roles={"Launcher": 1, "Worker": 2},
    command=("mpirun", "-np", "4", "python3", _script("pi.py")),
    spec={"slotsPerWorker": 2},
    pinned="node1",
    policy="OnFailure",
    serving=frozenset({"Worker"}),
)
OPEN_MPI_4 = replace(PI, name="four", image="openmpi4")
MPICH = replace(
    PI,
    name="mpich",
    image="hydra",
    command=("mpirun.mpich", "-np", "4", "python3", _script("pi.py")),
    spec={"slotsPerWorker": 2, "mpiDistribution": "MPICH"},
)
INTEL = replace(
    PI,
    name="intel",
    image="hydra",
    # Without being told, mpirun would start MPICH's launcher, which is in the path, and mpi4py load MPICH's library.
    command=(
        "sh",
        "-c",
        'exec "$I_MPI_ROOT/bin/mpiexec.hydra" -genv LD_LIBRARY_PATH "$I_MPI_ROOT/lib" -np 4 python3 "$0"',
        _script("pi.py"),
    ),
    spec={"slotsPerWorker": 2, "mpiDistribution": "IntelMPI"},
)
BOOSTED = Training(
    name="boosted",
    kind=XGBoost(),
    image="xgboost",
    roles={"Master": 1, "Worker": 2},
    command=("python3", _script("boosted_trees.py")),
    spec={"ttlSecondsAfterFinished": 3600},
    pinned="node1",
)
MEETING = Training(
    name="meeting",
    kind=TensorFlow(),
    image="base",
    roles={"Worker": 4},
    command=("python3", _script("meet.py")),
)
SUMMED = Training(
    name="summed",
    kind=JAX(),
    image="jax",
    roles={"Worker": 2},
    command=("python3", _script("sum_of_processes.py")),
)
