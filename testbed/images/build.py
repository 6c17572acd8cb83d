"""One image, from its definition to an OCI layout.

An image adds one layer: the difference between its parent's file system (or nothing) and that
file system after packages, wheels, trims and patches. Every step works on the same tree, so none
has to know which of the others came before.
"""

import shutil
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from testbed.errors import TestbedError
from testbed.images.bom import PLACE, bill
from testbed.images.debian import add_user, install_packages
from testbed.images.definitions_loader import Definition
from testbed.images.layers import write_layer
from testbed.images.layout import blob, blobs, container_config, share_layers, write_layout
from testbed.images.sandbox import run_isolated
from testbed.images.tree_diff import changes, snapshot
from testbed.images.wheels import compile_directory, compile_modules, install_wheels
from testbed.shell import run

Report = Callable[[str], None]


def build(definition: Definition, parent: Path | None, scratch: Path, report: Report) -> Path:
    """Build the image in an empty directory and return its layout there."""
    layout, tree = scratch / "layout", scratch / "tree"
    tree.mkdir()
    layers = []
    if parent:
        with _timed(f"{definition.name}: unpacking {definition.parent}", report):
            layers = share_layers(parent, layout)
            for layer in layers:
                run_isolated("tar", "--zstd", "-xpf", str(blob(layout, layer)), "--numeric-owner", "-C", str(tree))
    before = snapshot(tree)
    _fill(tree, definition, report)
    with _timed(f"{definition.name}: packing", report):
        layers.append(write_layer(blobs(layout), tree, changes(tree, before)))
    settings = container_settings(definition, container_config(parent) if parent else {})
    write_layout(layout, layers, settings, definition.architecture)
    if definition.bill_of_materials:
        shutil.copyfile(tree / PLACE, layout / Path(PLACE).name)
    return layout


def container_settings(definition: Definition, inherited: Mapping[str, Any]) -> dict[str, Any]:
    """A container starts with the parent's settings, except where the definition has its own."""
    config = dict(inherited)
    variables = dict(entry.split("=", 1) for entry in inherited.get("Env", []))
    variables |= definition.env
    config["Env"] = [f"{name}={value}" for name, value in variables.items()]
    if definition.user:
        config["User"] = f"{definition.user.id}:{definition.user.id}"
    if definition.entrypoint:
        config["Entrypoint"] = list(definition.entrypoint)
    return config


def _fill(tree: Path, definition: Definition, report: Report) -> None:
    """Turn the parent's file system into the image's."""
    name = definition.name
    if definition.packages:
        with _timed(f"{name}: Debian packages", report):
            install_packages(tree, definition.suite, definition.packages, definition.architecture)
    if definition.requirements:
        with _timed(f"{name}: wheels", report):
            install_wheels(tree, definition, definition.requirements)
    for module in definition.modules:
        ignored = shutil.ignore_patterns("__pycache__")
        shutil.copytree(module, tree / definition.site / module.name, ignore=ignored)
    if definition.bill_of_materials:
        (tree / PLACE).parent.mkdir(parents=True)
        (tree / PLACE).write_text(bill(tree, definition))
    for pattern in definition.trims:
        _remove(tree, pattern)
    patched = [file for patch in definition.patches for file in _patch(tree, patch)]
    if definition.requirements or patched:
        with _timed(f"{name}: bytecode", report):
            if definition.requirements:
                compile_directory(tree, definition.site)
            compile_modules(tree, patched)
    if definition.user:
        add_user(tree, definition.user)


def _remove(tree: Path, pattern: str) -> None:
    for path in list(tree.glob(pattern)):
        if path.is_dir() and not path.is_symlink():
            shutil.rmtree(path)
        else:
            path.unlink(missing_ok=True)


def _patch(tree: Path, patch: Path) -> list[str]:
    """Apply a unified diff without tolerance; returns the Python files it changes."""
    try:
        run(
            "patch",
            "--batch",
            "--forward",
            "--fuzz=0",
            "--strip=1",
            f"--directory={tree}",
            f"--input={patch}",
        )
    except TestbedError as error:
        advice = "the package has changed, so see whether it still needs the patch"
        raise TestbedError(f"{patch.name} does not apply; {advice}: {error}") from error
    targets = [line.split()[1] for line in patch.read_text().splitlines() if line.startswith("+++ ")]
    return [target.partition("/")[2] for target in targets if target.endswith(".py")]


@contextmanager
def _timed(step: str, report: Report) -> Iterator[None]:
    began = time.monotonic()
    yield
    report(f"{step}: {time.monotonic() - began:.0f} s")
