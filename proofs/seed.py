"""The seed of what CI draws instead of repeating all: the commit's, so that each change takes another sample.

SEED repeats the sample of a failed run.
"""

import os
import subprocess
from functools import cache
from pathlib import Path


@cache
def seed() -> str:
    """Of this commit, unless one is given."""
    if given := os.environ.get("SEED"):
        return given
    # Git refuses root in a clone of somebody else, and then every commit would draw the same.
    command = ["git", "-c", "safe.directory=*", "rev-parse", "--short", "HEAD"]
    done = subprocess.run(command, cwd=Path(__file__).parent, capture_output=True, text=True, check=False)
    return done.stdout.strip() or "0"
