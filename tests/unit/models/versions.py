"""ModelVersions, their build pods, and what a packer answers, for tests."""

from datetime import datetime
from typing import Any

from kubedl.api.model import MODEL_VERSIONS, ModelVersion
from kubedl.kube import codec
from kubedl.kube.types.core import ContainerState, ContainerStatus, Pod, PodCondition, PodStatus, Terminated, Waiting
from kubedl.kube.types.meta import ObjectMeta, OwnerReference
from kubedl.models import build_pod
from tests.training_builders import NAMESPACE, NOW

NAME, UID = "resnet-1", "12345678-aaaa-bbbb-cccc-1234567890ab"
REPOSITORY = "hub/resnet"
DIGEST, OTHER = "sha256:" + "a" * 64, "sha256:" + "b" * 64
CLAIM: dict[str, Any] = {"claim": {"claimName": "models", "subPath": "runs/7"}}
LOCAL: dict[str, Any] = {"localStorage": {"path": "/models/resnet.onnx", "nodeName": "node1"}}
NFS: dict[str, Any] = {"nfs": {"server": "nas", "path": "/exports/m"}}
EFS: dict[str, Any] = {"AWSEfs": {"volumeHandle": "fs-1:/m", "attributes": {"encryptInTransit": "true"}}}


def version(status: dict[str, Any] | None = None, name: str = NAME, **spec: object) -> ModelVersion:
    """A version as it comes from the API server; `spec` is in place of what it mostly is."""
    body = {
        "metadata": {"name": name, "namespace": NAMESPACE, "uid": UID, "generation": 1, "resourceVersion": "1"},
        "spec": {"modelName": "resnet", "imageRepo": REPOSITORY, "imageTag": "v1", "storage": CLAIM, **spec},
        "status": status or {},
    }
    return MODEL_VERSIONS.decoder.decode(codec.encode(body))


def building(attempts: int = 1, **status: object) -> ModelVersion:
    """A version whose build was begun."""
    return version({"imageBuildPhase": "ImageBuilding", "attempts": attempts, **status})


def pod(attempt: int = 1, phase: str = "Pending", uid: str = UID, **fields: Any) -> Pod:  # noqa: ANN401 - as there
    """The build pod."""
    reference = OwnerReference(
        api_version=MODEL_VERSIONS.api_version, kind=MODEL_VERSIONS.kind, name=NAME, uid=uid, controller=True
    )
    metadata = {"creation_timestamp": NOW, "deletion_timestamp": fields.pop("deleted", None)}
    return Pod(
        metadata=ObjectMeta(
            name=f"image-build-{NAME}",
            namespace=NAMESPACE,
            uid="pod-1",
            labels={build_pod.VERSION_UID: uid, build_pod.ATTEMPT: str(attempt)},
            owner_references=(reference,),
            **metadata,
        ),
        status=PodStatus(phase=phase, **fields),
    )


def ended(
    code: int, words: str = "", attempt: int = 1, at: datetime | None = NOW, why: str = "Error", **answer: object
) -> Pod:
    """A build pod whose packer ended with this code and these last words, or with an answer."""
    words = codec.encode(answer).decode() if answer else words
    final = Terminated(exit_code=code, reason=why, message=words, finished_at=at)
    status = ContainerStatus(name=build_pod.CONTAINER, state=ContainerState(terminated=final))
    return pod(attempt, "Failed" if code else "Succeeded", container_statuses=(status,))


def waiting(reason: str, message: str = "") -> Pod:
    """A build pod whose container does not start."""
    state = ContainerState(waiting=Waiting(reason=reason, message=message))
    return pod(container_statuses=(ContainerStatus(name=build_pod.CONTAINER, state=state),))


def unschedulable(message: str) -> Pod:
    """A build pod that no node takes."""
    condition = PodCondition(type="PodScheduled", status="False", reason="Unschedulable", message=message)
    return pod(conditions=(condition,))
