"""Situations in which a job does not run, made on a control plane, each with the rule of `kubedl why` that must speak.

The API server, its admission, the scheduler, Kueue and the operator are real; nodes are simulated. Of situations that
only a kubelet can bring about, the test writes the pod's status on a node without kubelet; they are marked `played`.
"""

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from harness.drivers import team_queue
from harness.drivers.team_queue import QUEUE_LABEL
from harness.scenarios.why_objects import ANYWHERE, TRAINING, World
from testbed.api import Object

GPU = "nvidia.com/gpu"


@dataclass(frozen=True)
class Situation:
    """How a cause is brought about, and when the cluster has come so far that it can be named."""

    rule: str
    make: Callable[[World], None]
    sign: str = ""  # text in the status of the object, from which on the cause is known
    name: str = ""  # of the object, if it is not that of the rule
    space: str = ""
    played: bool = False
    kind: str = "pytorchjobs"
    group: str = TRAINING
    also: tuple[str, ...] = field(default=())  # rules that a caller with fewer rights may name instead

    @property
    def object(self) -> str:
        """The name of the object."""
        return self.name or self.rule.replace(".", "-")


def _wants(**amounts: str) -> Object:
    return {"resources": {"limits": {name.replace("gpu", GPU): value for name, value in amounts.items()}}}


def _gpus(number: int) -> Object:
    return {"resources": {"limits": {GPU: str(number)}}}


def _cron(world: World) -> None:
    role = {"template": {"spec": {"containers": [{"name": "pytorch", "image": "none"}]}}}
    workload = {"spec": {"pytorchReplicaSpecs": {"Master": role}}}
    template = {"apiVersion": TRAINING, "kind": "PyTorchJob", "workload": workload}
    spec = {"schedule": "0 3 * * *", "suspend": True, "template": template}
    group = "apps.kubedl.io/v1alpha1"
    body = {"apiVersion": group, "kind": "Cron", "metadata": {"name": "cron-suspended"}, "spec": spec}
    world.create(f"/apis/{group}/namespaces/{world.namespace}/crons", body)


def _inference(world: World) -> None:
    group = "serving.kubedl.io/v1alpha1"
    server = {"spec": {"containers": [{"name": "tensorflow", "image": "none"}]}}
    predictor = {"name": "main", "modelVersion": "nowhere", "replicas": 1, "template": server}
    spec = {"framework": "TFServing", "predictors": [predictor]}
    body = {"apiVersion": group, "kind": "Inference", "metadata": {"name": "serve-version"}, "spec": spec}
    world.create(f"/apis/{group}/namespaces/{world.namespace}/inferences", body)


def _taken(world: World) -> None:
    spec = {"containers": [{"name": "c", "image": "none"}], "nodeName": world.mute, "tolerations": [ANYWHERE]}
    metadata = {"name": "refused-name-master-0"}
    world.create(f"/api/v1/namespaces/{world.namespace}/pods", {"metadata": metadata, "spec": spec})
    world.job("refused-name")


def _claim(world: World, name: str, **spec: Any) -> None:  # noqa: ANN401
    asked = {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "1Gi"}}, **spec}
    path = f"/api/v1/namespaces/{world.namespace}/persistentvolumeclaims"
    world.create(path, {"metadata": {"name": name}, "spec": asked})


def _mounts(claim: str) -> Object:
    return {"volumes": [{"name": "data", "persistentVolumeClaim": {"claimName": claim}}]}


def _unbound(world: World) -> None:
    _claim(world, "pending", storageClassName="nowhere")
    world.job("volume-unbound", pod=_mounts("pending"))


def _elsewhere(world: World) -> None:
    name = f"{world.namespace}-zone"
    match = {"key": "topology.kubernetes.io/zone", "operator": "In", "values": ["nowhere"]}
    spec = {
        "capacity": {"storage": "1Gi"},
        "accessModes": ["ReadWriteOnce"],
        "storageClassName": name,
        "hostPath": {"path": "/nonexistent"},
        "nodeAffinity": {"required": {"nodeSelectorTerms": [{"matchExpressions": [match]}]}},
        "claimRef": {"namespace": world.namespace, "name": "zonal"},
    }
    world.create("/api/v1/persistentvolumes", {"metadata": {"name": name}, "spec": spec})
    _claim(world, "zonal", storageClassName=name, volumeName=name)
    world.job("volume-zone", pod=_mounts("zonal"))


def _cordoned(world: World) -> None:
    labels = {"room": world.namespace}
    metadata, spec = {"name": f"cordoned-{world.namespace}", "labels": labels}, {"unschedulable": True}
    world.create("/api/v1/nodes", {"metadata": metadata, "spec": spec})
    world.job("fit-cordoned", pod={"nodeSelector": labels})


