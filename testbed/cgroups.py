"""The cgroups below which a node's kubelet keeps its pods.

The kubelet wants its root to exist in every hierarchy; whatever runs below it belongs to the node,
which is how containers are found when everything that started them is gone.
"""

import contextlib
import os
import signal
from functools import partial
from pathlib import Path

from testbed.waiting import until

ROOT = Path("/sys/fs/cgroup")
CONTROLLERS = "+cpu +cpuset +memory +pids"


def hierarchies(root: Path = ROOT) -> list[Path]:
    """Where cgroups are mounted: one place on version 2, one per controller on version 1."""
    if (root / "cgroup.controllers").exists():
        return [root]
    return sorted(path for path in root.iterdir() if path.is_dir() and not path.is_symlink())


def create(name: str, root: Path = ROOT) -> None:
    """Make the cgroup in every hierarchy."""
    for hierarchy in hierarchies(root):
        group = hierarchy / name
        if (hierarchy / "cgroup.subtree_control").exists() and hierarchy == root:
            (hierarchy / "cgroup.subtree_control").write_text(CONTROLLERS)
        group.mkdir(exist_ok=True)
        for file in ("cpuset.cpus", "cpuset.mems"):  # version 1 starts them empty, which admits no process
            if hierarchy.name == "cpuset":
                (group / file).write_text((hierarchy / file).read_text())


def members(name: str, root: Path = ROOT) -> set[int]:
    """The pids in the cgroup and below."""
    pids: set[int] = set()
    for hierarchy in hierarchies(root):
        for directory, _, _ in os.walk(hierarchy / name):
            with contextlib.suppress(OSError):  # the group may go while we look
                pids |= {int(word) for word in Path(directory, "cgroup.procs").read_text().split()}
    return pids


def kill(name: str) -> None:
    """End every process in the cgroup and below."""

    def emptied() -> bool:
        pids = members(name)
        for pid in pids:
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
        return not pids

    until(f"the processes of cgroup {name} to end", emptied, deadline=20, interval=0.05)


def remove(name: str, root: Path = ROOT) -> None:
    """Remove the cgroup from every hierarchy, children first."""
    for hierarchy in hierarchies(root):
        for directory, _, _ in os.walk(hierarchy / name, topdown=False):
            # A dead process keeps its cgroup busy for a moment.
            until(f"{directory} to go", partial(_removed, Path(directory)), deadline=10, interval=0.02)


def existing(prefix: str, root: Path = ROOT) -> list[str]:
    """The names of our cgroups that exist in any hierarchy."""
    found = {path.name for hierarchy in hierarchies(root) for path in hierarchy.glob(f"{prefix}-*")}
    return sorted(found)


def _removed(path: Path) -> bool:
    with contextlib.suppress(FileNotFoundError):
        path.rmdir()
    return True
