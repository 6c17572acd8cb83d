"""Pinning the wheels of images: `python -m testbed.images.lock [NAME ...]`, all of them by default.

`<name>.requirements.in` says what an image is about, `<name>.requirements.txt` what that means
today, to the hash. Only the latter is ever installed from. It begins with the hash of the former,
so that one changed without the other is noticed.
"""

import hashlib
import sys
from collections.abc import Sequence

from testbed.images.definitions_loader import Catalogue, Definition
from testbed.images.wheels import PLATFORMS
from testbed.shell import run


def main(names: Sequence[str]) -> None:
    catalogue = Catalogue()
    for definition in map(catalogue.definition, names or catalogue.names()):
        if definition.file.with_suffix(".requirements.in").exists():
            _lock(definition)


def current(definition: Definition) -> bool:
    """Whether the pinned wheels are those of today's wishes; an image without wheels of its own has nothing to pin."""
    file = definition.requirements
    if file is None or file == definition.shared_requirements:
        return True
    return file.read_text().startswith(_mark(definition))


def _mark(definition: Definition) -> str:
    wishes = definition.file.with_suffix(".requirements.in").read_bytes()
    return f"# resolved from wishes sha256:{hashlib.sha256(wishes).hexdigest()}\n"


def _lock(definition: Definition) -> None:
    omissions = [part for name in definition.unneeded_wheels for part in ("--no-emit-package", name)]
    resolved = run(
        # From its own directory, so that no path of this machine gets into the file.
        *("env", f"--chdir={definition.file.parent}", sys.executable, "-m", "uv", "pip", "compile"),
        *("--quiet", "--generate-hashes", "--no-header", "--only-binary", ":all:"),
        *("--python-version", definition.python, "--python-platform", PLATFORMS["amd64"], *omissions),
        f"{definition.name}.requirements.in",
        timeout=600,
    )
    definition.file.with_suffix(".requirements.txt").write_text(_mark(definition) + resolved)


if __name__ == "__main__":
    main(sys.argv[1:])