def _apart() -> Object:
    term = {"topologyKey": "kubernetes.io/hostname", "labelSelector": {"matchLabels": {"job-name": "fit-spread"}}}
    return {"affinity": {"podAntiAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": [term]}}}


def _queue(world: World, name: str, **parts: Any) -> None:  # noqa: ANN401
    team_queue.publish_queue(world.connection, world.namespace, name, 4, **parts)


def _queued(name: str, queue: str, workers: int = 1, **parts: Any) -> Callable[[World], None]:  # noqa: ANN401
    def make(world: World) -> None:
        cpu = {"resources": {"requests": parts.get("asks", {"cpu": "1"})}}
        world.job(name, labels={QUEUE_LABEL: queue, **parts.get("labels", {})}, workers=workers, container=cpu)

    return make


def _waits_for_quota(world: World) -> None:
    _queue(world, "full")
    _queued("holder", "full", workers=3)(world)
    world.pod("holder-master-0")
    _queued("queue-quota", "full", workers=3)(world)


def _stopped(world: World) -> None:
    _queue(world, "stopped", stopPolicy="Hold")
    _queued("queue-stopped", "stopped")(world)


def _too_large(world: World) -> None:
    _queue(world, "small")
    _queued("queue-too-large", "small", workers=1, asks={"cpu": "8"})(world)


def _no_flavor(world: World) -> None:
    _queue(world, "plain")
    _queued("queue-flavor", "plain", asks={"cpu": "1", GPU: "1"})(world)


def _preempted(world: World) -> None:
    _queue(world, "priorities")
    low, high = ({team_queue.PRIORITY_LABEL: f"{world.namespace}-{one}"} for one in ("low", "high"))
    _queued("queue-preempted", "priorities", workers=3, labels=low)(world)
    world.pod("queue-preempted-master-0")
    _queued("urgent", "priorities", workers=3, labels=high)(world)


def _failed_mount(world: World) -> None:
    world.mute_job("volume-mount")
    world.event(
        "volume-mount-master-0", "FailedMount", 'MountVolume.SetUp failed for volume "keys" : secret "keys" not found'
    )


def _pull(name: str, message: str) -> Callable[[World], None]:
    return lambda world: world.waits(name, "ImagePullBackOff", message)


def _shortage(world: World) -> None:
    world.job("fit-gpu-shortage", workers=2, container=_gpus(8), worker={"replicas": 2})


