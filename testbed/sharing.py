"""How test processes share one cluster: who still uses it, and who needs it for himself.

All of it is file locks, which the kernel gives back when their holder is killed, so no crash can
leave a cluster claimed for ever.
"""

import contextlib
import fcntl
from collections.abc import Iterator

from testbed.cluster import TURN, Cluster
from testbed.record import Record


@contextlib.contextmanager
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
            _leave(cluster, users.fileno())


@contextlib.contextmanager
def turn(cluster: Cluster, *, alone: bool) -> Iterator[None]:
    """A test's turn: together with others, or alone while it breaks things.

    Whoever wants to be alone holds the gate while waiting, else a stream of others would starve him.
    """
    mode = fcntl.LOCK_EX if alone else fcntl.LOCK_SH
    with cluster.instance.lock("gate").open("w") as gate, cluster.instance.lock(TURN).open("w") as turns:
        fcntl.flock(gate, fcntl.LOCK_EX)
        fcntl.flock(turns, mode)
        fcntl.flock(gate, fcntl.LOCK_UN)
        yield


def _leave(cluster: Cluster, users: int) -> None:
    def needed() -> bool:
        try:
            fcntl.flock(users, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            return True  # somebody else still uses it
        record = Record.read(cluster.instance.state)
        return record is None or record.keep

    cluster.down(unless=needed)
