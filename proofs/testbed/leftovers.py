"""Everything that a test bed could leave on a machine, listed without asking the test bed's own code.

Processes are those in other network or mount namespaces than ours, or whose program is one that the
test bed built or drives; somebody else's processes come and go and are nobody's leftovers. What names another instance
(by prefix, networks, directory, or INSTANCE in a process' environment) belongs to a test bed beside this one.
"""

import contextlib
import os
import subprocess
from collections.abc import Iterator
from pathlib import Path

from testbed.instance import INSTANCES, Instance
from testbed.paths import home

DRIVEN = {"runc", "docker-registry", "nsenter"}


def traces(instance: int) -> set[str]:
    """One line for each thing that is not another instance's."""
    others = [Instance(index) for index in range(INSTANCES) if index != instance]
    return {line for line in _everything(others) if not any(_names(line, other) for other in others)}


def _names(line: str, instance: Instance) -> bool:
    """Whether a namespace, link, route, mount, cgroup or directory is that instance's by its name."""
    words = line.replace("/", " ").split()
    return any(word.startswith(instance.prefix) for word in words) or any(
        name in line for name in (*instance.networks, str(instance.state))
    )


def _everything(others: list[Instance]) -> set[str]:
    return {
        *(f"network namespace {line}" for line in _lines("ip", "netns", "list")),
        *(f"link {line.split(':')[1].strip()}" for line in _lines("ip", "-oneline", "link")),
        *(
            f"route {line}"
            for line in _lines("ip", "route", "show", "table", "all")
            if " dev " not in line or "kdl" in line
        ),
        *(f"mount {line.split()[4]}" for line in Path("/proc/self/mountinfo").read_text().splitlines()),
        *(f"cgroup {path}" for path in Path("/sys/fs/cgroup").glob("*/*") if path.is_dir()),
        *(f"state {path}" for path in (home() / "instances").glob("*")),
        *(f"process {line}" for line in _processes(others)),
    }


def _processes(others: list[Instance]) -> Iterator[str]:
    here = {name: os.readlink(f"/proc/self/ns/{name}") for name in ("net", "mnt")}  # noqa: PTH115  a link to no file
    for entry in Path("/proc").iterdir():
        if not entry.name.isdigit():
            continue
        with contextlib.suppress(OSError):
            elsewhere = any(os.readlink(entry / "ns" / name) != link for name, link in here.items())  # noqa: PTH115
            program = (entry / "exe").readlink()
            ours = elsewhere or program.is_relative_to(home()) or program.name in DRIVEN
            if ours and not any(_runs_in(entry, other) for other in others):
                yield f"{entry.name} {program}"


def _runs_in(process: Path, instance: Instance) -> bool:
    """Whether it is a container of that instance's nodes, or was started by commands for it."""
    if f"/{instance.prefix}-" in (process / "cgroup").read_text():
        return True
    return f"INSTANCE={instance.index}".encode() in (process / "environ").read_bytes().split(b"\0")


def _lines(*command: str) -> list[str]:
    return subprocess.run(command, capture_output=True, text=True, check=True).stdout.splitlines()
