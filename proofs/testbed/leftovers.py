"""Everything that a test bed could leave on a machine, listed without asking the test bed's own code.

Processes are those in other network or mount namespaces than ours, or whose program is one that the
test bed built or drives; somebody else's processes come and go and are nobody's leftovers.
"""

import contextlib
import os
import subprocess
from collections.abc import Iterator
from pathlib import Path

from testbed.paths import home

DRIVEN = {"runc", "docker-registry", "nsenter"}


def traces() -> set[str]:
    """One line for each thing."""
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
        *(f"process {line}" for line in _processes()),
    }


def _processes() -> Iterator[str]:
    here = {name: os.readlink(f"/proc/self/ns/{name}") for name in ("net", "mnt")}  # noqa: PTH115  a link to no file
    for entry in Path("/proc").iterdir():
        if not entry.name.isdigit():
            continue
        with contextlib.suppress(OSError):
            elsewhere = any(os.readlink(entry / "ns" / name) != link for name, link in here.items())  # noqa: PTH115
            program = (entry / "exe").readlink()
            if elsewhere or program.is_relative_to(home()) or program.name in DRIVEN:
                yield f"{entry.name} {program}"


def _lines(*command: str) -> list[str]:
    return subprocess.run(command, capture_output=True, text=True, check=True).stdout.splitlines()
