"""Kinds of other projects, as their own Go modules define them; whoever acts on them is played by a test."""

from dataclasses import dataclass
from pathlib import Path

from testbed.cluster import Cluster
from testbed.go_modules import module_directory


@dataclass(frozen=True)
class ForeignKinds:
    """Some kinds of one API group, and the module that ships their definitions."""

    module: str
    checksum: str
    group: str
    kinds: tuple[str, ...]
    directory: str = "config/crd/bases"

    def definitions(self) -> list[Path]:
        """The files that define them."""
        bases = module_directory(self.module, self.checksum) / self.directory
        return [bases / f"{self.group}_{kind}.yaml" for kind in self.kinds]

    def install(self, cluster: Cluster) -> None:
        """Let the API server know them; nobody acts on them."""
        for file in self.definitions():
            cluster.define(file)
