"""Kinds of other projects, as their own Go modules define them; whoever acts on them is played by a test.

A module comes from the Go module proxy, checked by its sum, and is never part of this repository.
"""

import json
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from testbed.cluster import Cluster
from testbed.errors import TestbedError
from testbed.shell import run


@dataclass(frozen=True)
class ForeignKinds:
    """Some kinds of one API group, and the module that ships their definitions."""

    module: str
    checksum: str
    group: str
    kinds: tuple[str, ...]

    def definitions(self) -> list[Path]:
        """The files that define them."""
        bases = _downloaded(self.module, self.checksum) / "config" / "crd" / "bases"
        return [bases / f"{self.group}_{kind}.yaml" for kind in self.kinds]

    def install(self, cluster: Cluster) -> None:
        """Let the API server know them; nobody acts on them."""
        for file in self.definitions():
            cluster.kubectl("apply", "--server-side", "--force-conflicts", "-f", str(file))
        names = [f"crd/{kind}.{self.group}" for kind in self.kinds]
        cluster.kubectl("wait", "--for=condition=Established", "--timeout=60s", *names)


@cache
def _downloaded(module: str, checksum: str) -> Path:
    answer = json.loads(run("go", "mod", "download", "-json", module, timeout=600))
    if answer["Sum"] != checksum:
        raise TestbedError(f"{module} is not what it was")
    return Path(answer["Dir"])
