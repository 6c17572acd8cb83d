"""Versions of a model that says how its server behaves, packed by the operator from a claim."""

import json
import os
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from tests.e2e.models.observed_version import ObservedVersion
from tests.e2e.training import checkpoints
from tests.e2e.workspace import Workspace

CLAIM = {"claim": {"claimName": checkpoints.CLAIM}}


@dataclass(frozen=True)
class Versions:
    """A directory that becomes one version after the other."""

    workspace: Workspace
    directory: Path

    def behaving(self, name: str, *, error_percent: int = 0, seconds: float = 0.0) -> str:
        """A version whose server is called as the version is; returns its image."""
        known = {"by": name, "error_percent": error_percent, "seconds": seconds}
        (self.directory / "behaviour.json").write_text(json.dumps(known))
        version = ObservedVersion(self.workspace, name)
        version.create(CLAIM, tag=name)
        return version.built()


@contextmanager
def versions(workspace: Workspace, directory: Path) -> Iterator[Versions]:
    """In a directory of the machine, which all nodes see."""
    directory.chmod(0o755)
    (directory / "weights.bin").write_bytes(os.urandom(1 << 20))
    with checkpoints.shared(workspace, directory):
        yield Versions(workspace, directory)
