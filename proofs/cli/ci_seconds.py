"""What tests of the command line, of the client and of `why` cost `.ci/run`: `python -m proofs.cli.ci_seconds`.

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

from devtools.lint_repo import ROOT
from proofs.run_tests import PARALLEL
from testbed import cluster_lock
from testbed.cluster import Cluster
from testbed.instance import chosen_index

UNIT = ("unit/cli", "unit/client", "unit/why")
HISTORY = ("history/test_command_line.py", "history/test_gone_jobs.py")
CONTROL_PLANE = ("cluster/test_cli*.py", "cluster/test_python_client.py", "cluster/test_why.py")
NODES = ("e2e/training/test_cli_*.py", "e2e/training/test_kubeflow_notebook.py", "e2e/models/test_pipeline_step.py")


def main() -> int:
    """Print the seconds of each tier and their sum."""
    figures = {"unit": _seconds(UNIT, PARALLEL), "history": _seconds(HISTORY)}
    with cluster_lock.borrowed(Cluster(chosen_index()), kwok=1):
        figures["control plane"] = _seconds(CONTROL_PLANE, PARALLEL)
    with cluster_lock.borrowed(Cluster(chosen_index()), nodes=2):
        figures["nodes"] = _seconds(NODES, PARALLEL)
    print(json.dumps({**figures, "sum": sum(figures.values())}))
    return 0


def _seconds(tests: Sequence[str], options: Sequence[str] = ()) -> int:
    files = [str(path) for pattern in tests for path in sorted((ROOT / "tests").glob(pattern))]
    # As in CI: a sample where a proof repeats a test.
    environment = {**os.environ, "PROOF_SIZE": "small"}
    began = time.monotonic()
    subprocess.run(
        [sys.executable, "-m", "pytest", *files, *options], cwd=ROOT, env=environment, stdout=sys.stderr, check=True
    )
    return round(time.monotonic() - began)


if __name__ == "__main__":
    sys.exit(main())
