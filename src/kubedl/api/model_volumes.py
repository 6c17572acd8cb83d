"""A model's storage as pods see it, whoever they belong to: the volume, the mount, the node, the claim.

Only AWSEfs needs objects of its own, a PersistentVolume and a claim. A volume is an administrator's to make, so it is
made only for file systems that he allows. The claim belongs to whoever needs it and goes
with them. The volume is in no namespace, so nothing in one can own it: it names the claim by its uid, Kubernetes calls
it Released when that claim is gone, and a Released one of ours is deleted. So no moment at which the operator dies
leaves anything behind, and what the file system holds is kept in any case.
"""

import posixpath
from contextlib import suppress
from dataclasses import dataclass
from typing import Any

from kubedl.api.model import GROUP
from kubedl.api.model_storage import ClaimStorage, EfsStorage, LocalStorage, NfsStorage, Storage, place
from kubedl.kube.client import Client
from kubedl.kube.errors import AlreadyExistsError, ForbiddenError
from kubedl.wire.meta import Key, ObjectMeta, Record, Resource

VOLUME = "modelvolume"
HOST_NAME = "kubernetes.io/hostname"
CLAIM_NAMESPACE = f"{GROUP}/claim-namespace"  # a label of our PersistentVolumes
EFS_DRIVER = "efs.csi.aws.com"
ANY_SIZE = "1Gi"  # Kubernetes asks for a number, and EFS has none

# An address of a mount target (mounttargetip) would lead past the file system that the handle names.
EFS_ATTRIBUTES = ("encryptintransit", "path")

Body = dict[str, Any]


class StorageForbiddenError(ForbiddenError):
    """The administrator does not let this storage be mounted."""

    def __init__(self, message: str) -> None:
        super().__init__(403, "StorageNotAllowed", message)


@dataclass(frozen=True)
class FileSystems:
    """The file systems of AWS that may be mounted: `fs-1` in every namespace, `team/fs-1` in one."""

    allowed: frozenset[str] = frozenset()

    @classmethod
    def parse(cls, text: str) -> "FileSystems":
        """From a list with commas."""
        return cls(frozenset(one.strip() for one in text.split(",") if one.strip()))

    def check(self, efs: EfsStorage, namespace: str) -> None:
        """Raise StorageForbiddenError, in words for the author of a job and for his administrator."""
        system = efs.volume_handle.partition(":")[0]
        if not {system, f"{namespace}/{system}"} & self.allowed:
            raise StorageForbiddenError(
                f"the administrator does not allow the AWS EFS file system {system} in namespace {namespace} "
                "(flag --efs-file-systems of the operator, chart value operator.efsFileSystems)"
            )
        for name in efs.attributes:
            if name.lower() not in EFS_ATTRIBUTES:
                raise StorageForbiddenError(f"AWSEfs.attributes: {name} is not allowed; encryptInTransit and path are")


NO_FILE_SYSTEMS = FileSystems()


class VolumeStatus(Record, frozen=True):
    """What Kubernetes says about a volume."""

    phase: str = ""


class PersistentVolume(Record, frozen=True):
    """Storage of the cluster."""

    metadata: ObjectMeta = ObjectMeta()
    status: VolumeStatus = VolumeStatus()


class Claim(Record, frozen=True):
    """What pods mount."""

    metadata: ObjectMeta = ObjectMeta()


PERSISTENT_VOLUMES = Resource(PersistentVolume, "PersistentVolume", "persistentvolumes", namespaced=False)
CLAIMS = Resource(Claim, "PersistentVolumeClaim", "persistentvolumeclaims")


@dataclass(frozen=True)
class Owner:
    """Whose pods mount the storage."""

    namespace: str
    uid: str
    reference: Body

    @property
    def claim_name(self) -> str:
        """Of the claim that is made for it, which nobody else can have."""
        return f"mv-pvc-{self.uid}"

    @property
    def volume_name(self) -> str:
        """Of the volume behind that claim."""
        return f"mv-pv-{self.namespace}-{self.uid}"


def volume(storage: Storage, owner: Owner, *, read_only: bool = False) -> Body:
    """The volume of a pod. Readers never make what they are to read."""
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
            raise ValueError("a storage that is none, or several")
    return {"name": VOLUME, **source}


def mount(storage: Storage, path: str, *, read_only: bool = False) -> Body:
    """The mount of a container."""
    found = place(storage)
    inside = found.sub_path if isinstance(found, ClaimStorage) else ""
    return {
        "name": VOLUME,
        "mountPath": path,
        **({"subPath": inside} if inside else {}),
        **({"readOnly": True} if read_only else {}),
    }


def node_selector(storage: Storage) -> dict[str, str]:
    """Where a pod must run that is to find the model."""
    found = place(storage)
    return {HOST_NAME: found.node_name} if isinstance(found, LocalStorage) and found.node_name else {}


def base_name(storage: Storage) -> str:
    """What a single file is called; directories may be called anything."""
    found = place(storage)
    path = found.path if isinstance(found, LocalStorage) else found.sub_path if isinstance(found, ClaimStorage) else ""
    name = posixpath.basename(posixpath.normpath(path))
    return name if name not in ("", ".") and ":" not in name else "model"


async def provide(client: Client, storage: Storage | None, owner: Owner, systems: FileSystems) -> None:
    """Make what must be there before a pod can mount the storage. What is there already is this very owner's."""
    found = place(storage) if storage is not None else None
    if not isinstance(found, EfsStorage):
        return
    systems.check(found, owner.namespace)
    try:
        claim = await client.create(CLAIMS, owner.namespace, render_claim(owner))
    except AlreadyExistsError:
        claim = await client.get(CLAIMS, Key(owner.namespace, owner.claim_name))
    with suppress(AlreadyExistsError):
        await client.create(PERSISTENT_VOLUMES, "", render_volume(found, owner, claim.metadata.uid))


def render_claim(owner: Owner) -> Body:
    """The claim, for one volume and no other."""
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
    """The volume, for one claim and no other."""
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