SITUATIONS: tuple[Situation, ...] = (
    Situation("held.by-person", lambda world: world.job("held-by-person", spec={"suspend": True}), "JobSuspended"),
    Situation(
        "held.unsupported",
        lambda world: world.job("held-unsupported", annotations={"kubedl.io/enable-elastic-training": "true"}),
        "Unsupported",
    ),
    Situation("queue.missing", _queued("queue-missing", "nowhere"), "nowhere doesn't exist"),
    Situation("queue.quota", _waits_for_quota, "insufficient unused quota"),
    Situation("queue.stopped", _stopped, "is inactive"),
    Situation("queue.too-large", _too_large, "maximum capacity"),
    Situation("queue.flavor", _no_flavor, "unavailable in ClusterQueue"),
    Situation("queue.preempted", _preempted, "preempted by", also=("queue.quota",)),
    Situation(
        "refused.quota", lambda world: world.job("refused-quota", space="quota"), "exceeded quota", space="quota"
    ),
    Situation(
        "refused.quota-needs",
        lambda world: world.job("refused-quota-needs", space="needs"),
        "must specify",
        space="needs",
    ),
    Situation(
        "refused.limit-range",
        lambda world: world.job("refused-limit-range", space="limits", container=_wants(cpu="8")),
        "maximum cpu usage",
        space="limits",
    ),
    Situation(
        "refused.pod-security",
        lambda world: world.job("refused-pod-security", space="restricted"),
        "violates PodSecurity",
        space="restricted",
    ),
    Situation(
        "refused.policy", lambda world: world.job("refused-policy", space="policy"), "denied request", space="policy"
    ),
    Situation(
        "refused.webhook-down",
        lambda world: world.job("refused-webhook-down", space="webhook"),
        "calling webhook",
        space="webhook",
    ),
    Situation("refused.name", _taken, "NameTaken"),
    Situation(
        "refused.reference",
        lambda world: world.job("refused-reference", pod={"serviceAccountName": "nobody"}),
        'serviceaccount "nobody" not found',
    ),
    Situation(
        "refused.reference",
        lambda world: world.job("refused-priority", pod={"priorityClassName": "nothing"}),
        "no PriorityClass with name",
        name="refused-priority",
    ),
    Situation(
        "order.waits",
        lambda world: world.job(
            "order-waits", workers=1, worker={"dependsOn": [{"upstream": "Master", "phase": "Succeeded"}]}
        ),
        "Worker waits for Master to be Succeeded",
    ),
    Situation(
        "gang.no-scheduler",
        lambda world: world.job("gang-no-scheduler", pod={"schedulerName": "nobody"}),
        "NotScheduled",
    ),
    Situation(
        "fit.too-large",
        lambda world: world.job("fit-too-large", container=_gpus(16)),
        "Insufficient",
        also=("fit.gpu-shortage",),
    ),
    Situation("fit.gpu-shortage", _shortage, "Insufficient"),
    Situation(
        "fit.cpu-memory",
        lambda world: world.job(
            "fit-cpu-memory", workers=2, container={"resources": {"requests": {"memory": "400Gi"}}}
        ),
        "Insufficient memory",
    ),
    Situation(
        "fit.selector",
        lambda world: world.job("fit-selector", pod={"nodeSelector": {"gpu-model": "none"}}),
        "affinity/selector",
        also=("fit.other",),
    ),
    Situation(
        "fit.taint",
        lambda world: world.job("fit-taint", pod={"tolerations": []}),
        "untolerated taint",
        also=("fit.other",),
    ),
    Situation("fit.cordoned", _cordoned, "Unschedulable", also=("fit.other",)),
    Situation("fit.spread", lambda world: world.job("fit-spread", workers=2, pod=_apart()), "anti-affinity"),
    Situation(
        "fit.ports-pods",
        lambda world: world.job(
            "fit-ports-pods", workers=2, container={"ports": [{"containerPort": 1, "hostPort": 4321}]}
        ),
        "free ports",
    ),
    Situation("volume.missing", lambda world: world.job("volume-missing", pod=_mounts("nothing")), "not found"),
    Situation("volume.unbound", _unbound, "unbound immediate"),
    Situation("volume.zone", _elsewhere, "Unschedulable"),
    Situation(
        "end.deadline",
        lambda world: world.job("end-deadline", pod={"nodeSelector": {"none": "x"}}, spec={"activeDeadlineSeconds": 1}),
        "DeadlineExceeded",
    ),
    Situation("cron.suspended", _cron, "CronSuspended", kind="crons", group="apps.kubedl.io/v1alpha1"),
    Situation(
        "serve.version", _inference, "ModelVersionNotFound", kind="inferences", group="serving.kubedl.io/v1alpha1"
    ),
    Situation(
        "image.not-found",
        _pull("image-not-found", "rpc error: code = NotFound desc = manifest unknown"),
        "ImagePull",
        played=True,
    ),
    Situation("image.unauthorized", _pull("image-unauthorized", "pull access denied: 401"), "ImagePull", played=True),
    Situation(
        "image.unreachable",
        _pull("image-unreachable", "dial tcp: lookup r.example: no such host"),
        "ImagePull",
        played=True,
    ),
    Situation("image.rate", _pull("image-rate", "429 Too Many Requests: toomanyrequests"), "ImagePull", played=True),
    Situation(
        "image.platform",
        _pull("image-platform", "no match for platform in manifest: not found"),
        "ImagePull",
        played=True,
    ),
    Situation(
        "image.never", lambda world: world.waits("image-never", "ErrImageNeverPull"), "ErrImageNeverPull", played=True
    ),
    Situation(
        "image.name",
        lambda world: world.waits("image-name", "InvalidImageName", "bad"),
        "InvalidImageName",
        played=True,
    ),
    Situation(
        "start.config",
        lambda world: world.waits("start-config", "CreateContainerConfigError", 'secret "keys" not found'),
        "CreateContainerConfigError",
        played=True,
    ),
    Situation(
        "start.command",
        lambda world: world.ends(
            "start-command", 128, "StartError", 'exec: "torchrum": executable file not found in $PATH'
        ),
        "ReplicaFailed",
        played=True,
    ),
    Situation("volume.mount", _failed_mount, "FailedMount", played=True),
    Situation(
        "run.oom",
        lambda world: world.ends("run-oom", 137, "OOMKilled", container=_wants(memory="1Gi")),
        "ReplicaFailed",
        played=True,
    ),
    Situation(
        "run.exit", lambda world: world.ends("run-exit", 1, message="ValueError: x"), "ReplicaFailed", played=True
    ),
    Situation("run.signal", lambda world: world.ends("run-signal", 139), "ReplicaFailed", played=True),
    Situation(
        "run.shm",
        lambda world: world.ends("run-shm", 135, message="insufficient shared memory (shm)"),
        "ReplicaFailed",
        played=True,
    ),
    Situation(
        "meet.dns",
        lambda world: world.ends("meet-dns", 1, message="socket.gaierror: [Errno -2] Name or service not known"),
        "ReplicaFailed",
        played=True,
    ),
    Situation(
        "end.retries",
        lambda world: world.ends(
            "end-retries", 1, policy="OnFailure", spec={"backoffLimit": 0}, message="ValueError: y"
        ),
        "BackoffLimitExceeded",
        played=True,
    ),
)
