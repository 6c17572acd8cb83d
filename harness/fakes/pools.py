"""Pools of nodes on paper: real schedulers send pods there, and the test plays the kubelets.

All runs in a cluster share the operator's list of pools, so each node has a label of its own run as well, which the
templates of that run select.
"""

import contextlib
import json
from collections.abc import Iterator

from harness.drivers.api_connection import Connection
from harness.fakes.node import LABEL, NODES, played_node
from testbed.api import Object

POOL, RUN = "harness.kubedl.io/pool", "harness.kubedl.io/run"
SPOT, ON_DEMAND = "played-spot", "played-on-demand"
ROOM = {"pods": "20", "cpu": "8", "memory": "8Gi"}


def pools_flag() -> str:
    """The flag of an operator that knows both pools."""
    tolerated = [{"key": LABEL, "operator": "Exists"}]
    pools = [
        {"name": name, "spot": name == SPOT, "nodeSelector": {POOL: name}, "tolerations": tolerated}
        for name in (SPOT, ON_DEMAND)
    ]
    return f"--pools={json.dumps(pools)}"


@contextlib.contextmanager
def pool_node(server: Connection, pool: str, run: str) -> Iterator[str]:
    """A node of a pool, for the pods of one run; its name."""
    with played_node(server) as name:
        server.patch(f"{NODES}/{name}/status", {"status": {"capacity": ROOM, "allocatable": ROOM}})
        server.patch(f"{NODES}/{name}", {"metadata": {"labels": {POOL: pool, RUN: run}}})
        yield name


def pool_template(container: str, run: str) -> Object:
    """The template of pods that go to nodes of this run only, wherever their pool sends them."""
    made = {"name": container, "image": "none", "command": ["true"]}
    return {"spec": {"nodeSelector": {RUN: run}, "containers": [made]}}
