"""Recorded spot markets: how many nodes could be had, over time."""

import json
import lzma
import random
from bisect import bisect_right
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path

FILE = Path(__file__).parent / "spot-traces.json.xz"
FAMILIES = {
    "availability/1-node/aws-02-15-2023": "A",
    "availability/1-node/aws-10-26-2022": "B",
    "preemption/1-node/aws-04-22-2023": "C",
    "preemption/1-node/aws-04-19-2023": "D",
    "preemption/1-node/gcp-04-30-2023": "E",
    "preemption/4-node/aws-08-03-2023": "F",
    "availability/16-node/aws-08-27-2023": "G",
}

NEVER = 1 << 60
Change = tuple[int, int]  # (from this second on, so many nodes)


@dataclass(frozen=True)
class Trace:
    """One market. It begins anew after its end."""

    name: str
    nodes: int
    length: int
    changes: tuple[Change, ...]  # the first is at 0

    @property
    def family(self) -> str:
        """The letter of its group."""
        return FAMILIES[self.name.rpartition("/")[0]]

    def starts(self, count: int, window: int, seed: str = "") -> list[int]:
        """Random starts of windows, which fit into the trace if it is long enough."""
        drawn = random.Random(f"{self.name} {seed}")  # noqa: S311 - no secret
        last = self.length - window if window < self.length else self.length
        return [drawn.randrange(last + 1) for _ in range(count)]

    def first(self, seconds: int) -> "Trace":
        """The beginning of the trace."""
        return Trace(self.name, self.nodes, seconds, tuple(change for change in self.changes if change[0] < seconds))

    def announced(self, notice: int) -> "Trace":
        """The capacity that is not about to go: at each moment the least within the notice."""
        return _announced(self, notice)

    def from_second(self, start: int) -> Iterator[Change]:
        """Changes after a start, counted from it; the first is at 0. Never ends."""
        start %= self.length
        index = bisect_right(self.changes, (start, self.nodes + 1)) - 1
        yield 0, self.changes[index][1]
        turn, last = 0, self.changes[index][1]
        if all(value == last for _, value in self.changes):
            yield NEVER, last
        while True:
            for at, value in self.changes[index + 1 :]:
                if value != last:
                    yield turn + at - start, value
                    last = value
            index = -1
            turn += self.length


@cache
def _announced(trace: Trace, notice: int) -> Trace:
    if notice == 0:
        return trace
    ring = list(trace.changes)
    times = sorted({at for at, _ in ring} | {(at - notice) % trace.length for at, _ in ring} | {0})
    values = [(at, _least(trace, at, at + notice)) for at in times]
    kept = [change for index, change in enumerate(values) if index == 0 or change[1] != values[index - 1][1]]
    return Trace(trace.name, trace.nodes, trace.length, tuple(kept))


def _least(trace: Trace, begin: int, end: int) -> int:
    least = trace.nodes
    for at, value in trace.from_second(begin):
        if at > end - begin:
            break
        least = min(least, value)
    return least


def load(path: Path = FILE) -> list[Trace]:
    """All traces of a file."""
    text = lzma.decompress(path.read_bytes()) if path.suffix == ".xz" else path.read_bytes()
    return [
        _trace(entry["name"], entry["nodes"], entry["gap_seconds"], entry["runs"])
        for entry in json.loads(text)["traces"]
    ]


def _trace(name: str, nodes: int, gap: int, runs: Sequence[tuple[int, int]]) -> Trace:
    changes, at = [], 0
    for value, samples in runs:
        changes.append((at, min(value, nodes)))
        at += samples * gap
    return Trace(name, nodes, at, tuple(changes))
