"""The commands of CONTRIBUTING, run as they stand in a fresh clone, as a newcomer would type them."""

import json
import os
import re
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).parents[2]
HEADING = "## From clone to cluster"


def main() -> int:
    """Print how many nodes the newcomer sees Ready."""
    commands = instructions((ROOT / "CONTRIBUTING.md").read_text())
    with tempfile.TemporaryDirectory(prefix="kubedl-newcomer-") as directory:
        clone = Path(directory) / "kubedl"
        subprocess.run(["git", "clone", "--quiet", str(ROOT), str(clone)], check=True)
        if os.environ.get("PROOF_SIZE") == "small":
            (clone / ".venv").symlink_to(ROOT / ".venv")  # a new environment takes a minute, and CI has just made one
        environment = {**os.environ, "INSTANCE": "5"}
        done = subprocess.run(
            ["bash", "-euxc", commands], cwd=clone, env=environment, stdout=subprocess.PIPE, text=True, check=False
        )
        print(done.stdout, file=sys.stderr)
        if done.returncode:
            subprocess.run(["make", "cluster-down"], cwd=clone, env=environment, stdout=sys.stderr, check=False)
    if done.returncode or "hello" not in done.stdout.splitlines():
        sys.exit(f"the instructions end with {done.returncode}, or the pod did not say hello")
    print(json.dumps(len(re.findall(r"^node\d+ +Ready ", done.stdout, re.MULTILINE))))
    return 0


def instructions(text: str) -> str:
    """All commands of the section; cloning itself has happened."""
    section = text.partition(HEADING)[2].partition("\n## ")[0]
    blocks = re.findall(r"```sh\n(.*?)```", section, re.DOTALL)
    if not blocks:
        sys.exit(f"CONTRIBUTING.md has no commands below {HEADING!r}")
    lines = "".join(blocks).splitlines()
    return "\n".join(line for line in lines if not line.startswith(("git clone", "cd ")))


if __name__ == "__main__":
    sys.exit(main())
