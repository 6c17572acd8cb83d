"""The command `kubedl`: its first argument names a process, and the others are that process's own.

A process is imported when it is asked for, since each may need packages that the others do not.
"""

import argparse
import importlib
import sys
from collections.abc import Sequence

PROCESSES = {
    "operator": "kubedl.main.operator",
    "packer": "kubedl.main.packer",
    "loader": "kubedl.main.loader",
    "trial": "kubedl.main.trial",
}


def main(arguments: Sequence[str] | None = None) -> int:
    """Run one, and end with its exit code."""
    parser = argparse.ArgumentParser(prog="kubedl", description="Deep learning on Kubernetes.")
    parser.add_argument("process", choices=sorted(PROCESSES), help="which; `kubedl <process> --help` tells more")
    parser.add_argument("arguments", nargs=argparse.REMAINDER, help="its own")
    chosen = parser.parse_args(arguments)
    code: int = importlib.import_module(PROCESSES[chosen.process]).main(chosen.arguments)
    return code


if __name__ == "__main__":
    sys.exit(main())
