"""What the recorder uses of what the chart grants it: `python -m proofs.install.recorder_rights` (five minutes).

On one cluster with two real nodes, whose audit log is the judge, runs the test of the chart with a recorder that
archives logs, and then a recorder on a bad day. `proofs.install.rights` does the same beside the whole e2e suite.
Prints a table; the last line is JSON.
"""

import json
import os
import sys

from harness.drivers import audit_log
from harness.experiments import rbac_audit
from harness.experiments.recorder_rights import RECORDER, play_bad_day
from proofs.install.rights import tallied
from proofs.run_tests import run
from testbed import cluster_lock
from testbed.cluster import Cluster
from testbed.instance import chosen_index

TEST = ("tests/e2e/history", "-n", "1")  # in pytest's own process a recorded figure is an error


def main() -> int:
    """The test, then the bad day."""
    with cluster_lock.borrowed(Cluster(chosen_index()), nodes=2) as cluster:
        since = audit_log.now()
        report = run(*TEST, environment={**os.environ, "PROOF_SIZE": "small"})
        play_bad_day(cluster)
        balances, figures = rbac_audit.look(cluster, since, (RECORDER,))
    print(rbac_audit.table(balances), file=sys.stderr)
    print(json.dumps({**report, **tallied([report]), **figures}))
    return 0


if __name__ == "__main__":
    sys.exit(main())
