"""Where a model lies: the same in a job that writes it, in the build that packs it, and later in what serves it.

What may be written is said here once, as expressions that the API server's rules and our own reader share: an object
may be older than its rules.
"""

from collections.abc import Mapping
from typing import Annotated, ClassVar

import msgspec
from msgspec import Meta

from kubedl.schema.structural import Rule
from kubedl.wire.meta import Record
from kubedl.wire.pattern import Pattern

DEFAULT_PATH = "/kubedl-model"
LONGEST_PATH = 4096
MOUNTABLE = r"^(/[^:]*)?$"  # as the API server wants it of every mount; empty is the default
UPWARDS = r"(^|/)\.\.(/|$)"
NO_MOUNT = "where containers find the model: an absolute path without ':'"
NO_DIRECTORY = "an absolute path without '..'"
NO_SUB_PATH = "a path inside the claim: relative, without '..'"
HOST_NAME = r"^([A-Za-z0-9]([A-Za-z0-9._-]{0,61}[A-Za-z0-9])?)?$"  # as the API server wants it of every label's value
NO_NODE = "the node that has the directory"
NO_HOST_NAME = "a node by its label kubernetes.io/hostname: at most 63 letters, digits, '-', '_' and '.'"
EXACTLY_ONE = "exactly one of localStorage, nfs, AWSEfs and claim"

MountPath = Annotated[
    str, Meta(max_length=4096, description=f"Where a job's containers find the model; {DEFAULT_PATH} by default.")
]


def _mount_rule() -> Rule:
    return Rule(f"!has(self.mountPath) || self.mountPath.matches(r'{MOUNTABLE}')", NO_MOUNT, ".mountPath")


def _directory_rule() -> Rule:
    return Rule(f"self.path.startsWith('/') && !self.path.matches(r'{UPWARDS}')", NO_DIRECTORY, ".path")


class LocalStorage(Record, frozen=True):
    """A directory of a node, or a file: mounted as hostPath, which the namespace's Pod Security level must allow."""

    path: Annotated[str, Meta(min_length=1, max_length=4096, description="The directory, or the file, on the node.")]
    mount_path: MountPath = ""
    node_name: Annotated[
        str,
        Meta(
            max_length=253,
            description="The node that has it, by its label kubernetes.io/hostname. The replica that writes the "
            "model runs there, and so does the build.",
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

    server: Annotated[str, Meta(min_length=1, max_length=253, description="Its name or address.")]
    path: Annotated[str, Meta(min_length=1, max_length=4096, description="The directory on the server.")] = "/"
    mount_path: MountPath = ""

    __rules__: ClassVar[tuple[Rule, ...]] = (_directory_rule(), _mount_rule())


class EfsStorage(Record, frozen=True):
    """A file system of AWS, by the CSI driver efs.csi.aws.com, which must be installed in the cluster."""

    volume_handle: Annotated[
        str,
        Meta(
            min_length=1, max_length=253, description="{file system}[:{path}[:{access point}]], as its driver has it."
        ),
    ]
    attributes: Annotated[
        Mapping[str, Annotated[str, Meta(max_length=1024)]],
        Meta(max_length=32, description="Further settings for the driver."),
    ] = {}
    mount_path: MountPath = ""

    __rules__: ClassVar[tuple[Rule, ...]] = (_mount_rule(),)


class ClaimStorage(Record, frozen=True):
    """A PersistentVolumeClaim of the namespace, which somebody else made."""

    claim_name: Annotated[str, Meta(min_length=1, max_length=253, description="Its name.")]
    sub_path: Annotated[
        str, Meta(max_length=4096, description="The directory, or the file, inside the claim; all of it by default.")
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
    """Where the model lies; exactly one of them."""

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
    """The one that is there; None if there is none, or more than one."""
    found: list[Place] = [
        one for one in (storage.local_storage, storage.nfs, storage.efs, storage.claim) if one is not None
    ]
    return found[0] if len(found) == 1 else None


def mount_path(storage: Storage) -> str:
    """Where a job's containers find the model."""
    found = place(storage)
    return (found.mount_path if found is not None else "") or DEFAULT_PATH


def complaint(storage: Storage) -> str | None:
    """What is wrong with a storage that no rule has seen: the field, and what it must be."""
    found = place(storage)
    if found is None:
        return f"storage: {EXACTLY_ONE}"
    if not Pattern(MOUNTABLE, LONGEST_PATH).fullmatch(found.mount_path):
        return f"storage: mountPath: {NO_MOUNT}"
    if isinstance(found, LocalStorage | NfsStorage) and not _is_directory(found.path):
        return f"storage: path: {NO_DIRECTORY}"
    if isinstance(found, LocalStorage) and not (found.node_name and Pattern(HOST_NAME, 63).fullmatch(found.node_name)):
        return f"storage: localStorage.nodeName: {NO_HOST_NAME if found.node_name else NO_NODE}"
    if isinstance(found, ClaimStorage) and (found.sub_path.startswith("/") or _leads_up(found.sub_path)):
        return f"storage: claim.subPath: {NO_SUB_PATH}"
    return None


def _is_directory(path: str) -> bool:
    return path.startswith("/") and not _leads_up(path)


def _leads_up(path: str) -> bool:
    """What UPWARDS says, for text of any length."""
    return ".." in path.split("/")
