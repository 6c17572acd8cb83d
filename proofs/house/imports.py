"""What importing the API and all kinds takes, and which heavy libraries they load: `python -m proofs.house.imports`.

The last line is JSON. The fastest of several processes counts: what the machine does meanwhile is not measured.
"""

import json
import os
import subprocess
import sys

from devtools.lint_repo import ROOT

STATEMENTS = {
    "api": "import kubedl.api.training, kubedl.api.model, kubedl.api.inference, kubedl.api.cachebackend",
    "kinds": "from kubedl.training.kinds import all_kinds; all_kinds()",
}
HEAVY = ("aiohttp", "cryptography", "structlog", "prometheus_client", "yaml")
PROCESSES = 10
TIMED = """import sys, time
began = time.perf_counter()
{statement}
print((time.perf_counter() - began) * 1000, *(name for name in {heavy} if name in sys.modules))"""


def main() -> int:
    """Print milliseconds, and what is loaded that should not be."""
    figures: dict[str, object] = {}
    heavy: set[str] = set()
    for name, statement in STATEMENTS.items():
        runs = [_run(statement) for _ in range(PROCESSES)]
        figures[f"{name} ms"] = round(min(milliseconds for milliseconds, _ in runs), 1)
        heavy |= {library for _, libraries in runs for library in libraries}
    figures["heavy"] = len(heavy)
    print(json.dumps(figures))
    return 0


def _run(statement: str) -> tuple[float, list[str]]:
    script = TIMED.format(statement=statement, heavy=HEAVY)
    # An installed package is compiled once; a checkout too, unless the environment forbids it.
    environment = {**os.environ, "PYTHONPATH": str(ROOT / "src"), "PYTHONDONTWRITEBYTECODE": ""}
    done = subprocess.run([sys.executable, "-c", script], env=environment, capture_output=True, text=True, check=True)
    milliseconds, *libraries = done.stdout.split()
    return float(milliseconds), libraries


if __name__ == "__main__":
    sys.exit(main())
