"""Whether every program of the test bed builds and starts, also those that no test needs yet."""

import json
import subprocess
import sys

from testbed import tools


def main() -> int:
    """Print how many of them do not."""
    wanted = [program for tool in tools.catalogue().values() for program in tool.packages]
    paths = tools.binaries(wanted, lambda line: print(line, file=sys.stderr, flush=True))
    # Every one of them knows --help, except our own: pause does nothing but wait.
    silent = [name for name, path in paths.items() if name != "pause" and not _helps(str(path))]
    print(f"  {len(paths)} programs, without help: {silent}", file=sys.stderr)
    print(json.dumps(len(silent)))
    return 0


def _helps(path: str) -> bool:
    done = subprocess.run([path, "--help"], capture_output=True, text=True, timeout=60, check=False)
    return "usage" in (done.stdout + done.stderr).lower()


if __name__ == "__main__":
    sys.exit(main())
