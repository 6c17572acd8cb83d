"""The pod and Service of a TensorBoard.

The pod has the volumes, mounts, environment, user and scheduling constraints of a replica, so it can read logs wherever
a replica can write them. It has none of the labels by which the job's own Service selects replicas.
"""

import posixpath
from typing import Any

from kubedl.kube.types.core import PODS, SERVICES
from kubedl.podspec.template import TemplateError
from kubedl.runtime.ownership import owner_reference
from kubedl.training import labels, template
from kubedl.training.job import Job, JobRole
from kubedl.training.kind import Kind
from kubedl.training.tensorboard.plan import DIGEST, digest
from kubedl.training.tensorboard.spec import TensorBoardSpec, tensorboard_name

Body = dict[str, Any]

PORT = 6006
BOARD_OF = "training.kubedl.io/tensorboard-of"  # label: the job's uid
LEADERS = ("master", "chief")
# Without the containers and their lifecycle; the other fields say where a pod may run and what it may read.
OF_THE_POD = (
    "affinity",
    "automountServiceAccountToken",
    "dnsConfig",
    "dnsPolicy",
    "hostAliases",
    "imagePullSecrets",
    "nodeName",
    "nodeSelector",
    "runtimeClassName",
    "securityContext",
    "serviceAccount",
    "serviceAccountName",
    "tolerations",
    "volumes",
)
OF_THE_CONTAINER = ("env", "envFrom", "image", "imagePullPolicy", "securityContext", "volumeMounts", "workingDir")
RESOURCES = {"requests": {"cpu": "100m", "memory": "256Mi"}, "limits": {"cpu": "1", "memory": "2Gi"}}
# As a program if it is in $PATH, else as a Python module.
START = 'command -v tensorboard >/dev/null && exec tensorboard "$@"; exec python3 -m tensorboard.main "$@"'


def pod(kind: Kind, job: Job, tensorboard: TensorBoardSpec) -> Body:
    """Render the pod. Raises TemplateError for an invalid template."""
    role, given = _role(job, tensorboard.log_dir)
    spec = given["spec"]
    main = _main(spec, job.container)
    container = {key: main[key] for key in OF_THE_CONTAINER if main.get(key) is not None}
    container |= {
        "name": "tensorboard",
        "command": ["sh", "-c", START, "tensorboard"],
        "args": [f"--logdir={tensorboard.log_dir}".replace("$", "$$"), "--host=0.0.0.0", f"--port={PORT}"],
        # A GPU image without a resource limit would get all GPUs of the node.
        "env": [*(main.get("env") or ()), {"name": "NVIDIA_VISIBLE_DEVICES", "value": ""}],
        "ports": [{"name": "tensorboard", "containerPort": PORT, "protocol": "TCP"}],
        "readinessProbe": {"tcpSocket": {"port": PORT}, "periodSeconds": 5},
        "resources": tensorboard.resources.unpack() if tensorboard.resources is not None else RESOURCES,
        "terminationMessagePolicy": "FallbackToLogsOnError",
        **({"image": tensorboard.image} if tensorboard.image else {}),
    }
    if not container.get("image"):
        raise TemplateError(f"TensorBoard: the template of {role.name} has no image, and tensorBoard.image is not set")
    own = {key: spec[key] for key in OF_THE_POD if spec.get(key) is not None}
    if not own.get("serviceAccountName") and not own.get("serviceAccount"):
        own.setdefault("automountServiceAccountToken", False)
    meta = _metadata(kind, job)
    return {
        "apiVersion": PODS.api_version,
        "kind": PODS.kind,
        "metadata": {**meta, "annotations": {DIGEST: digest(tensorboard)}},
        "spec": {**own, "restartPolicy": "Always", "terminationGracePeriodSeconds": 10, "containers": [container]},
    }


def service(kind: Kind, job: Job) -> Body:
    """Render the Service; unlike the job's own, it has a cluster IP."""
    return {
        "apiVersion": SERVICES.api_version,
        "kind": SERVICES.kind,
        "metadata": _metadata(kind, job),
        "spec": {"selector": {BOARD_OF: job.uid}, "ports": [{"name": "http", "port": PORT, "targetPort": PORT}]},
    }


def _metadata(kind: Kind, job: Job) -> Body:
    name = tensorboard_name(job.resource)
    own = {
        labels.JOB_NAME: job.name,
        labels.REPLICA_TYPE: "tensorboard",
        labels.REPLICA_INDEX: "0",
        BOARD_OF: job.uid,
        "replica-type": "tensorboard",
        "replica-index": "0",
        "replica-name": name,
    }
    return {
        "name": name,
        "namespace": job.namespace,
        "labels": own,
        "ownerReferences": [owner_reference(kind.resource, job.resource)],
    }


def _role(job: Job, log_dir: str) -> tuple[JobRole, Body]:
    """Return the role whose template is used: the first that mounts the logs, else the leader's, else the first."""
    read = [(role, template.read(role.name, role.template)) for role in job.roles.values()]
    if not read:
        raise TemplateError("TensorBoard: the job has no role with a template to use")
    for role, given in read:
        mounts = _main(given["spec"], job.container).get("volumeMounts") or ()
        if any(_holds(mount.get("mountPath"), log_dir) for mount in mounts):
            return role, given
    leading = [one for one in read if one[0].name.lower() in LEADERS]
    return (leading or read)[0]


def _main(spec: Body, name: str) -> Body:
    containers: list[Body] = spec["containers"]
    found = next((container for container in containers if container["name"] == name), None)
    if found is None:
        raise TemplateError(f"TensorBoard: the template has no container {name}")
    return found


def _holds(mount: object, path: str) -> bool:
    """Return whether a directory is a mount path or below it."""
    if not isinstance(mount, str) or not path.startswith("/"):
        return False
    return (posixpath.normpath(path) + "/").startswith(posixpath.normpath(mount).rstrip("/") + "/")
