"""What of a cluster is complete, written whole and last, so that half a cluster has no record."""

import dataclasses
import json
from dataclasses import dataclass
from pathlib import Path

FILE = "cluster.json"


@dataclass(frozen=True)
class Record:
    """The shape of a running cluster."""

    fingerprint: str
    nodes: int = 0
    kwok: int = 0
    keep: bool = True
    beside: tuple[str, ...] = ()  # what most tests can do without

    @classmethod
    def read(cls, state: Path) -> "Record | None":
        """The record of the cluster whose state this is, if its start ever completed."""
        try:
            written = json.loads((state / FILE).read_text())
            return cls(**{**written, "beside": tuple(written.get("beside", ()))})
        except (FileNotFoundError, TypeError):  # TypeError: written by other code, whose cluster is not ours to reuse
            return None

    def write(self, state: Path) -> None:
        scratch = state / f"{FILE}.partial"
        scratch.write_text(json.dumps(dataclasses.asdict(self)))
        scratch.rename(state / FILE)

    def components(self) -> set[str]:
        """The names under which a cluster of this shape has processes."""
        names = {"etcd", "kube-apiserver", "kube-controller-manager", "kube-scheduler", *self.beside}
        if self.nodes:
            names |= {"coredns", "registry"}
        if self.kwok:
            names |= {"kwok"}
        for number in range(1, self.nodes + 1):
            names |= {f"node{number}/{part}" for part in ("holder", "containerd", "kubelet", "kube-proxy")}
        return names
