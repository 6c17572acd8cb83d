"""A node that exists on paper: the test plays its kubelet, so a pod starts, fails and goes exactly when told.

It is kept alive by its Lease, as real nodes are; a deletion of its pods is graceful, and ends when the test says so.
"""

import asyncio
import contextlib
import datetime
import itertools
import os
from collections.abc import Iterator
from pathlib import Path

from harness.drivers.api_connection import MERGE_PATCH, Connection, unless_gone
from testbed.api import ApiError, ApiUnavailableError, Object

LABEL = "harness.kubedl.io/process"
RENEWAL = 2.0  # seconds; the test bed counts a node as lost after eight
NODES = "/api/v1/nodes"
LEASES = "/apis/coordination.k8s.io/v1/namespaces/kube-node-lease/leases"

_numbers = itertools.count()


@contextlib.contextmanager
def played_node(connection: Connection) -> Iterator[str]:
    """The name of a new node of this process; it is removed afterwards, and so are those that a killed process left."""
    _remove_abandoned(connection)
    name = f"played-{os.getpid()}-{next(_numbers)}"
    unschedulable = {"key": LABEL, "effect": "NoSchedule"}  # only for pods that name it
    metadata = {"name": name, "labels": {LABEL: str(os.getpid())}}
    connection.create(NODES, {"metadata": metadata, "spec": {"taints": [unschedulable]}})
    try:
        connection.create(LEASES, {"metadata": {"name": name}, "spec": lease(name)})
        connection.run(_report(connection, name))
        connection.background(lambda: _renew(connection, name))
        yield name
    finally:
        connection.delete(f"{NODES}/{name}")  # its Lease goes with the renewal's end


async def _renew(connection: Connection, name: str) -> None:
    """One that was counted as lost, on a busy machine, says that it is back, as real ones do."""
    try:
        while True:
            with contextlib.suppress(ApiUnavailableError, OSError):  # tests restart the API server
                await connection.call("PATCH", f"{LEASES}/{name}", {"spec": lease(name)}, MERGE_PATCH)
                seen = await connection.call("GET", f"{NODES}/{name}")
                if any(one["type"] == "Ready" and one["status"] != "True" for one in seen["status"]["conditions"]):
                    await _report(connection, name)
            await asyncio.sleep(RENEWAL)
    finally:
        with contextlib.suppress(ApiError, OSError):
            await connection.call("DELETE", f"{LEASES}/{name}")


async def _report(connection: Connection, name: str) -> None:
    await connection.call("PATCH", f"{NODES}/{name}/status", {"status": {"conditions": [_ready()]}}, MERGE_PATCH)


def _remove_abandoned(connection: Connection) -> None:
    for node in connection.get(f"{NODES}?labelSelector={LABEL}")["items"]:
        if not Path("/proc", node["metadata"]["labels"][LABEL]).exists():
            with unless_gone():  # another process may find it too
                connection.delete(f"{NODES}/{node['metadata']['name']}")


def lease(holder: str) -> Object:
    """A sign of life of a node, now."""
    moment = datetime.datetime.now(datetime.UTC).isoformat(timespec="microseconds").replace("+00:00", "Z")
    return {"holderIdentity": holder, "leaseDurationSeconds": 40, "renewTime": moment}


def _ready() -> Object:
    moment = datetime.datetime.now(datetime.UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
    return {
        "type": "Ready",
        "status": "True",
        "reason": "Played",
        "message": "",
        "lastHeartbeatTime": moment,
        "lastTransitionTime": moment,
    }
