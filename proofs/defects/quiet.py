"""How quiet an operator is that finds no kinds of other projects: `python -m proofs.defects.quiet`.

Runs the operator with its defaults on a cluster that has our own definitions only, and counts what its log warns of in
the first minute (at small size: 20 s). The last line is JSON.
"""

import json
import os
import sys
import tempfile
import time
from pathlib import Path

from harness.drivers.operator_process import Operator
from testbed import cluster_lock
from testbed.cluster import Cluster
from testbed.instance import chosen_index

SECONDS = 60.0 if os.environ.get("PROOF_SIZE", "full") == "full" else 20.0
WARNINGS = ("warning", "error", "critical")


def main() -> int:
    """Print how many warnings there were, and how often a missing kind was told of."""
    with cluster_lock.borrowed(Cluster(chosen_index())) as cluster, tempfile.TemporaryDirectory() as directory:
        with Operator(cluster, leader_election=True, directory=Path(directory)):
            time.sleep(SECONDS)
        [log] = Path(directory).glob("operator-*.log")
        entries = [json.loads(line) for line in log.read_text().splitlines() if line.startswith("{")]
    warned = [entry for entry in entries if entry["level"] in WARNINGS]
    for entry in warned:
        print(entry, file=sys.stderr)
    missing = [entry for entry in entries if entry["event"].startswith("the cluster does not serve this kind")]
    print(json.dumps({"warnings": len(warned), "missing kinds told": len(missing), "seconds": SECONDS}))
    return 0


if __name__ == "__main__":
    sys.exit(main())
