"""The pod and the Service of a TensorBoard.

The pod sees what a replica sees: volumes, mounts, environment, user, place. So it can read the logs wherever a replica
can write them. It has none of the labels by which the job's own Service finds replicas.
"""

import posixpath
from typing import Any

from kubedl.api.pod_template import TemplateError
from kubedl.training import labels, template
from kubedl.training.addons.board import DIGEST, digest
from kubedl.training.addons.tensorboard import Board, name_of
from kubedl.training.job import Job, JobRole
from kubedl.training.kind import Kind
from kubedl.training.pods import owner_reference
from kubedl.wire.core import PODS, SERVICES

Body = dict[str, Any]

PORT = 6006
BOARD_OF = "training.kubedl.io/tensorboard-of"  # a label: the job's uid
LEADERS = ("master", "chief")
# Not the containers, nor what concerns their life; the rest says where a pod may run and what it may read.
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
# As a program where there is one; where it was only installed for Python, as a module.
START = 'command -v tensorboard >/dev/null && exec tensorboard "$@"; exec python3 -m tensorboard.main "$@"'


def pod(kind: Kind, job: Job, board: Board) -> Body:
    """The pod as it is sent to the API server. Raises TemplateError if the template is none."""
    role, given = _role(job, board.log_dir)
    spec = given["spec"]
    main = _main(spec, job.container)
    container = {key: main[key] for key in OF_THE_CONTAINER if main.get(key) is not None}
    container |= {
        "name": "tensorboard",
        "command": ["sh", "-c", START, "tensorboard"],
        "args": [f"--logdir={board.log_dir}".replace("$", "$$"), "--host=0.0.0.0", f"--port={PORT}"],
        # An image made for GPUs would be given all of a node's where none is asked for.
        "env": [*(main.get("env") or ()), {"name": "NVIDIA_VISIBLE_DEVICES", "value": ""}],
        "ports": [{"name": "tensorboard", "containerPort": PORT, "protocol": "TCP"}],
        "readinessProbe": {"tcpSocket": {"port": PORT}, "periodSeconds": 5},
        "resources": board.resources.unpack() if board.resources is not None else RESOURCES,
        "terminationMessagePolicy": "FallbackToLogsOnError",
        **({"image": board.image} if board.image else {}),
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
        "metadata": {**meta, "annotations": {DIGEST: digest(board)}},
        "spec": {**own, "restartPolicy": "Always", "terminationGracePeriodSeconds": 10, "containers": [container]},
    }


def service(kind: Kind, job: Job) -> Body:
    """The Service as it is sent to the API server; unlike the job's own it has an address."""
    return {
        "apiVersion": SERVICES.api_version,
        "kind": SERVICES.kind,
        "metadata": _metadata(kind, job),
        "spec": {"selector": {BOARD_OF: job.uid}, "ports": [{"name": "http", "port": PORT, "targetPort": PORT}]},
    }


def _metadata(kind: Kind, job: Job) -> Body:
    name = name_of(job.made)
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
        "ownerReferences": [owner_reference(kind, job)],
    }


def _role(job: Job, log_dir: str) -> tuple[JobRole, Body]:
    """Whose template it takes: the first role that mounts the logs, else the one that leads, else the first."""
    read = [(role, template.read(role.name, role.template)) for role in job.roles.values()]
    if not read:
        raise TemplateError("TensorBoard: the job has no role whose template it could take")
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
    """Whether a directory is the mounted one or lies in it."""
    if not isinstance(mount, str) or not path.startswith("/"):
        return False
    return (posixpath.normpath(path) + "/").startswith(posixpath.normpath(mount).rstrip("/") + "/")
