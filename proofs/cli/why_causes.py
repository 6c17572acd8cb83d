"""`kubedl why` on causes that were prepared on a real control plane: `python -m proofs.cli.why_causes`.

Each situation is made, its sign awaited, and the command run once, as administrator and as a user who may read these
namespaces only. Then the commands that were offered are run as they were printed. Printed is a line for each; the last
line is JSON: how many were prepared, how many named right, and what became of the commands.
"""

import json
import statistics
import subprocess
import sys
import time
from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from harness.drivers.operator_process import Operator, install_custom_resources
from harness.scenarios.why_causes import SITUATIONS, Situation
from harness.scenarios.why_objects import World
from harness.scenarios.why_world import READER, prepared
from proofs.cli.offered_commands import Offer, Shell, fresh_process, tried
from testbed import cluster_lock
from testbed.cluster import Cluster
from testbed.errors import DeadlineError
from testbed.instance import chosen_index
from testbed.waiting import until

SIGN, UNATTENDED = 120.0, 16.0  # seconds
ABSENT = "operator.absent"


@dataclass
class Asker:
    """Runs the command in fresh processes."""

    cluster: Cluster
    home: Path  # where it keeps what it caches

    def why(self, situation: Situation, namespace: str, *more: str) -> tuple[dict[str, Any], float]:
        """The diagnosis, and milliseconds."""
        kind = {"pytorchjobs": "pytorch", "crons": "cron", "inferences": "inference"}[situation.kind]
        words = ["why", f"{kind}/{situation.object}", "-n", namespace, "--kubeconfig", str(self.cluster.kubeconfig)]
        began = time.perf_counter()
        command = [sys.executable, "-m", "kubedl.entrypoints.command", *words, "-o", "json", *more]
        done = subprocess.run(command, env=fresh_process(self.home), capture_output=True, text=True, check=False)
        passed = 1000 * (time.perf_counter() - began)
        if done.returncode not in (0, 3):
            raise RuntimeError(f"{situation.rule}: {done.stderr}")
        found: dict[str, Any] = json.loads(done.stdout)
        return found, passed

    def cause(self, situation: Situation, namespace: str) -> str:
        """The rule that speaks now; none if nothing is wrong."""
        rule: str = self.why(situation, namespace)[0]["rule"]
        return rule


def main() -> int:
    """Print the figures."""
    with (
        cluster_lock.borrowed(Cluster(chosen_index()), kwok=2) as cluster,
        TemporaryDirectory() as home,
    ):
        install_custom_resources(cluster)
        cluster.add_kueue()
        asker = Asker(cluster, Path(home))
        with prepared(cluster) as world:
            with Operator(cluster):
                for one in SITUATIONS:
                    one.make(world)
                figures = _asked(asker, world, SITUATIONS)
            figures["prepared"] += 1
            figures["right"] += _without_operator(asker, world)
    figures["wrong"] = figures["prepared"] - figures["right"]
    print(json.dumps(figures))
    return 0


def _asked(asker: Asker, world: World, situations: Sequence[Situation]) -> dict[str, Any]:
    right = reader_right = wrong = 0
    times: list[float] = []
    offers: list[Offer] = []
    for one in situations:
        namespace = world.spaces[one.space] if one.space else world.namespace
        await_sign(world, one, namespace)
        found, passed = asker.why(one, namespace)
        times.append(passed)
        cause = partial(asker.cause, one, namespace)
        offers += (Offer(one.rule, namespace, offer["command"], cause, one.played) for offer in found["tries"])
        seen, _ = asker.why(one, namespace, "--as", READER)
        right += found["rule"] == one.rule
        reader_right += seen["rule"] == one.rule
        wrong += seen["rule"] not in (one.rule, *one.also, "")
        marks = f"{'ok ' if found['rule'] == one.rule else 'NO '} {'ok ' if seen['rule'] == one.rule else seen['rule']}"
        print(f"{marks:8} {one.rule:22} {passed:5.0f} ms  {found['first']}", flush=True)
    return {
        "prepared": len(situations),
        "right": right,
        "played": sum(one.played for one in situations),
        "reader right": reader_right,
        "reader wrong": wrong,
        "median ms": round(statistics.median(times)),
        "slowest ms": round(max(times)),
        **tried(Shell(asker.cluster, asker.home), offers),
    }


def await_sign(world: World, situation: Situation, namespace: str) -> None:
    """Wait until the cluster has come so far that the cause can be named."""
    path = f"/apis/{situation.group}/namespaces/{namespace}/{situation.kind}/{situation.object}"

    def has_sign() -> bool:
        return situation.sign in json.dumps(world.connection.get(path).get("status") or {}, ensure_ascii=False).replace(
            '\\"', '"'
        )

    try:
        until(f"{situation.object} to show it", has_sign, deadline=SIGN)
    except DeadlineError:
        print(f"no sign of {situation.rule}: {json.dumps(world.connection.get(path).get('status'))[:2000]}", flush=True)


def _without_operator(asker: Asker, world: World) -> bool:
    """Nobody works on a job that was created when no operator runs."""
    world.job("unattended")
    time.sleep(UNATTENDED)
    found, _ = asker.why(Situation(ABSENT, lambda _: None, name="unattended"), world.namespace)
    print(f"{'ok ' if found['rule'] == ABSENT else 'NO '}      {ABSENT:22}           {found['first']}", flush=True)
    return bool(found["rule"] == ABSENT)


if __name__ == "__main__":
    sys.exit(main())
