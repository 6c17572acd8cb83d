"""The images of this machine: built when first asked for, pushed where they are needed."""

import shutil
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from testbed.errors import TestbedError
from testbed.images.archive import write_archive
from testbed.images.build import Report, build
from testbed.images.cache import build_once
from testbed.images.definitions_loader import DEFINITIONS, Catalogue
from testbed.images.layers import write_layer
from testbed.images.layout import blobs, write_layout
from testbed.images.registry import push_layout
from testbed.images.tree_diff import changes

_REPOSITORIES = "kubedl-test"


class Images:
    """The defined images, and what a test packs itself; building needs root.

    `cache` is shared by all processes of a user; each step of a build is reported in a line.
    """

    def __init__(self, cache: Path, report: Report = print, definitions: Sequence[Path] = DEFINITIONS) -> None:
        self._directory = cache / "images"
        self._report = report
        self._catalogue = Catalogue(*definitions)

    def names(self) -> list[str]:
        """The defined images."""
        return self._catalogue.names()

    def ensure(self, name: str, architecture: str = "amd64") -> Path:
        """The OCI layout of a defined image, built if it is missing; another architecture needs qemu-user-static."""
        definition = replace(self._catalogue.definition(name), architecture=architecture)
        parent = self.ensure(definition.parent, architecture) if definition.parent else None
        key = self._catalogue.key(name, architecture)
        return build_once(self._directory, name, key, lambda scratch: build(definition, parent, scratch, self._report))

    def push(self, name: str, registry: str) -> str:
        """Build a defined image if needed, push it if needed, and return its reference."""
        layout = self.ensure(name)
        reference = f"{registry}/{_REPOSITORIES}/{name}:{self._catalogue.key(name)[:12]}"
        push_layout(layout, reference)
        return reference

    def export(self, name: str, archive: Path, reference: str) -> None:
        """Write a defined image into a file that containerd can load under this name."""
        write_archive({"amd64": self.ensure(name)}, archive, reference)

    def push_directory(self, path: Path, name: str, tag: str, registry: str) -> str:
        """Push a directory as an image to mount, with nothing to start, and return its reference."""
        if not path.is_dir():
            raise TestbedError(f"{path} is not a directory; an image volume is made from one")
        reference = f"{registry}/{_REPOSITORIES}/{name}:{tag}"
        _push_tree(path, {}, reference)
        return reference

    def push_binary(self, path: Path, reference: str) -> None:
        """Push a static program as an image that holds and starts nothing else."""
        with tempfile.TemporaryDirectory() as directory:
            program = Path(directory) / path.name
            shutil.copyfile(path, program)
            program.chmod(0o755)
            _push_tree(Path(directory), {"Entrypoint": [f"/{path.name}"]}, reference)


def _push_tree(tree: Path, config: Mapping[str, Any], reference: str) -> None:
    with tempfile.TemporaryDirectory() as directory:
        layout = Path(directory)
        layer = write_layer(blobs(layout), tree, changes(tree, {}), public=True)
        write_layout(layout, [layer], config)
        push_layout(layout, reference)
