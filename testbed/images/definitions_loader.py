"""What an image consists of, read from the files in `definitions/` and, of the product's, in `deploy/image`; its key.

The key is a hash over every file that decides what the image holds, its parent's included: equal
keys mean the same recipe, and a changed recipe can never be answered with an old image. Debian
packages are taken as the mirror has them on the day of the build; they are not part of the key.
"""

import hashlib
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from testbed.errors import TestbedError

REPOSITORY = Path(__file__).parents[2]
DEFINITIONS = (Path(__file__).parent / "definitions", REPOSITORY / "deploy" / "image")

# Raise it when the builder itself changes what the same definition yields.
BUILDER_VERSION = 1


@dataclass(frozen=True)
class User:
    """An account that the image adds and starts as."""

    name: str
    id: int


@dataclass(frozen=True)
class Definition:
    """One `<name>.toml`, with the suite and the Python version of its parent filled in."""

    name: str
    file: Path
    suite: str  # Debian release
    python: str  # that release's Python, as `3.13`
    architecture: str = "amd64"
    parent: str | None = None
    packages: tuple[str, ...] = ()
    unneeded_wheels: tuple[str, ...] = ()  # distributions that others require but the tests do not
    trims: tuple[str, ...] = ()  # globs below the root of the file system
    patches: tuple[Path, ...] = ()  # unified diffs against the root of the file system
    env: Mapping[str, str] = field(default_factory=dict)
    user: User | None = None
    entrypoint: tuple[str, ...] = ()
    shared_requirements: Path | None = None  # wheels that another part of this repository has pinned
    modules: tuple[Path, ...] = ()  # Python packages of this repository, put beside the wheels
    bill_of_materials: bool = False  # whether the image carries one

    @property
    def requirements(self) -> Path | None:
        """The pinned wheels: an image has some when this file lies beside its definition, or it names another's."""
        file = self.file.with_suffix(".requirements.txt")
        return file if file.exists() else self.shared_requirements

    @property
    def site(self) -> str:
        """Where the image's Python looks for wheels, below the root of the file system."""
        return f"usr/local/lib/python{self.python}/dist-packages"


class Catalogue:
    """All definitions of some directories."""

    def __init__(self, *directories: Path) -> None:
        found = [file for directory in directories or DEFINITIONS for file in directory.glob("*.toml")]
        files = {file.stem: file for file in sorted(found, key=lambda file: file.stem)}
        if len(files) < len(found):
            raise TestbedError(f"an image is defined twice; there are: {', '.join(sorted(map(str, found)))}")
        tables = {name: _table(file) for name, file in files.items()}
        self._definitions = {name: _definition(file, tables) for name, file in files.items()}

    def names(self) -> list[str]:
        return list(self._definitions)

    def definition(self, name: str) -> Definition:
        if name not in self._definitions:
            raise TestbedError(f"no image is called {name!r}; there are: {', '.join(self._definitions)}")
        return self._definitions[name]

    def key(self, name: str, architecture: str = "amd64") -> str:
        """The hash of everything that decides what the image holds."""
        definition = self.definition(name)
        digest = hashlib.sha256(f"builder {BUILDER_VERSION}\n".encode())
        if architecture != "amd64":
            digest.update(f"architecture {architecture}\n".encode())
        if definition.parent:
            digest.update(f"parent {self.key(definition.parent, architecture)}\n".encode())
        requirements = [definition.requirements] if definition.requirements else []
        modules = [file for package in definition.modules for file in source_files(package)]
        for file in [definition.file, *requirements, *definition.patches, *modules]:
            content = file.read_bytes()
            digest.update(f"{_named(file, definition)} {len(content)}\n".encode() + content)
        return digest.hexdigest()


def source_files(package: Path) -> list[Path]:
    """What a Python package of this repository consists of, without what Python wrote beside it."""
    files = [file for file in package.rglob("*") if file.is_file() and "__pycache__" not in file.parts]
    return sorted(files)


def _named(file: Path, definition: Definition) -> str:
    """A file of a package with its place there: the same content elsewhere is another package."""
    for package in definition.modules:
        if file.is_relative_to(package):
            return file.relative_to(package.parent).as_posix()
    return file.name


def _table(file: Path) -> dict[str, Any]:
    try:
        return tomllib.loads(file.read_text())
    except tomllib.TOMLDecodeError as error:
        raise TestbedError(f"{file.name} is not TOML: {error}; correct the definition") from error


def _definition(file: Path, tables: Mapping[str, dict[str, Any]]) -> Definition:
    given = dict(tables[file.stem])
    _check_names(file, given)
    root = given if "parent" not in given else _parent(file, given["parent"], tables)
    user = given.get("user")
    return Definition(
        name=file.stem,
        file=file,
        suite=root["suite"],
        python=root["python"],
        parent=given.get("parent"),
        packages=tuple(given.get("packages", ())),
        unneeded_wheels=tuple(given.get("unneeded_wheels", ())),
        trims=tuple(given.get("trims", ())),
        patches=tuple(file.parent / patch for patch in given.get("patches", ())),
        env=given.get("env", {}),
        user=User(**user) if user else None,
        entrypoint=tuple(given.get("entrypoint", ())),
        shared_requirements=REPOSITORY / given["requirements"] if "requirements" in given else None,
        modules=tuple(REPOSITORY / module for module in given.get("modules", ())),
        bill_of_materials=given.get("bill_of_materials", False),
    )


def _check_names(file: Path, given: Mapping[str, Any]) -> None:
    """A misspelt name would silently build another image than the one meant."""
    origin = {"parent"} if "parent" in given else {"suite", "python"}
    allowed = origin | {"packages", "unneeded_wheels", "trims", "patches", "env", "user"}
    allowed |= {"entrypoint", "requirements", "modules", "bill_of_materials"}
    if wrong := given.keys() - allowed:
        raise TestbedError(f"{file.name} has {', '.join(sorted(wrong))}; it may have: {', '.join(sorted(allowed))}")
    if missing := origin - given.keys():
        raise TestbedError(f"{file.name} needs {', '.join(sorted(missing))}, or a parent that has them")


def _parent(file: Path, name: str, tables: Mapping[str, dict[str, Any]]) -> Mapping[str, Any]:
    """A parent is a single layer: whatever builds on an image has to unpack only one."""
    if name not in tables:
        raise TestbedError(f"{file.name} builds on {name!r}, which has no definition; there are: {', '.join(tables)}")
    if "parent" in tables[name]:
        raise TestbedError(f"{file.name} builds on {name!r}, which has a parent itself; build on that one")
    return tables[name]
