"""What the console uses of what the chart grants it: `python -m proofs.console.own_rights` (half a minute).

The API server's audit log is the judge. Prints a table; the last line is JSON.
"""

import json
import sys

from harness.drivers import audit_log
from harness.experiments import rbac_audit
from harness.experiments.console_rights import CONSOLE, play_bad_day
from testbed import cluster_lock
from testbed.cluster import Cluster
from testbed.instance import chosen_index


def main() -> int:
    """The bad day, then a look at the log."""
    with cluster_lock.borrowed(Cluster(chosen_index())) as cluster:
        since = audit_log.now()
        play_bad_day(cluster)
        balances, figures = rbac_audit.look(cluster, since, (CONSOLE,))
    print(rbac_audit.table(balances), file=sys.stderr)
    print(json.dumps(figures))
    return 0


if __name__ == "__main__":
    sys.exit(main())
