"""A directory that all pods of a job share, as a volume that PodSecurity *restricted* admits.

Pods of such a namespace may not mount a path of their node, but they may claim a volume, and what is behind
it is the administrator's choice: here a directory of the machine on which all nodes run.
"""

import os
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from testbed.api import Object
from tests.e2e.training.workloads.pace import PROGRESS, RELEASE
from tests.e2e.workspace import Workspace

CLAIM = "checkpoints"
USER = 1000  # as whom the pods run
ACCESS = {"accessModes": ["ReadWriteMany"], "storageClassName": ""}
SIZE = {"storage": "1Gi"}


@dataclass(frozen=True)
class Checkpoints:
    """The directory as the test sees it, from outside the pods."""

    directory: Path

    def step(self) -> int:
        """How far the last whole checkpoint reaches; 0 if there is none."""
        try:
            return int((self.directory / PROGRESS).read_text())
        except FileNotFoundError:
            return 0

    def release(self) -> None:
        """Let a held training end."""
        (self.directory / RELEASE).touch()


@contextmanager
def shared(workspace: Workspace, directory: Path) -> Iterator[Checkpoints]:
    """The claim `checkpoints` in the workspace's namespace leads to `directory` from every node."""
    os.chown(directory, USER, USER)
    volumes, name = "/api/v1/persistentvolumes", workspace.namespace
    workspace.cluster.api.create(volumes, {"metadata": {"name": name}, "spec": _volume(directory, name)})
    try:
        workspace.create("persistentvolumeclaims", {"metadata": {"name": CLAIM}, "spec": _claim(volume=name)})
        yield Checkpoints(directory)
    finally:
        workspace.cluster.api.delete(f"{volumes}/{name}")


def _volume(directory: Path, namespace: str) -> Object:
    return {
        **ACCESS,
        "capacity": SIZE,
        "hostPath": {"path": str(directory), "type": "Directory"},
        "claimRef": {"namespace": namespace, "name": CLAIM},
    }


def _claim(volume: str) -> Object:
    return {**ACCESS, "volumeName": volume, "resources": {"requests": SIZE}}
