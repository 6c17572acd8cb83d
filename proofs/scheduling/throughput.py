"""How fast are jobs admitted, beside batch/v1 Jobs through the same Kueue? `python -m proofs.scheduling.throughput`.

Ours and theirs take turns, each in a namespace and a queue of its own, with the same pods on the same simulated nodes.
A pod ends as soon as it runs, so what is measured is the way from a free place to the next job in it. Then many jobs
wait in a queue that admits nobody, and what the operator needs for them is printed. The last line is JSON.
"""

import json
import os
import sys
import time

from benchmarks.environment import FULL, fresh_namespace, say, wait_idle
from harness.drivers import team_queue
from harness.drivers.api_connection import Connection
from harness.drivers.operator_process import Operator
from harness.drivers.team_queue import API, QUEUE
from proofs.scheduling.queued_jobs import Order, submit
from proofs.scheduling.stage import kueue_stage
from testbed.api import Object
from testbed.cluster import Cluster
from testbed.waiting import until

JOBS = int(os.environ.get("JOBS", "1000" if FULL else "60"))
WAITING = int(os.environ.get("WAITING", "5000" if FULL else "100"))
TURNS = 2  # of each
QUOTA = 50  # pods at a time
MEGABYTE = 2**20


def main() -> int:
    """Measure."""
    with kueue_stage() as cluster, Connection(cluster) as connection:
        figures = admissions(cluster, connection) | waiting(cluster, connection)
    print(json.dumps(figures))
    return 0


def admissions(cluster: Cluster, connection: Connection) -> dict[str, float]:
    """Jobs a second, from the first that is created to the last that is admitted: the best turn of each."""
    rates: dict[bool, list[float]] = {False: [], True: []}
    for turn in range(2 * TURNS):
        batch = turn % 2 == 1
        with fresh_namespace(cluster) as namespace, Operator(cluster, arguments=("--namespace", namespace)) as operator:
            team_queue.publish(cluster.api, namespace, QUOTA, team_queue.RESOURCE, {"type": "kwok"})
            wait_idle(operator)
            say(f"turn {turn + 1} of {2 * TURNS}: {JOBS} {'batch/v1 Jobs' if batch else 'of our jobs'}")
            used = operator.cpu_seconds()
            seconds = admitted(connection, namespace, batch=batch)
            rates[batch].append(JOBS / seconds)
            who = "batch/v1 Jobs" if batch else f"ours, with {operator.cpu_seconds() - used:.1f} s of processor time"
            say(f"{rates[batch][-1]:.1f} admissions a second: {who}")
    ours, theirs = max(rates[False]), max(rates[True])
    return {
        "admissions a second": round(ours, 1),
        "of batch/v1 Jobs": round(theirs, 1),
        "ratio": round(ours / theirs, 2),
    }


def admitted(connection: Connection, namespace: str, *, batch: bool) -> float:
    """Seconds until the last of so many jobs was admitted."""
    orders = [Order(f"job-{number}") for number in range(JOBS)]
    began = time.monotonic()
    submit(connection, namespace, orders, batch=batch)
    until(
        "all jobs to be admitted",
        lambda: _admitted(connection, namespace) == len(orders),
        deadline=JOBS + 120,
        interval=0.2,
    )
    return time.monotonic() - began


def waiting(cluster: Cluster, connection: Connection) -> dict[str, float]:
    """What many jobs cost that wait in a queue which admits nobody."""
    with fresh_namespace(cluster) as namespace:
        team_queue.publish_flavors(cluster.api, namespace)
        team_queue.publish_queue(cluster.api, namespace, QUEUE, QUOTA, stopPolicy="Hold")
        with Operator(cluster, arguments=("--namespace", namespace)) as operator:
            wait_idle(operator)
            memory, used, began = operator.rss_bytes(), operator.cpu_seconds(), time.monotonic()
            submit(connection, namespace, [Order(f"job-{number}") for number in range(WAITING)])
            until("all jobs to wait", lambda: _workloads(connection, namespace) == WAITING, deadline=600, interval=0.5)
            wait_idle(operator, deadline=600)
            took, spent = time.monotonic() - began, operator.cpu_seconds() - used
            rest, at = operator.cpu_seconds(), time.monotonic()
            time.sleep(10)
            idle = (operator.cpu_seconds() - rest) / (time.monotonic() - at)
            return {
                "jobs that wait": WAITING,
                "seconds until they do": round(took, 1),
                "processor seconds for them": round(spent, 1),
                "MiB of the operator": round(operator.rss_bytes() / MEGABYTE),
                "MiB before": round(memory / MEGABYTE),
                "cores while they wait": round(idle, 3),
            }


def _admitted(connection: Connection, namespace: str) -> int:
    """Asked from the API server's cache, which costs it little."""
    return sum(_is_admitted(one) for one in _list(connection, namespace))


def _workloads(connection: Connection, namespace: str) -> int:
    answer = connection.get(f"{API}/namespaces/{namespace}/workloads?limit=1")
    remaining = answer["metadata"].get("remainingItemCount", 0)
    return len(answer["items"]) + int(remaining)


def _list(connection: Connection, namespace: str) -> list[Object]:
    found: list[Object] = connection.get(f"{API}/namespaces/{namespace}/workloads?resourceVersion=0")["items"]
    return found


def _is_admitted(workload: Object) -> bool:
    conditions = (workload.get("status") or {}).get("conditions", ())
    return any(one["type"] == "Admitted" and one["status"] == "True" for one in conditions)


if __name__ == "__main__":
    sys.exit(main())
