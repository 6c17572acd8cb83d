"""Model storage in pods: volume, mount, node affinity and claim.

Only AWSEfs needs objects of its own, a PersistentVolume and a claim. Volumes are cluster-scoped, so one is created only
for file systems that the administrator allows. The claim is owned by the job or version that needs it, and deleted with
it. The volume cannot have a namespaced owner: it names the claim by uid, Kubernetes marks it Released when that claim
is gone, and the operator deletes its Released volumes. So a crash of the operator at any point leaves nothing behind,
and the data in the file system is always kept.
"""

import posixpath
from contextlib import suppress
from dataclasses import dataclass
from typing import Any

from kubedl.api.model import GROUP
from kubedl.api.model_storage import ClaimStorage, EfsStorage, LocalStorage, NfsStorage, Storage, place
from kubedl.kube.client import Client
from kubedl.kube.errors import AlreadyExistsError, ForbiddenError
from kubedl.kube.types.meta import ObjectKey, ObjectMeta, ObjectT, Record, Resource
from kubedl.runtime.ownership import owner_reference

VOLUME = "modelvolume"
HOST_NAME = "kubernetes.io/hostname"
CLAIM_NAMESPACE = f"{GROUP}/claim-namespace"  # label of KubeDL's PersistentVolumes
EFS_DRIVER = "efs.csi.aws.com"
ANY_SIZE = "1Gi"  # Kubernetes requires a capacity, and EFS has none

# The address of a mount target (mounttargetip) would bypass the file system that the handle names.
EFS_ATTRIBUTES = ("encryptintransit", "path")

Body = dict[str, Any]


class StorageForbiddenError(ForbiddenError):
    """The administrator does not allow this storage."""

    def __init__(self, message: str) -> None:
        super().__init__(403, "StorageNotAllowed", message)


@dataclass(frozen=True)
class FileSystems:
    """The AWS EFS file systems that may be mounted: `fs-1` in all namespaces, `team/fs-1` in one."""

    allowed: frozenset[str] = frozenset()

    @classmethod
    def parse(cls, text: str) -> "FileSystems":
        """Parse a comma-separated list."""
        return cls(frozenset(one.strip() for one in text.split(",") if one.strip()))

    def check(self, efs: EfsStorage, namespace: str) -> None:
        """Raise StorageForbiddenError, with a message for the author of a job and the administrator."""
        system = efs.volume_handle.partition(":")[0]
        if not {system, f"{namespace}/{system}"} & self.allowed:
            raise StorageForbiddenError(
                f"the administrator does not allow the AWS EFS file system {system} in namespace {namespace} "
                "(flag --efs-file-systems of the operator, chart value operator.efsFileSystems)"
            )
        for name in efs.attributes:
            if name.lower() not in EFS_ATTRIBUTES:
                raise StorageForbiddenError(
                    f"AWSEfs.attributes: {name} is not allowed; only encryptInTransit and path are"
                )


NO_FILE_SYSTEMS = FileSystems()


class VolumeStatus(Record, frozen=True):
    """Status of a PersistentVolume."""

    phase: str = ""


class PersistentVolume(Record, frozen=True):
    """A PersistentVolume."""

    metadata: ObjectMeta = ObjectMeta()
    status: VolumeStatus = VolumeStatus()


class Claim(Record, frozen=True):
    """A PersistentVolumeClaim."""

    metadata: ObjectMeta = ObjectMeta()


PERSISTENT_VOLUMES = Resource(PersistentVolume, "PersistentVolume", "persistentvolumes", namespaced=False)
CLAIMS = Resource(Claim, "PersistentVolumeClaim", "persistentvolumeclaims")


@dataclass(frozen=True)
class Owner:
    """The owner of the pods that mount the storage."""

    namespace: str
    uid: str
    reference: Body

    @classmethod
    def of(cls, resource: Resource[ObjectT], owner: ObjectT) -> "Owner":
        """Return the owner for an object of this kind."""
        return cls(owner.metadata.namespace, owner.metadata.uid, owner_reference(resource, owner))

    @property
    def claim_name(self) -> str:
        """Return the name of the claim, unique to its owner."""
        return f"mv-pvc-{self.uid}"

    @property
    def volume_name(self) -> str:
        """Return the name of the volume of that claim."""
        return f"mv-pv-{self.namespace}-{self.uid}"


