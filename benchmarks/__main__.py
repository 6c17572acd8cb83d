"""Run the benchmarks on a control plane: JSON lines first, then a table."""

import asyncio
import json
import os
import sys

from benchmarks.bare_pods import pods_per_second
from testbed import namespaces, sharing
from testbed.cluster import Cluster

SIZES = (2_000, 8_000)


def main() -> int:
    """Measure and print."""
    rows = []
    with sharing.borrowed(Cluster(int(os.environ.get("INSTANCE", "0")), report=_say)) as cluster:
        for count in SIZES:
            with namespaces.fresh(cluster.api, "bench") as namespace:
                rate = asyncio.run(pods_per_second(cluster, namespace, count))
            rows.append((count, rate))
            print(json.dumps({"benchmark": "pods alone", "pods": count, "pods per second": round(rate, 1)}))
    print("\npods alone    pods/s")
    for count, rate in rows:
        print(f"{count:>10} {rate:>9.1f}")
    return 0


def _say(line: str) -> None:
    print(line, file=sys.stderr)


if __name__ == "__main__":
    sys.exit(main())
