"""Files of a Go module, from the module proxy and checked by its sum; never part of this repository."""

import json
from functools import cache
from pathlib import Path

from testbed.errors import TestbedError
from testbed.shell import run


@cache
def module_directory(module: str, checksum: str) -> Path:
    """Where the files of `name@version` lie."""
    answer = json.loads(run("go", "mod", "download", "-json", module, timeout=600))
    if answer["Sum"] != checksum:
        raise TestbedError(f"{module} is not what it was")
    return Path(answer["Dir"])
