"""Which ports of the nodes the pods of a job get.

What is in use is read from the pods in the cache, so a restart of the operator forgets nothing. A port is chosen before
the pod has a node; therefore one that no other pod uses anywhere is preferred. The guarantee is not made here: every
port is declared as the pod's hostPort, and the scheduler never places two pods with the same one on a node, whoever
created them.
"""

import time
from bisect import bisect_right
from collections import defaultdict
from collections.abc import Callable, Iterable, Sequence
from contextlib import suppress
from hashlib import sha256
from typing import NamedTuple

from kubedl.api.training import GROUP
from kubedl.kube.types.core import Pod
from kubedl.training.policies.clean_pod_policy import ENDED

HOST_PORT = f"{GROUP}/host-port"  # annotation of a pod
JOB_PORTS = f"{GROUP}/job-host-ports"  # annotation of a pod whose peers know the port of every replica
LARGEST_PORT = 65_535
MOST_STEPS = 500  # until a port that is in use is accepted
UNSEEN_SECONDS = 60.0  # how long a port is kept for a pod that the cache does not show


class PortRange(NamedTuple):
    """Ports from `first` to `last`, inclusive."""

    first: int
    last: int

    @classmethod
    def parse(cls, text: str) -> "PortRange":
        """Read `first-last`; raises ValueError."""
        first, separator, last = text.strip().partition("-")
        if separator and len(text) <= 2 * len(str(LARGEST_PORT)) + 1 and first.isdecimal() and last.isdecimal():
            ports = cls(int(first), int(last))
            if 0 < ports.first <= ports.last <= LARGEST_PORT:
                return ports
        raise ValueError(f"{text[:32]!r} is no range of ports such as 20000-29999")

    def __str__(self) -> str:
        return f"{self.first}-{self.last}"

    @property
    def size(self) -> int:
        """The number of ports."""
        return self.last - self.first + 1


# Below the ports of NodePort Services (30000-32767) and those that Linux gives to outgoing connections (32768-60999).
DEFAULT_RANGE = PortRange(20_000, 29_999)


def host_port(pod: Pod) -> int | None:
    """Return the host port of a pod that KubeDL created."""
    text = pod.metadata.annotations.get(HOST_PORT)
    if text is None or not text.isdecimal() or len(text) > len(str(LARGEST_PORT)):
        return None
    return int(text)


def ports_in_use(pod: Pod) -> PortRange | None:
    """Return the ports that no other job should get while this pod lives: its own, or those of all replicas."""
    port = host_port(pod)
    if port is None or pod.status.phase in ENDED:
        return None
    text = pod.metadata.annotations.get(JOB_PORTS)
    if text is not None:
        with suppress(ValueError):
            return PortRange.parse(text)
    return PortRange(port, port)


def choose(key: str, size: int, ports: PortRange, is_taken: Callable[[int], bool]) -> int:
    """Return the first of `size` consecutive ports, at most as many as the range has.

    The search begins where the key says, so that jobs rarely look at the same ports. If no place is free, it is the
    one at which the search began.
    """
    places, steps = ports.size - size + 1, 0
    start = int.from_bytes(sha256(key.encode()).digest()[:8]) % places
    for begin, end in ((start, places), (0, start)):
        place = begin
        while place < end and steps < MOST_STEPS:
            first = ports.first + place
            taken = next((offset for offset in reversed(range(size)) if is_taken(first + offset)), None)
            if taken is None:
                return first
            place, steps = place + taken + 1, steps + 1
    return ports.first + start


def merged(blocks: Iterable[PortRange]) -> list[PortRange]:
    """Return the same ports as ranges in order, of which no two overlap."""
    found: list[PortRange] = []
    for block in sorted(blocks):
        if found and block.first <= found[-1].last:
            found[-1] = PortRange(found[-1].first, max(found[-1].last, block.last))
        else:
            found.append(block)
    return found


def is_within(port: int, ranges: Sequence[PortRange]) -> bool:
    """Return whether a port is in one of these ranges, which are in order and do not overlap."""
    place = bisect_right(ranges, PortRange(port, LARGEST_PORT)) - 1
    return place >= 0 and port <= ranges[place].last


class HostPorts:
    """Chooses ports that no observed pod uses.

    Ports that were given to pods which the cache does not show yet are remembered for a moment, since other jobs may
    be planned before it does. Nothing depends on that memory but how often the scheduler has to keep two pods apart.
    """

    def __init__(self, ports: PortRange = DEFAULT_RANGE, clock: Callable[[], float] = time.monotonic) -> None:
        """`pod_changed` must be told of all pods."""
        self.range = ports
        self._clock = clock
        self._of_pods: dict[str, PortRange] = {}  # by the uid of the pod
        self._in_use: defaultdict[tuple[int, int], set[str]] = defaultdict(set)  # the reverse
        self._blocks: set[PortRange] = set()  # those in use that have several ports
        self._merged: list[PortRange] | None = None  # the same, so that thousands of them cost no port much
        self._unseen: dict[int, tuple[str, float]] = {}  # port → for whom, and until when
        self._first: dict[str, int] = {}  # for whom → the first of these ports

    def take(self, holder: str, key: str, size: int = 1) -> int:
        """Return the first of `size` consecutive ports and keep them for the holder, who gets them again on a retry."""
        now = self._clock()
        kept = self._first.get(holder)
        if kept is not None and all(self._keeper(port, now) == holder for port in range(kept, kept + size)):
            return kept

        blocks = self._merged = merged(self._blocks) if self._merged is None else self._merged

        def is_taken(port: int) -> bool:
            return (
                (port, port) in self._in_use  # equal to a range of one port
                or self._keeper(port, now) not in (None, holder)
                or is_within(port, blocks)
            )

        first = choose(key, size, self.range, is_taken)
        for port in range(first, first + size):
            self._forget(port)
            self._unseen[port] = holder, now + UNSEEN_SECONDS
        self._first[holder] = first
        return first

    def pod_changed(self, old: Pod | None, new: Pod | None) -> None:
        """Observe a pod; called with every change of the cache."""
        if new is None:
            if old is not None:
                self._release(old.metadata.uid)
        elif HOST_PORT in new.metadata.annotations:  # a pod that somebody took it from keeps its port until it is gone
            uid, ports = new.metadata.uid, ports_in_use(new)
            if ports != self._of_pods.get(uid):
                self._release(uid)
                if ports is not None:
                    self._observe(uid, ports)

    def _keeper(self, port: int, now: float) -> str | None:
        """Return for whom a port is kept that the cache does not show yet."""
        holder, until = self._unseen.get(port, (None, now))
        return holder if now < until else None

    def _forget(self, port: int) -> None:
        holder, _ = self._unseen.pop(port, ("", 0))
        self._first.pop(holder, None)

    def _observe(self, uid: str, ports: PortRange) -> None:
        if ports not in self._in_use:  # the first of a job's pods
            few = ports.size <= len(self._unseen)  # the annotation is the user's, and may name all ports
            for port in range(ports.first, ports.last + 1) if few else tuple(self._unseen):
                if ports.first <= port <= ports.last:
                    self._forget(port)
            if ports.size > 1:
                self._blocks.add(ports)
                self._merged = None
        self._of_pods[uid] = ports
        self._in_use[ports].add(uid)

    def _release(self, uid: str) -> None:
        ports = self._of_pods.pop(uid, None)
        if ports is not None:
            self._in_use[ports].discard(uid)
            if not self._in_use[ports]:
                del self._in_use[ports]
                if ports in self._blocks:
                    self._blocks.remove(ports)
                    self._merged = None
