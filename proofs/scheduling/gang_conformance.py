"""Let pairs of gangs compete under each real gang scheduler, and record what held: the conformance matrix.

`python -m proofs.scheduling.gang_conformance --schedulers native volcano --rounds 20` prints the rounds of every cell.
At full size they go to results.json, from which docs/reference/gang-scheduling.md is generated; a cell with fewer
rounds than recorded is left as it is.
"""

import argparse
import json
import os
import sys
from datetime import UTC, datetime
from pathlib import Path

from devtools import gang_matrix, reference
from proofs.run_tests import run

TESTS = "tests/cluster/test_gang.py"
TESTS_OF_SCENARIOS = (
    "test_of_two_gangs_one_is_placed_whole_and_the_other_not_at_all",
    "test_gangs_that_start_in_order_do_not_wait_for_each_other",
    "test_gangs_whose_commit_is_found_first_are_placed_whole",
    "test_a_gang_that_restarts_is_placed_whole_again",
)
SCENARIOS = dict(zip(gang_matrix.SCENARIOS, TESTS_OF_SCENARIOS, strict=True))
ONE_AT_A_TIME = ("-n", "1")  # the rounds of a test run side by side as it is


def main() -> int:
    """Measure, print, and record at full size."""
    parser = argparse.ArgumentParser(prog="python -m proofs.scheduling.gang_conformance", description=__doc__)
    parser.add_argument("--schedulers", nargs="+", choices=gang_matrix.REAL, default=gang_matrix.REAL)
    parser.add_argument("--rounds", type=int, default=100, help="at most, of each scenario")
    chosen = parser.parse_args()
    found = {name: measure(name, chosen.rounds) for name in chosen.schedulers}
    if os.environ.get("PROOF_SIZE") == "full":
        record(gang_matrix.RESULTS, found)
        for path, text in reference.pages(reference.ROOT).items():
            if path.stem == gang_matrix.PAGE:
                path.write_text(text)
    cells = {f"{name} {scenario}": rounds for name, row in found.items() for scenario, rounds in row.items()}
    print(json.dumps(cells))
    return 0


def measure(scheduler: str, rounds: int) -> dict[str, int]:
    """How many rounds of each scenario held under a scheduler; 0 if one did not."""
    environment = {**os.environ, "GANG_SCHEDULER": scheduler, "GANG_ROUNDS": str(rounds)}
    outcomes = run(TESTS, *ONE_AT_A_TIME, environment=environment)
    return {
        scenario: int(outcomes.get(f"{test} rounds", 0)) if outcomes.get(test) == "passed" else 0
        for scenario, test in SCENARIOS.items()
    }


def record(file: Path, found: dict[str, dict[str, int]]) -> None:
    """Merge new figures into the file: fewer rounds than before replace none, unless they failed."""
    recorded = json.loads(file.read_text()) if file.exists() else {}
    today = datetime.now(UTC).date().isoformat()
    for name, cells in found.items():
        old = recorded.setdefault(name, {})
        for scenario, rounds in cells.items():
            if not rounds or rounds >= old.get(scenario, {}).get("rounds", 0):
                old[scenario] = {"rounds": rounds, "date": today}
    file.write_text(json.dumps(recorded, indent=2, sort_keys=True) + "\n")


if __name__ == "__main__":
    sys.exit(main())
