"""How long `make cluster` takes when everything is built, and whether two test beds live side by side."""

import json
import os
import subprocess
import sys
import time
from collections.abc import Callable

from testbed.api import is_true
from testbed.cluster import Cluster
from testbed.waiting import until

FIRST, SECOND = 5, 6  # instances of their own: a developer's cluster is left alone


def main() -> int:
    """Start, start again, grow, and start another beside it."""
    _make("prepare", FIRST)
    for instance in (FIRST, SECOND):
        _make("cluster-down", instance)
    try:
        figures = {
            "control plane seconds": _seconds(lambda: _make("cluster", FIRST)),
            "reuse seconds": _seconds(lambda: _make("cluster", FIRST)),
            "two nodes seconds": _seconds(lambda: _make("cluster", SECOND, "NODES=2")),
        }
        _make("cluster", FIRST, "NODES=2")
        # The growth of one may have kept a kubelet of the other from its sign of life.
        figures["nodes ready side by side"] = until("four ready nodes", _ready, deadline=60)
    finally:
        for instance in (FIRST, SECOND):
            _make("cluster-down", instance)
    print(json.dumps(figures))
    return 0


def _ready() -> int:
    """How many nodes both have, as soon as all are ready."""
    nodes = [node for instance in (FIRST, SECOND) for node in Cluster(instance).api.list("/api/v1/nodes")]
    return len(nodes) if all(is_true(node, "Ready") for node in nodes) else 0


def _make(target: str, instance: int, *variables: str) -> None:
    command = ["make", target, f"INSTANCE={instance}", *variables]
    subprocess.run(command, stdout=sys.stderr, env=os.environ, check=True)


def _seconds(step: Callable[[], None]) -> float:
    began = time.monotonic()
    step()
    return round(time.monotonic() - began, 1)


if __name__ == "__main__":
    sys.exit(main())
