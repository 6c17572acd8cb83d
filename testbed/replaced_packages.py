"""Builds a program without some packages of its modules: in their place are small ones with the same names.

A large program brings clients for services that no test has, and they take longest to compile. The directive
`//testbed:replaced MODULE PACKAGE` in a tool's go.mod names a package. Of its module, which comes from the module proxy
like all others, a copy is made for the build, in which the files of that package are those of the tool's directory
`replaced/`, under the last part of the package's name.
"""

import json
import re
import shutil
from pathlib import Path

from testbed.shell import run


def replaced(go_mod: str) -> list[tuple[str, str]]:
    """Return the modules and their packages that a go.mod names."""
    return re.findall(r"^//testbed:replaced (\S+) (\S+)$", go_mod, re.MULTILINE)


def sources(tool: Path) -> list[Path]:
    """Return the files that take the place of others."""
    return sorted((tool / "replaced").glob("*/*.go"))


def module_file(tool: Path, scratch: Path) -> Path | None:
    """Write the changed modules to `scratch`; returns the go.mod that names them, or None if all are as they were."""
    text = (tool / "go.mod").read_text()
    packages = replaced(text)
    if not packages:
        return None
    lines = []
    for number, module in enumerate(sorted({module for module, _ in packages})):
        copy = scratch / str(number)
        shutil.copytree(_downloaded(tool, module), copy)
        run("chmod", "-R", "u+w", str(copy))  # the files of the module cache are read-only
        for name in (name for of, name in packages if of == module):
            _replace(copy / name, tool / "replaced" / Path(name).name)
        lines.append(f"replace {module} => {copy}\n")
    written = scratch / "go.mod"
    written.write_text(text + "".join(lines))
    shutil.copy(tool / "go.sum", scratch / "go.sum")
    return written


def _downloaded(tool: Path, module: str) -> Path:
    answer = run("go", "-C", str(tool), "mod", "download", "-json", module, timeout=600)
    return Path(json.loads(answer)["Dir"])


def _replace(package: Path, files: Path) -> None:
    for file in package.glob("*.go"):
        file.unlink()
    for file in files.glob("*.go"):
        shutil.copy(file, package / file.name)
