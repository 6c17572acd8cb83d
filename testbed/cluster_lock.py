"""How test processes share one cluster: who still uses it, and who needs it for himself.

All of it is file locks, which the kernel gives back when their holder is killed, so no crash can
leave a cluster claimed for ever.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import IO

from testbed import locks
from testbed.cluster import TURN, Cluster
from testbed.state_file import Record


@contextmanager
def borrowed(cluster: Cluster, *, nodes: int = 0, kwok: int = 0) -> Iterator[Cluster]:
    """A running cluster for as long as the block lasts.

    If tests started it, the last of them to leave ends it; one that `make cluster` started stays.
    """
    with cluster.users_file.open("w") as users:
        # What a failed start leaves stays for a look at its logs; the next start cleans it away.
        cluster.up(nodes=nodes, kwok=kwok, keep=False, claim=users)
        try:
            yield cluster
        finally:
            _leave(cluster, users)


@contextmanager
def turn(cluster: Cluster, *, alone: bool) -> Iterator[None]:
    """A test's turn: together with others, or alone while it breaks things.

    Whoever wants to be alone holds the gate while waiting, else a stream of others would starve him.
    """
    mode = locks.EXCLUSIVE if alone else locks.SHARED
    with locks.held(cluster.instance.lock("gate")) as gate, locks.held(cluster.instance.lock(TURN), mode):
        locks.release(gate)
        yield


def _leave(cluster: Cluster, users: IO[str]) -> None:
    def needed() -> bool:
        if not locks.take_if_free(users, locks.EXCLUSIVE):
            return True  # somebody else still uses it
        record = Record.read(cluster.instance.state)
        return record is None or record.keep

    cluster.down(unless=needed)
