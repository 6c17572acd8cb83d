"""The command `kubedl`: the first argument selects the process, the others are its arguments.

A process is imported on demand, since each may need packages that the others do not have.
"""

import argparse
import importlib
import sys
from collections.abc import Sequence

PROCESSES = {
    "operator": "kubedl.entrypoints.operator",
    "packer": "kubedl.entrypoints.packer",
    "loader": "kubedl.entrypoints.loader",
    "smoke-test": "kubedl.entrypoints.smoke_test",
}


def main(arguments: Sequence[str] | None = None) -> int:
    """Run one process and exit with its exit code."""
    parser = argparse.ArgumentParser(prog="kubedl", description="Deep learning on Kubernetes.")
    parser.add_argument("process", choices=sorted(PROCESSES), help="the process to run; see `kubedl <process> --help`")
    parser.add_argument("arguments", nargs=argparse.REMAINDER, help="arguments of the process")
    chosen = parser.parse_args(arguments)
    code: int = importlib.import_module(PROCESSES[chosen.process]).main(chosen.arguments)
    return code


if __name__ == "__main__":
    sys.exit(main())
