"""The KubeDL that was written in Go, as its last release has it: its definitions and its examples.

It comes from the Go module proxy when a test asks for it, checked by its sum, and is never part of this repository.
"""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import yaml

from testbed.go_modules import module_directory

MODULE = "github.com/alibaba/kubedl@v0.5.0"
SUM = "h1:0FW455H5hM2tWO1Gw93IIyTdO9faYDsOyDCCUAn/sXk="
GROUP = "training.kubedl.io"

Object = dict[str, Any]


def directory() -> Path:
    """Where its files are."""
    return module_directory(MODULE, SUM)


def definition(plural: str, group: str = GROUP) -> Object | None:
    """The schema of one of its kinds; None for a kind that it did not have."""
    file = directory() / "config" / "crd" / "bases" / f"{group}_{plural}.yaml"
    if not file.exists():
        return None
    [version] = yaml.load(file.read_text(), Loader=yaml.CSafeLoader)["spec"]["versions"]
    schema: Object = version["schema"]["openAPIV3Schema"]
    return schema


def examples() -> Iterator[tuple[str, Object]]:
    """Its example jobs, each with the path of its file."""
    root = directory() / "example"
    for file in sorted(root.rglob("*.yaml")):
        for document in yaml.load_all(file.read_text(), Loader=yaml.CSafeLoader):
            if document and document["apiVersion"].partition("/")[0] == GROUP:
                yield str(file.relative_to(root)), document
