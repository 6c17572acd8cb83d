"""Carries the difference between two manifests over to a third one. Pure.

Flags describe a manifest from nothing. To change a job by flags, it is described twice, with and without them, and
what differs is changed in the job; all that the flags say nothing about stays as it is.
"""

from collections.abc import Iterable
from typing import Any

Part = dict[str, Any]
# By which items of a list are told apart.
KEYS = {
    "containers": "name",
    "env": "name",
    "imagePullSecrets": "name",
    "ports": "name",
    "volumes": "name",
    "volumeMounts": "mountPath",
}
WHOLE = ("tolerations",)  # of which items are told apart by all that they have


def carry_over(target: Part, without: Part, with_: Part) -> None:
    """Change a manifest by what two others differ in."""
    for name in dict.fromkeys([*without, *with_]):
        before, after = without.get(name), with_.get(name)
        if before == after:
            continue
        if isinstance(before or after, dict):
            inner = target.setdefault(name, {})
            carry_over(inner, before or {}, after or {})
            if not inner:
                del target[name]
        elif name in KEYS or name in WHOLE:
            items = _items(name, target.get(name) or [], before or [], after or [])
            target.update({name: items} if items else {})
            if not items:
                target.pop(name, None)
        elif after is None:
            target.pop(name, None)
        else:
            target[name] = after


def _items(name: str, target: list[Part], before: list[Part], after: list[Part]) -> list[Part]:
    """Return the items of a list: those of the target, changed, removed and added to."""
    items = dict(_by_key(name, target))
    old, new = dict(_by_key(name, before)), dict(_by_key(name, after))
    for key in old:
        if key not in new:
            items.pop(key, None)
    for key, item in new.items():
        if name == "containers" and key in items:
            carry_over(items[key], old.get(key, {}), item)
        elif old.get(key) != item:
            items[key] = item
    return list(items.values())


def _by_key(name: str, items: Iterable[Part]) -> Iterable[tuple[str, Part]]:
    for item in items:
        yield (str(sorted(item.items())) if name in WHOLE else str(item.get(KEYS[name]))), item