def volume(storage: Storage, owner: Owner, *, read_only: bool = False) -> Body:
    """Return the volume of a pod. A pod that only reads never creates the directory."""
    found = place(storage)
    source: Body
    match found:
        case LocalStorage():
            source = {"hostPath": {"path": found.path, "type": "" if read_only else "DirectoryOrCreate"}}
        case NfsStorage():
            nfs = {"server": found.server, "path": found.path}
            source = {"nfs": nfs | {"readOnly": True} if read_only else nfs}
        case ClaimStorage():
            source = {"persistentVolumeClaim": {"claimName": found.claim_name}}
        case EfsStorage():
            source = {"persistentVolumeClaim": {"claimName": owner.claim_name}}
        case None:
            raise ValueError("storage must have exactly one source")
    return {"name": VOLUME, **source}


def mount(storage: Storage, path: str, *, read_only: bool = False) -> Body:
    """Return the mount of a container."""
    found = place(storage)
    inside = found.sub_path if isinstance(found, ClaimStorage) else ""
    return {
        "name": VOLUME,
        "mountPath": path,
        **({"subPath": inside} if inside else {}),
        **({"readOnly": True} if read_only else {}),
    }


def node_selector(storage: Storage) -> dict[str, str]:
    """Return the node selector of a pod that needs the model."""
    found = place(storage)
    return {HOST_NAME: found.node_name} if isinstance(found, LocalStorage) and found.node_name else {}


def base_name(storage: Storage) -> str:
    """Return the name of a single file; directories may have any name."""
    found = place(storage)
    path = found.path if isinstance(found, LocalStorage) else found.sub_path if isinstance(found, ClaimStorage) else ""
    name = posixpath.basename(posixpath.normpath(path))
    return name if name not in ("", ".") and ":" not in name else "model"


async def ensure_volumes(client: Client, storage: Storage | None, owner: Owner, systems: FileSystems) -> None:
    """Create the objects that a pod needs to mount the storage. Existing ones belong to this owner."""
    found = place(storage) if storage is not None else None
    if not isinstance(found, EfsStorage):
        return
    systems.check(found, owner.namespace)
    try:
        claim = await client.create(CLAIMS, owner.namespace, render_claim(owner))
    except AlreadyExistsError:
        claim = await client.get(CLAIMS, ObjectKey(owner.namespace, owner.claim_name))
    with suppress(AlreadyExistsError):
        await client.create(PERSISTENT_VOLUMES, "", render_volume(found, owner, claim.metadata.uid))


def render_claim(owner: Owner) -> Body:
    """Return the claim, bound to one volume."""
    return {
        "apiVersion": CLAIMS.api_version,
        "kind": CLAIMS.kind,
        "metadata": {
            "name": owner.claim_name,
            "namespace": owner.namespace,
            "ownerReferences": [owner.reference],
        },
        "spec": {
            "accessModes": ["ReadWriteMany"],
            "storageClassName": "",
            "volumeName": owner.volume_name,
            "resources": {"requests": {"storage": ANY_SIZE}},
        },
    }


def render_volume(efs: EfsStorage, owner: Owner, claim_uid: str) -> Body:
    """Return the volume, bound to one claim."""
    return {
        "apiVersion": PERSISTENT_VOLUMES.api_version,
        "kind": PERSISTENT_VOLUMES.kind,
        "metadata": {"name": owner.volume_name, "labels": {CLAIM_NAMESPACE: owner.namespace}},
        "spec": {
            "accessModes": ["ReadWriteMany"],
            "capacity": {"storage": ANY_SIZE},
            "persistentVolumeReclaimPolicy": "Retain",
            "claimRef": {
                "apiVersion": CLAIMS.api_version,
                "kind": CLAIMS.kind,
                "namespace": owner.namespace,
                "name": owner.claim_name,
                "uid": claim_uid,
            },
            "csi": {
                "driver": EFS_DRIVER,
                "volumeHandle": efs.volume_handle,
                **({"volumeAttributes": dict(efs.attributes)} if efs.attributes else {}),
            },
        },
    }
