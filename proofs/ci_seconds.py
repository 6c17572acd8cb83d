"""What the tests of an area cost `.ci/run`: `python -m proofs.ci_seconds cli`.

Each tier's tests run as CI runs them, one tier after the other, on a cluster that is there already, as it is for CI's
other tests. The sum is more than CI grows by: it runs two lanes side by side, and would start most of the processes,
operators and databases without these tests too.
"""

import json
import os
import subprocess
import sys
import time
from collections.abc import Sequence
from contextlib import ExitStack
from dataclasses import dataclass

from devtools.lint_repo import ROOT
from proofs.run_tests import PARALLEL
from testbed import cluster_lock
from testbed.cluster import Cluster
from testbed.instance import chosen_index


@dataclass(frozen=True)
class Tier:
    """Tests that a stage of CI runs, and the cluster that it has for them."""

    name: str
    tests: tuple[str, ...]  # patterns of files below tests/
    options: Sequence[str] = ()
    nodes: int = 0
    kwok: int = 0


AREAS = {
    "cli": (
        Tier("unit", ("unit/cli", "unit/client", "unit/why"), PARALLEL),
        Tier("history", ("history/test_command_line.py", "history/test_gone_jobs.py")),
        Tier(
            "control plane",
            ("cluster/test_cli*.py", "cluster/test_python_client.py", "cluster/test_why.py"),
            PARALLEL,
            kwok=1,
        ),
        Tier(
            "nodes",
            (
                "e2e/training/test_cli_*.py",
                "e2e/training/test_kubeflow_notebook.py",
                "e2e/models/test_pipeline_step.py",
            ),
            PARALLEL,
            nodes=2,
        ),
    ),
    "history": (
        Tier("unit", ("unit/history", "unit/cron"), PARALLEL),
        Tier("history", ("history",)),
        Tier("chart", ("chart/test_history.py",), PARALLEL),
        Tier("control plane", ("cluster/test_cron.py", "cluster/test_recorder.py"), PARALLEL, kwok=1),
    ),
}


def main() -> int:
    """Print the seconds of each tier and their sum."""
    figures = {tier.name: _seconds(tier) for tier in AREAS[sys.argv[1]]}
    print(json.dumps({**figures, "sum": sum(figures.values())}))
    return 0


def _seconds(tier: Tier) -> int:
    files = [str(path) for pattern in tier.tests for path in sorted((ROOT / "tests").glob(pattern))]
    # As in CI: a sample where a proof repeats a test.
    environment = {**os.environ, "PROOF_SIZE": "small"}
    with ExitStack() as stack:
        if tier.nodes or tier.kwok:
            cluster = Cluster(chosen_index())
            stack.enter_context(cluster_lock.borrowed(cluster, nodes=tier.nodes, kwok=tier.kwok))
        began = time.monotonic()
        command = [sys.executable, "-m", "pytest", *files, *tier.options]
        subprocess.run(command, cwd=ROOT, env=environment, stdout=sys.stderr, check=True)
        return round(time.monotonic() - began)


if __name__ == "__main__":
    sys.exit(main())
