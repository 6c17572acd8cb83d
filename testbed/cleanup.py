"""Finding and ending what belongs to an instance, whatever state a killed run left it in.

Nothing here trusts a record: processes are known by their mark, the rest by names that begin with
the instance's prefix. The same code ends a healthy test bed and a broken one.
"""

import contextlib
import os
import shutil
import signal
from dataclasses import dataclass, fields
from pathlib import Path

from testbed import cgroups, network, processes
from testbed.errors import TestbedError
from testbed.instance import NODES, Instance, NodePlace
from testbed.paths import home
from testbed.shell import attempt
from testbed.waiting import until


@dataclass(frozen=True)
class Leftovers:
    """What exists of an instance on this machine right now."""

    processes: list[str]
    namespaces: list[str]
    links: list[str]
    routes: list[str]
    cgroups: list[str]
    mounts: list[str]
    state: list[str]

    def __bool__(self) -> bool:
        return any(getattr(self, field.name) for field in fields(self))

    def __str__(self) -> str:
        kinds = ((field.name, getattr(self, field.name)) for field in fields(self))
        return "\n".join(f"{name}: {len(found)} {' '.join(found)}".rstrip() for name, found in kinds)


def scan(instance: Instance) -> Leftovers:
    """Count everything that an instance can leave behind."""
    return Leftovers(
        processes=sorted(f"{process.component}({process.pid})" for process in processes.find(instance.index)),
        namespaces=network.namespaces(instance),
        links=network.links(instance),
        routes=network.routes(instance),
        cgroups=cgroups.existing(instance.prefix),
        mounts=_mounts(instance.state),
        state=[str(instance.state)] if instance.state.exists() else [],
    )


def clean(instance: Instance) -> None:
    """Remove every trace of an instance, unless it belongs to somebody else's home directory."""
    refuse_strangers(instance)
    for number in _node_numbers(instance):
        remove_node(instance, instance.node(number))
    processes.kill(processes.find(instance.index))
    network.destroy(instance)
    for group in cgroups.existing(instance.prefix):
        cgroups.kill(group)
        cgroups.remove(group)
    for mount in reversed(_mounts(instance.state)):
        attempt("umount", "--lazy", mount)
    shutil.rmtree(instance.state, ignore_errors=True)
    left = scan(instance)
    if left:
        raise TestbedError(f"instance {instance.index} could not be removed; this is left:\n{left}")


def refuse_strangers(instance: Instance) -> None:
    """The index is machine-wide, the home is not: never end a cluster that another home started."""
    strangers = {process.home for process in processes.find(instance.index)} - {str(home())}
    if strangers:
        raise TestbedError(
            f"instance {instance.index} runs from {', '.join(sorted(strangers))}; choose another INSTANCE, "
            f"or end it with KUBEDL_TESTBED_HOME={min(strangers)} make cluster-down"
        )


def remove_node(instance: Instance, place: NodePlace) -> None:
    """Remove a node's processes, network and files."""
    end_node(instance, place)
    network.detach(place)
    shutil.rmtree(instance.state / place.name, ignore_errors=True)


def end_node(instance: Instance, place: NodePlace) -> None:
    """End every process of a node at once and give its cgroups back.

    The daemons die first, else the kubelet would restart what is being killed; then the shims, which
    share the holder's mount namespace; then whatever is left in the pods' cgroups.
    """
    mine = processes.find(instance.index, place.name)
    holders = [process for process in mine if process.component.endswith("/holder")]
    processes.kill(process for process in mine if process not in holders)
    for holder in holders:
        _end_mount_namespace(holder.pid)
    processes.kill(processes.find(instance.index, place.name))
    cgroups.kill(place.cgroup)
    cgroups.remove(place.cgroup)


def _end_mount_namespace(holder: int) -> None:
    """End every process that shares the holder's mount namespace, but not the holder itself."""
    try:
        namespace = Path(f"/proc/{holder}/ns/mnt").readlink()
    except FileNotFoundError:
        return
    if namespace == Path("/proc/self/ns/mnt").readlink():
        return  # the holder was caught before it had a namespace of its own

    def emptied() -> bool:
        members = [pid for pid in _members(namespace) if pid != holder]
        for pid in members:
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
        return not members

    until("the processes of a node to end", emptied, deadline=20, interval=0.05)


def _members(namespace: Path) -> list[int]:
    members = []
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit():
            with contextlib.suppress(OSError):  # a process that ends has no namespaces any more
                if (entry / "ns/mnt").readlink() == namespace:
                    members.append(int(entry.name))
    return members


def _node_numbers(instance: Instance) -> list[int]:
    """The nodes of which anything is left."""
    names = {process.component.split("/")[0] for process in processes.find(instance.index)}
    names |= {name.removeprefix(f"{instance.prefix}-") for name in network.namespaces(instance)}
    names |= {name.removeprefix(f"{instance.prefix}-") for name in cgroups.existing(instance.prefix)}
    return [number for number in range(1, NODES + 1) if instance.node(number).name in names]


def _mounts(directory: Path) -> list[str]:
    """Mount points below a directory in this mount namespace, outermost first."""
    lines = Path("/proc/self/mountinfo").read_text().splitlines()
    points = [line.split()[4].replace("\\040", " ") for line in lines]  # how the kernel writes a space there
    return sorted(point for point in points if point.startswith(f"{directory}/"))
