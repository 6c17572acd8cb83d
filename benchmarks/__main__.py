"""Run the benchmarks on a control plane: JSON lines first, then a table."""

import asyncio
import json
import sys
from functools import partial

from benchmarks.bare_pods import pods_per_second
from testbed import namespaces, sharing
from testbed.cluster import Cluster
from testbed.instance import chosen_index
from testbed.waiting import until

SIZES = (2_000, 8_000)


def main() -> int:
    """Measure and print."""
    rows = []
    with sharing.borrowed(Cluster(chosen_index(), report=_say)) as cluster:
        for count in SIZES:
            with namespaces.fresh(cluster.api, "bench") as namespace:
                rate = asyncio.run(pods_per_second(cluster, namespace, count))
            path = f"/api/v1/namespaces/{namespace}"
            until("the pods to be gone again", partial(_gone, cluster, path), deadline=300, interval=1)
            rows.append((count, rate))
            print(json.dumps({"benchmark": "pods alone", "pods": count, "pods per second": round(rate, 1)}))
    print("\npods alone    pods/s")
    for count, rate in rows:
        print(f"{count:>10} {rate:>9.1f}")
    return 0


def _gone(cluster: Cluster, path: str) -> bool:
    return not cluster.api.exists(path)


def _say(line: str) -> None:
    print(line, file=sys.stderr)


if __name__ == "__main__":
    sys.exit(main())
