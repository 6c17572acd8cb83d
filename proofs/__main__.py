"""Measure every claim of an area: `python -m proofs testbed`; `make prove-testbed` calls this.

Prints a line per claim and exits 1 if any falls short. At full size the table goes to
docs/proofs/<area>.md with the date, the commit and the machine.

A full run takes hours and may be cut short, so what each command printed is kept for the code that it
measured; `--resume` goes on from there, `--only` measures a part in advance, and `--earlier` takes the
rest from another commit, which the page then names.
"""

import argparse
import os
import shlex
import subprocess
import sys
import time
from pathlib import Path

from proofs.claims import Claim, Value, at_size, load, result
from proofs.report import Row, write
from proofs.result_cache import Kept
from proofs.seed import seed

ROOT = Path(__file__).parents[1]
FAILED = '"its command ended'
OF_MAKE = {"MAKEFLAGS", "MAKELEVEL", "MFLAGS", "MAKEOVERRIDES", "SIZE"}


def main() -> int:
    """Run an area."""
    parser = argparse.ArgumentParser(prog="python -m proofs", description=__doc__)
    parser.add_argument("area")
    parser.add_argument("--size", choices=("full", "small"), default="full")
    parser.add_argument("--resume", action="store_true", help="do not repeat what was measured of this very code")
    parser.add_argument("--only", default="", help="measure only commands that contain this, and write no page")
    parser.add_argument(
        "--earlier", default="", metavar="COMMIT", help="take from this commit what was not measured of this very code"
    )
    arguments = parser.parse_args()
    claims = at_size(load(arguments.area), arguments.size, seed())
    claims = [claim for claim in claims if arguments.only in claim.command]
    if arguments.size == "small":
        print(f"sampled commands are drawn by SEED={seed()}", flush=True)
    kept, before = Kept(ROOT, arguments.size), Kept(ROOT, arguments.size, commit=arguments.earlier)
    outputs: dict[str, str] = {}
    earlier: set[str] = set()  # commands whose results are those of the earlier commit
    rows = []
    for claim in claims:
        if claim.command not in outputs:
            known = kept.get(claim.command) if arguments.resume else None
            if known is None and arguments.earlier and (known := before.get(claim.command)) is not None:
                earlier.add(claim.command)
            outputs[claim.command] = known if known is not None else _run(claim.command, arguments.size)
            if claim.command not in earlier and not outputs[claim.command].startswith(FAILED):
                kept.put(claim.command, outputs[claim.command])
        rows.append(_judge(claim, outputs[claim.command], arguments.earlier if claim.command in earlier else ""))
    if arguments.size == "full" and not arguments.only:
        write(ROOT, arguments.area, rows)
    short = sum(not row.ok for row in rows)
    print(f"{arguments.area}: {len(rows) - short} passed, {short} failed")
    return 1 if short else 0


def _run(command: str, size: str) -> str:
    """Run a claim's command; what it says goes to the terminal, its last line is the result."""
    words = shlex.split(command)
    if words[0] == "python":
        words[0] = sys.executable
    print(f"· {command}", file=sys.stderr, flush=True)
    began = time.monotonic()
    # Not the settings of the make that started us: a claim's own make must be as in a user's shell.
    inherited = {name: value for name, value in os.environ.items() if name not in OF_MAKE}
    environment = {**inherited, "PROOF_SIZE": size}
    done = subprocess.run(words, cwd=ROOT, env=environment, stdout=subprocess.PIPE, text=True, check=False)
    print(f"· took {time.monotonic() - began:.0f} s", file=sys.stderr, flush=True)
    return done.stdout if done.returncode == 0 else f'{FAILED} with {done.returncode}"'


def _judge(claim: Claim, output: str, commit: str) -> Row:
    failed = output.startswith(FAILED)
    measured: Value = result(output, "" if failed else claim.value)
    ok = not failed and claim.met(measured)
    row = Row(claim.sentence, measured, claim.bar, claim.unit, ok=ok, commit=commit, limit=claim.limit)
    print(row, flush=True)
    return row


if __name__ == "__main__":
    sys.exit(main())
