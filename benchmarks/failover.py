"""How long jobs are without a leader: two operators, one leads, it dies or leaves, the other writes.

The time runs from the kill to the moment at which the API server received the other's first write, by the
audit log. A job is created at the moment of the kill, so that there is something to write at once.
"""

import argparse
import json
import statistics
import sys
import tempfile
from collections.abc import Callable, Iterable
from pathlib import Path

from benchmarks import objects
from benchmarks.creation import Figures
from benchmarks.environment import FULL, say, stage
from harness.drivers import audit_log
from harness.drivers.operator_process import Operator, kubeconfig_of
from testbed import namespaces
from testbed.cluster import Cluster
from testbed.waiting import until

USERS = ("kubedl-operator-a", "kubedl-operator-b")  # one each, so that the audit log tells them apart
LEADING = "kubedl_leader"
DEADLINE = 120.0


def measure(cluster: Cluster, rounds: int = 5) -> Figures:
    """So many deaths, and so many leaders that leave in good order."""
    with tempfile.TemporaryDirectory(prefix="kubedl-bench-") as directory:
        logs = Path(directory)
        first, second = (
            Operator(cluster, kubeconfig=kubeconfig_of(cluster, user), leader_election=True, directory=logs)
            for user in USERS
        )
        with namespaces.fresh(cluster.api, "bench") as namespace, first, second:
            users = {first: USERS[0], second: USERS[1]}

            def rounds_of(ending: Callable[[Operator], object], begin: int) -> list[float]:
                return [_round(cluster, namespace, users, begin + number, ending) for number in range(rounds)]

            killed = rounds_of(Operator.kill, 0)
            stopped = rounds_of(Operator.stop, rounds)
    return {
        "benchmark": "failover",
        "rounds": rounds,
        "killed: median s": round(statistics.median(killed), 2),
        "killed: worst s": round(max(killed), 2),
        "stopped: median s": round(statistics.median(stopped), 2),
        "stopped: worst s": round(max(stopped), 2),
    }


def main() -> int:
    """Measure, and print one JSON line."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.failover", description=__doc__)
    parser.add_argument("--rounds", type=int, default=5 if FULL else 1)
    chosen = parser.parse_args()
    with stage() as cluster:
        print(json.dumps(measure(cluster, chosen.rounds)))
    return 0


def _round(
    cluster: Cluster, namespace: str, users: dict[Operator, str], number: int, ending: Callable[[Operator], object]
) -> float:
    """One change of leader, in seconds; afterwards both run again."""
    leader = until("one of them to lead", lambda: _leading(users), deadline=DEADLINE)[0]
    successor = next(operator for operator in users if operator is not leader)
    since = audit_log.now()
    ending(leader)
    cluster.api.create(objects.jobs_path(namespace), objects.job(number, 1))
    path = f"{objects.jobs_path(namespace)}/{objects.name(number)}"
    until(
        "the new leader to serve the job",
        lambda: successor.insist() and objects.settled(cluster.api.get(path).get("status") or {}, 1),
        deadline=DEADLINE,
    )
    first = min(write.at for write in audit_log.writes(cluster, users[successor], since))
    seconds = (first - since).total_seconds()
    say(f"  {ending.__name__}: {seconds:.2f} s")
    leader.restart()
    return seconds


def _leading(operators: Iterable[Operator]) -> list[Operator]:
    return [operator for operator in operators if operator.metrics()[LEADING]]


if __name__ == "__main__":
    sys.exit(main())
