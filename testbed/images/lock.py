"""Pinning the wheels of images: `python -m testbed.images.lock [NAME ...]`, all of them by default.

`<name>.requirements.in` says what an image is about, `<name>.requirements.txt` what that means
today, to the hash. Only the latter is ever installed from.
"""

import sys
from collections.abc import Sequence

from testbed.images.catalogue import Catalogue, Definition
from testbed.images.wheels import PLATFORM
from testbed.shell import run


def main(names: Sequence[str]) -> None:
    catalogue = Catalogue()
    for definition in map(catalogue.definition, names or catalogue.names()):
        if definition.file.with_suffix(".requirements.in").exists():
            _lock(definition)


def _lock(definition: Definition) -> None:
    omissions = [part for name in definition.unneeded_wheels for part in ("--no-emit-package", name)]
    run(
        # From its own directory, so that no path of this machine gets into the file.
        *("env", f"--chdir={definition.file.parent}", sys.executable, "-m", "uv", "pip", "compile"),
        *("--quiet", "--generate-hashes", "--no-header", "--only-binary", ":all:"),
        *("--python-version", definition.python, "--python-platform", PLATFORM, *omissions),
        *(f"{definition.name}.requirements.in", "--output-file", f"{definition.name}.requirements.txt"),
        timeout=600,
    )


if __name__ == "__main__":
    main(sys.argv[1:])
