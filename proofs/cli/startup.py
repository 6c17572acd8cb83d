"""Wall time and memory of commands, each in a new process, on a stand-in server: `python -m proofs.cli.startup`.

The last line is JSON: medians of several processes. The stand-in answers in Python, so its share is in the figures.
"""

import json
import os
import statistics
import subprocess
import sys
import time
from pathlib import Path
from tempfile import TemporaryDirectory

from devtools.lint_repo import ROOT
from tests.unit.client.api_server import ApiServer, serving

PROCESSES = 10
MANY = 10_000
MEASURED = """import resource, sys
from kubedl.entrypoints.command import main
code = main(sys.argv[1:])
print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss, file=sys.stderr)
sys.exit(code)"""


def main() -> int:
    """Print milliseconds, and megabytes for the longest list."""
    with TemporaryDirectory() as cache, serving(ApiServer()) as api:
        for number in range(100):
            _job(api, number)
        words = ["-n", "team", "--server", api.url]
        figures: dict[str, float] = {
            "help ms": _median(cache, ["--help"]),
            "submit help ms": _median(cache, ["submit", "pytorch", "--help"]),
            "list ms": _median(cache, ["list", *words]),
        }
        for number in range(100, MANY):
            _job(api, number)
        runs = [_run(cache, ["list", *words]) for _ in range(3)]
        figures["long list s"] = round(statistics.median(seconds for seconds, _ in runs), 2)
        figures["long list MB"] = max(kilobytes for _, kilobytes in runs) // 1024
    print(json.dumps(figures))
    return 0


def _job(api: ApiServer, number: int) -> None:
    status = {"state": "Running", "ready": "4/4", "message": "all replicas are running"}
    api.job(f"job-{number}", status=status, metadata={"labels": {"kueue.x-k8s.io/queue-name": "team-a"}})


def _median(cache: str, words: list[str]) -> int:
    _run(cache, words)  # compiles, and asks for the kinds
    return round(1000 * statistics.median(_run(cache, words)[0] for _ in range(PROCESSES)))


def _run(cache: str, words: list[str]) -> tuple[float, int]:
    environment = {**os.environ, "PYTHONPATH": str(ROOT / "src"), "XDG_CACHE_HOME": cache}
    environment |= {"PYTHONPYCACHEPREFIX": str(Path(cache) / "pyc"), "PYTHONDONTWRITEBYTECODE": ""}
    began = time.perf_counter()
    done = subprocess.run(
        [sys.executable, "-c", MEASURED, *words], env=environment, capture_output=True, text=True, check=True
    )
    return time.perf_counter() - began, int(done.stderr.split()[-1])


if __name__ == "__main__":
    sys.exit(main())
