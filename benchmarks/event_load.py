"""A steady stream of pod events: status patches at a fixed rate, by a process of its own.

Each patch sets a condition that means nothing to anybody, so a controller must look at every event and
has nothing to write. Pods are drawn at random from jobs named as the benchmarks name them. Prints one JSON
line: how many patches were answered, and in which time; a busy API server may answer fewer than were wanted.
"""

import argparse
import asyncio
import itertools
import json
import random
import sys
import time
from collections.abc import Iterator

from benchmarks import objects
from benchmarks.api_connection import STRATEGIC_PATCH, connect, in_flight
from testbed.cluster import Cluster
from testbed.instance import chosen_index

CONDITION = "benchmark.kubedl.io/tick"


def main() -> int:
    """Patch, and say how often."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.event_load", description=__doc__)
    parser.add_argument("--namespace", required=True)
    parser.add_argument("--jobs", type=int, required=True)
    parser.add_argument("--pods", type=int, required=True, help="of each job")
    parser.add_argument("--rate", type=float, required=True, help="patches a second")
    parser.add_argument("--seconds", type=float, required=True)
    chosen = parser.parse_args()
    paths = (f"{objects.pods_path(chosen.namespace)}/{name}/status" for name in _names(chosen.jobs, chosen.pods))
    print(json.dumps(asyncio.run(_patch(paths, chosen.rate, chosen.seconds))))
    return 0


def _names(jobs: int, pods: int) -> Iterator[str]:
    """Pods without end."""
    dice = random.Random(7)  # noqa: S311  repeatable, not secret
    while True:
        yield objects.pod_name(objects.name(dice.randrange(jobs)), dice.randrange(pods))


async def _patch(paths: Iterator[str], rate: float, seconds: float) -> dict[str, float]:
    answered = 0
    async with connect(Cluster(chosen_index())) as connection:
        began = time.monotonic()

        async def one(numbered: tuple[int, str]) -> None:
            nonlocal answered
            number, path = numbered
            await asyncio.sleep(began + number / rate - time.monotonic())
            condition = {"type": CONDITION, "status": "True", "message": str(number)}
            await connection.patch(path, {"status": {"conditions": [condition]}}, kind=STRATEGIC_PATCH)
            answered += 1

        in_time = itertools.takewhile(lambda _: time.monotonic() < began + seconds, paths)
        await in_flight(itertools.islice(enumerate(in_time), round(rate * seconds)), one)
        return {"patches": answered, "seconds": time.monotonic() - began}


if __name__ == "__main__":
    sys.exit(main())
