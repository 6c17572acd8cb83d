"""What reads only our kinds, as a command line does, loads no HTTP client and no cryptography."""

import subprocess
import sys
from pathlib import Path

import pytest

import kubedl

HEAVY = ("aiohttp", "cryptography", "structlog", "prometheus_client", "yaml")


@pytest.mark.parametrize(
    "statement",
    [
        "import kubedl.api.training, kubedl.api.model, kubedl.api.inference, kubedl.api.cachebackend",
        "from kubedl.training.kinds import all_kinds; all_kinds()",
        "import kubedl.training.plugin",
    ],
)
def test_the_api_and_all_kinds_are_light(statement: str) -> None:
    """In a process of its own, since pytest has loaded everything."""
    script = f"import sys; {statement}; print([name for name in {HEAVY} if name in sys.modules])"
    source = Path(kubedl.__file__).parents[1]
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True, cwd=source)
    assert done.stdout.strip() == "[]"
