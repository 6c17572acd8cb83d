"""The console beside `kubedl why`, in its prepared situations: `python -m proofs.console.why`.

Each situation is made on a real control plane and its sign awaited; then the command and the console are asked as the
same person. A sentence may have an age in it, so the command is asked before and after. The last line is JSON.
"""

import json
import sys
from pathlib import Path
from tempfile import TemporaryDirectory

from harness.drivers.console_objects import EVERYTHING
from harness.drivers.console_process import ConsoleProcess, rights_everywhere, token_of
from harness.drivers.operator_process import Operator, install_custom_resources
from harness.scenarios.why_causes import SITUATIONS, Situation
from harness.scenarios.why_objects import World
from harness.scenarios.why_world import prepared
from proofs.cli.why_causes import Asker, await_sign
from testbed import cluster_lock
from testbed.cluster import Cluster
from testbed.instance import chosen_index

PERSON = "why-person"


def main() -> int:
    """Print the figures."""
    jobs = [one for one in SITUATIONS if one.kind == "pytorchjobs"]
    with (
        cluster_lock.borrowed(Cluster(chosen_index()), kwok=2) as cluster,
        TemporaryDirectory() as directory,
    ):
        install_custom_resources(cluster)
        cluster.add_kueue()
        with (
            prepared(cluster) as world,
            Operator(cluster),
            ConsoleProcess(cluster, Path(directory)) as console,
            rights_everywhere(cluster, world.namespace, PERSON, *EVERYTHING),
        ):
            token = token_of(cluster, world.namespace, PERSON)
            asker = Asker(cluster, Path(directory))
            for one in jobs:
                one.make(world)
            different = sum(not _same(asker, console, world, one, token) for one in jobs)
    print(json.dumps({"situations": len(jobs), "different": different}))
    return 0


def _same(asker: Asker, console: ConsoleProcess, world: World, situation: Situation, token: str) -> bool:
    """Whether the console says what the command says, just before or just after."""
    namespace = world.spaces[situation.space] if situation.space else world.namespace
    await_sign(world, situation, namespace)
    before, _ = asker.why(situation, namespace, "--token", token)
    answer = console.get(f"/api/v1/jobs/{namespace}/pytorchjob/{situation.object}/why", token)
    after, _ = asker.why(situation, namespace, "--token", token)
    said = answer.json().get("first", answer.body.decode())
    same = said in (before["first"], after["first"])
    print(f"{'ok' if same else 'NO'}  {situation.rule:22} {said}", flush=True)
    if not same:
        print(f"    kubedl why: {before['first']}", flush=True)
    return same


if __name__ == "__main__":
    sys.exit(main())
