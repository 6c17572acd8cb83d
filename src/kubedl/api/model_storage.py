"""Storage of model files, shared by the job that writes them, the build that packs them and the pods that serve them.

The patterns are defined once, for the CEL rules and for the operator's own checks: an object may be older than its
rules.
"""

from collections.abc import Mapping
from typing import Annotated, ClassVar

import msgspec
from msgspec import Meta

from kubedl.kube.bounded_regex import BoundedPattern
from kubedl.kube.types.meta import Record
from kubedl.schema.structural import Rule

DEFAULT_PATH = "/kubedl-model"
LONGEST_PATH = 4096
MOUNTABLE = r"^(/[^:]*)?$"  # the API server requires this of every mount path; empty selects the default
UPWARDS = r"(^|/)\.\.(/|$)"
NO_MOUNT = "the mount path of the model: an absolute path without ':'"
NO_DIRECTORY = "an absolute path without '..'"
NO_SUB_PATH = "a path inside the claim: relative, without '..'"
HOST_NAME = r"^([A-Za-z0-9]([A-Za-z0-9._-]{0,61}[A-Za-z0-9])?)?$"  # the API server requires this of every label value
NO_NODE = "the node of the directory"
NO_HOST_NAME = "a value of the node label kubernetes.io/hostname: at most 63 letters, digits, '-', '_' and '.'"
EXACTLY_ONE = "set exactly one of localStorage, nfs, AWSEfs and claim"

MountPath = Annotated[
    str,
    Meta(
        max_length=4096,
        description=f"The directory where the containers of a job find the model. Defaults to {DEFAULT_PATH}.",
    ),
]


def _mount_rule() -> Rule:
    return Rule(f"!has(self.mountPath) || self.mountPath.matches(r'{MOUNTABLE}')", NO_MOUNT, ".mountPath")


def _directory_rule() -> Rule:
    return Rule(f"self.path.startsWith('/') && !self.path.matches(r'{UPWARDS}')", NO_DIRECTORY, ".path")


class LocalStorage(Record, frozen=True):
    """A directory or file on a node, mounted as hostPath, which the Pod Security level of the namespace must allow."""

    path: Annotated[str, Meta(min_length=1, max_length=4096, description="The directory or file on the node.")]
    mount_path: MountPath = ""
    node_name: Annotated[
        str,
        Meta(
            max_length=253,
            description="The node, by its label kubernetes.io/hostname. The replica that writes the model and the "
            "build pod run there.",
        ),
    ] = ""

    __rules__: ClassVar[tuple[Rule, ...]] = (
        _directory_rule(),
        _mount_rule(),
        Rule("has(self.nodeName) && self.nodeName != ''", NO_NODE, ".nodeName", reason="FieldValueRequired"),
        Rule(f"!has(self.nodeName) || self.nodeName.matches(r'{HOST_NAME}')", NO_HOST_NAME, ".nodeName"),
    )


class NfsStorage(Record, frozen=True):
    """A directory of an NFS server."""

    server: Annotated[
        str, Meta(min_length=1, max_length=253, description="The host name or address of the NFS server.")
    ]
    path: Annotated[str, Meta(min_length=1, max_length=4096, description="The directory on the NFS server.")] = "/"
    mount_path: MountPath = ""

    __rules__: ClassVar[tuple[Rule, ...]] = (_directory_rule(), _mount_rule())


class EfsStorage(Record, frozen=True):
    """An AWS EFS file system. The CSI driver efs.csi.aws.com must be installed in the cluster."""

    volume_handle: Annotated[
        str,
        Meta(
            min_length=1,
            max_length=253,
            description="The volume handle of the driver: {file system}[:{path}[:{access point}]].",
        ),
    ]
    attributes: Annotated[
        Mapping[str, Annotated[str, Meta(max_length=1024)]],
        Meta(max_length=32, description="Additional volume attributes for the driver."),
    ] = {}
    mount_path: MountPath = ""

    __rules__: ClassVar[tuple[Rule, ...]] = (_mount_rule(),)


class ClaimStorage(Record, frozen=True):
    """An existing PersistentVolumeClaim of the namespace."""

    claim_name: Annotated[str, Meta(min_length=1, max_length=253, description="The name of the PersistentVolumeClaim.")]
    sub_path: Annotated[
        str,
        Meta(
            max_length=4096, description="The directory or file inside the volume. Defaults to the root of the volume."
        ),
    ] = ""
    mount_path: MountPath = ""

    __rules__: ClassVar[tuple[Rule, ...]] = (
        Rule(
            f"!has(self.subPath) || !self.subPath.startsWith('/') && !self.subPath.matches(r'{UPWARDS}')",
            NO_SUB_PATH,
            ".subPath",
        ),
        _mount_rule(),
    )


Place = LocalStorage | NfsStorage | EfsStorage | ClaimStorage


class Storage(Record, frozen=True):
    """The storage of the model. Set exactly one."""

    local_storage: LocalStorage | None = None
    nfs: NfsStorage | None = None
    efs: EfsStorage | None = msgspec.field(name="AWSEfs", default=None)
    claim: ClaimStorage | None = None

    __rules__: ClassVar[tuple[Rule, ...]] = (
        Rule(
            "[has(self.localStorage), has(self.nfs), has(self.AWSEfs), has(self.claim)]"
            ".filter(there, there).size() == 1",
            EXACTLY_ONE,
        ),
    )


def place(storage: Storage) -> Place | None:
    """Return the storage that is set; None if none or more than one is."""
    storages: list[Place] = [
        one for one in (storage.local_storage, storage.nfs, storage.efs, storage.claim) if one is not None
    ]
    return storages[0] if len(storages) == 1 else None


def mount_path(storage: Storage) -> str:
    """Return the mount path of the model in the containers of a job."""
    found = place(storage)
    return (found.mount_path if found is not None else "") or DEFAULT_PATH


def validate(storage: Storage) -> str | None:
    """Return the first invalid field of a storage that was stored before the CEL rules existed, and what it must be."""
    found = place(storage)
    if found is None:
        return f"storage: {EXACTLY_ONE}"
    if not BoundedPattern(MOUNTABLE, LONGEST_PATH).fullmatch(found.mount_path):
        return f"storage: mountPath: {NO_MOUNT}"
    if isinstance(found, LocalStorage | NfsStorage) and not _is_directory(found.path):
        return f"storage: path: {NO_DIRECTORY}"
    if isinstance(found, LocalStorage) and not (
        found.node_name and BoundedPattern(HOST_NAME, 63).fullmatch(found.node_name)
    ):
        return f"storage: localStorage.nodeName: {NO_HOST_NAME if found.node_name else NO_NODE}"
    if isinstance(found, ClaimStorage) and (found.sub_path.startswith("/") or _leads_up(found.sub_path)):
        return f"storage: claim.subPath: {NO_SUB_PATH}"
    return None


def _is_directory(path: str) -> bool:
    return path.startswith("/") and not _leads_up(path)


def _leads_up(path: str) -> bool:
    """Match UPWARDS without backtracking, for text of any length."""
    return ".." in path.split("/")
