"""What the whole e2e suite uses of what the chart grants: `python -m proofs.install.rights` (an hour).

On one cluster, whose audit log is the judge, runs every test on real nodes as `make` does, one target after the other,
and then every scenario, for what the suite cannot need: engines that the test bed does not have, played by the
scenarios, and calls for bad days, of the recorder too. Prints a table for each; the last line is JSON. A right is used
by one use, so tests that repeat something do it a few times only.
"""

import json
import os
import sys
from collections.abc import Mapping, Sequence

from harness.drivers import audit_log
from harness.drivers.environment import stage
from harness.experiments import rbac_audit
from harness.experiments.recorder_rights import RECORDER, play_bad_day
from proofs.run_tests import PARALLEL, run
from testbed import cluster_lock
from testbed.cluster import Cluster
from testbed.instance import chosen_index
from tests.sampling import NONE_SKIPPED

# Each test, but few repetitions; one that is skipped would count as one that failed.
SMALL = {"PROOF_SIZE": "small", NONE_SKIPPED: "1"}
PROCESSES = (*rbac_audit.PROCESSES, RECORDER)
# Where the chart is installed no other operator may serve meanwhile.
SUITE = (
    ("tests/e2e", *(f"--ignore=tests/e2e/{part}" for part in ("serving", "install", "history")), *PARALLEL),
    ("tests/e2e/serving", *PARALLEL),
    ("tests/e2e/install", "-n", "1"),  # in pytest's own process a recorded figure is an error
    ("tests/e2e/history", "-n", "1"),
)


def main() -> int:
    """The suite, then the scenarios."""
    with cluster_lock.borrowed(Cluster(chosen_index()), nodes=2) as cluster:
        since = audit_log.now()
        tally = tallied([run(*part, environment={**os.environ, **SMALL}) for part in SUITE])
        alone, suite = rbac_audit.look(cluster, since, PROCESSES)
        with stage(cluster) as ready:
            played = rbac_audit.told(rbac_audit.play(ready))
        play_bad_day(cluster)
        both, everything = rbac_audit.look(cluster, since, PROCESSES)
    print(f"by the e2e suite alone\n{rbac_audit.table(alone)}\n", file=sys.stderr)
    print(f"by the e2e suite and the scenarios\n{rbac_audit.table(both)}", file=sys.stderr)
    print(json.dumps({**tally, **{f"{name} by e2e": value for name, value in suite.items()}, **played, **everything}))
    return 0


def tallied(reports: Sequence[Mapping[str, str | float]]) -> dict[str, int]:
    """How many tests there were, and how many of them did not pass."""
    ends = [end for report in reports for end in report.values() if isinstance(end, str)]
    return {"tests": len(ends), "tests that failed": sum(end != "passed" for end in ends)}


if __name__ == "__main__":
    sys.exit(main())
