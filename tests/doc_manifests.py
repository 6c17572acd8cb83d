"""The manifests that readers may copy: every YAML block of docs/, and every file of examples/.

A block that is a part says of what, in a comment before it: `<!-- part of examples/tfjob.yaml at spec -->`. It is then
put into that example, as its reader would. A block that is for another cluster than ours says why it is `not applied`.
"""

import json
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, TypeGuard

import yaml

from devtools.lint_repo import ROOT

Object = dict[str, Any]

_BLOCK = re.compile(
    r"(?:^<!-- (?P<mark>[^\n]*) -->\n)?^(?P<margin> *)```yaml[^\n]*\n(?P<text>.*?)^(?P=margin)```$",
    re.MULTILINE | re.DOTALL,
)
_PART = re.compile(r"part of (?P<example>examples/\S+)(?: at (?P<place>\S+))?")
_NOT_APPLIED = re.compile(r"not applied: (?P<reason>.{20,})")


@dataclass(frozen=True)
class Manifest:
    """Objects that belong together, and where they are written."""

    place: str
    objects: tuple[Object, ...]

    def __str__(self) -> str:
        return self.place


class MarkError(Exception):
    """A block that is neither whole nor says what it is a part of."""


def examples() -> list[Manifest]:
    """Every file."""
    files = sorted((ROOT / "examples").rglob("*.yaml"))
    return [Manifest(str(file.relative_to(ROOT)), tuple(_load(file.read_text()))) for file in files]


def blocks() -> list[Manifest]:
    """Every block that can be applied, parts as their reader would have them."""
    pages = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *sorted((ROOT / "docs").rglob("*.md"))]
    return [block for page in pages for block in of_page(str(page.relative_to(ROOT)), page.read_text())]


def of_page(name: str, page: str) -> Iterator[Manifest]:
    """Those of one page."""
    for found in _BLOCK.finditer(page):
        place = f"{name}:{page.count(chr(10), 0, found.start('text'))}"
        mark = found["mark"] or ""
        if _NOT_APPLIED.fullmatch(mark):
            continue
        if part := _PART.fullmatch(mark):
            whole = _load((ROOT / part["example"]).read_text())
            put(whole[-1], (part["place"] or "").split("."), yaml.safe_load(found["text"]))
            yield Manifest(place, tuple(whole))
            continue
        objects = _load(found["text"])
        if not all(isinstance(one, dict) and {"apiVersion", "kind", "metadata"} <= one.keys() for one in objects):
            raise MarkError(f"{place}: no whole object; write before it of what it is a part, or why it is not applied")
        yield Manifest(place, tuple(objects))


def put(whole: Object, path: list[str], part: Object) -> None:
    """Put a part where it belongs; an item of a list is found by its name."""
    place: Any = whole
    for step in filter(None, path):
        if isinstance(place, list):
            place = next(item for item in place if item["name"] == step)
        else:
            place = place.setdefault(step, {})
    place.update(_merged(place, part))


def _merged(old: object, new: object) -> object:
    if isinstance(old, Mapping) and isinstance(new, Mapping):
        return {**old, **{key: _merged(old.get(key), value) for key, value in new.items()}}
    if _named(old) and _named(new):
        found = {item["name"]: item for item in old}
        found |= {item["name"]: _merged(found.get(item["name"]), item) for item in new}
        return list(found.values())
    return new


def _named(value: object) -> TypeGuard[list[Object]]:
    return isinstance(value, list) and all(isinstance(item, dict) and "name" in item for item in value)


def _load(text: str) -> list[Any]:
    # Through JSON, since an anchor is one object under several names, and a part may go into one of them.
    return [json.loads(json.dumps(one)) for one in yaml.load_all(text, Loader=yaml.CSafeLoader) if one]
