"""A namespace of its own for every test, and the removal of those whose test process was killed."""

import contextlib
import itertools
import os
from collections.abc import Iterator
from pathlib import Path

from testbed.api import Api
from testbed.waiting import until

LABEL = "testbed.kubedl.io/process"
GIVEN = ("serviceaccounts/default", "configmaps/kube-root-ca.crt")  # to each, by the controller-manager
_numbers = itertools.count(1)


@contextlib.contextmanager
def fresh(api: Api, prefix: str = "test", labels: dict[str, str] | None = None) -> Iterator[str]:
    """A new namespace in which pods are admitted; it is deleted afterwards, which is not waited for."""
    name = f"{prefix}-{os.getpid()}-{next(_numbers)}"
    metadata = {"name": name, "labels": {LABEL: _signature(os.getpid()), **(labels or {})}}
    api.create("/api/v1/namespaces", {"metadata": metadata})
    try:
        # Pods are refused until the namespace's ServiceAccount exists. When the API server was restarted a few times,
        # the controller-manager may take a minute to look again.
        given = [f"/api/v1/namespaces/{name}/{one}" for one in GIVEN]
        until(f"namespace {name} to be usable", lambda: all(map(api.exists, given)), deadline=90)
        yield name
    finally:
        api.delete(f"/api/v1/namespaces/{name}")


def remove_abandoned(api: Api) -> list[str]:
    """Delete the namespaces of test processes that no longer live."""
    removed = []
    for namespace in api.list(f"/api/v1/namespaces?labelSelector={LABEL}"):
        name, signature = namespace["metadata"]["name"], namespace["metadata"]["labels"][LABEL]
        if signature != _signature(int(signature.split(".")[0])):
            api.delete(f"/api/v1/namespaces/{name}")
            removed.append(name)
    return removed


def _signature(pid: int) -> str:
    """A process as pid and start time: unlike a pid alone it is never used twice."""
    try:
        started = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[19]
    except OSError:
        return f"{pid}.gone"
    return f"{pid}.{started}"
