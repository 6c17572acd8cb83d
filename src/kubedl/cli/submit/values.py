"""Values of flags as parts of a manifest. A value that cannot be read is an error of use: nothing is sent."""

import os
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import click

if TYPE_CHECKING:
    from kubedl.cli.submit.flags import JobFlags

_EFFECTS = ("NoSchedule", "PreferNoSchedule", "NoExecute")
LONGEST = 10_000  # characters of a value

Part = dict[str, Any]


def given(**parts: object) -> Part:
    """Return the parts that have a value."""
    return {name: value for name, value in parts.items() if value is not None}


def labels(flags: "JobFlags", annotations: Sequence[str] | None = None) -> Part:
    """Return labels and annotations of a job; of its pods, with annotations of their own."""
    chosen = flags.annotation if annotations is None else annotations
    found = {"labels": pairs("--label", flags.label), "annotations": pairs("--annotation", chosen)}
    return {name: value for name, value in found.items() if value}


def pairs(flag: str, values: Sequence[str]) -> dict[str, str]:
    """Return NAME=VALUE flags as a mapping."""
    found: dict[str, str] = {}
    for value in values:
        name, equals, text = value.partition("=")
        if not equals or not name:
            raise wrong(flag, value, "NAME=VALUE")
        found[name] = text
    return found


def variables(values: Sequence[str]) -> list[Part]:
    """Return --env flags as environment variables."""
    found = []
    for value in values:
        name, equals, text = value.partition("=")
        if not name:
            raise wrong("--env", value, "NAME=VALUE")
        if not equals:
            if name not in os.environ:
                raise click.UsageError(f"--env {name}: the shell has no such variable\nnext  --env {name}=VALUE")
            text = os.environ[name]
        if text.startswith("secret:"):
            secret, slash, key = text.removeprefix("secret:").partition("/")
            if not slash or not secret or not key:
                raise wrong("--env", value, "NAME=secret:SECRET/KEY")
            found.append({"name": name, "valueFrom": {"secretKeyRef": {"name": secret, "key": key}}})
        else:
            found.append({"name": name, "value": text})
    return found


def tolerations(values: Sequence[str]) -> list[Part]:
    """Return --toleration flags: all, KEY, KEY=VALUE, KEY=VALUE:EFFECT, with ,OPERATOR as Arena writes it."""
    return [_toleration(value) for value in values]


def _toleration(value: str) -> Part:
    if value == "all":
        return {"operator": "Exists"}
    text, _, operator = value.partition(",")
    text, _, effect = text.partition(":")
    key, equals, wanted = text.partition("=")
    operator = operator or ("Equal" if equals else "Exists")
    if not key or operator not in ("Equal", "Exists") or (effect and effect not in _EFFECTS):
        raise wrong(
            "--toleration", value, f"KEY, KEY=VALUE or KEY=VALUE:EFFECT with an effect of {', '.join(_EFFECTS)}"
        )
    found = {"key": key, "operator": operator}
    if operator == "Equal":
        found["value"] = wanted
    return found | ({"effect": effect} if effect else {})


def mounts(data: Sequence[str], data_dir: Sequence[str]) -> tuple[list[Part], list[Part]]:
    """Return volumes and their mounts: claims by --data, directories of nodes by --data-dir."""
    volumes: dict[str, Part] = {}
    mounted: list[Part] = []
    for value in data:
        source, _, rest = value.partition(":")
        path, _, mode = rest.partition(":")
        claim, _, part = source.partition("/")
        if not claim or not path.startswith("/") or mode not in ("", "ro"):
            raise wrong("--data", value, "CLAIM:/path, CLAIM/directory:/path, and :ro after either")
        volume = volumes.setdefault(
            f"claim {claim}", {"name": f"data-{len(volumes)}", "persistentVolumeClaim": {"claimName": claim}}
        )
        mount = {"name": volume["name"], "mountPath": path}
        mounted.append(mount | ({"subPath": part} if part else {}) | ({"readOnly": True} if mode else {}))
    for value in data_dir:
        host, _, path = value.partition(":")
        if not host.startswith("/") or not (path or host).startswith("/"):
            raise wrong("--data-dir", value, "/directory/of/the/node:/path")
        volume = volumes.setdefault(f"host {host}", {"name": f"data-{len(volumes)}", "hostPath": {"path": host}})
        mounted.append({"name": volume["name"], "mountPath": path or host})
    return list(volumes.values()), mounted


def model_storage(value: str) -> Part:
    """Return the storage of a model: CLAIM[/path], or Arena's pvc://NAMESPACE/CLAIM/path."""
    text = value
    if "://" in value:
        if not value.startswith("pvc://"):
            raise click.UsageError(
                f"--model-storage {value}: storage is a volume\nnext  --model-storage CLAIM/path of this namespace"
            )
        text = value.removeprefix("pvc://").partition("/")[2]
    claim, _, path = text.partition("/")
    if not claim:
        raise wrong("--model-storage", value, "CLAIM or CLAIM/path")
    return {"claim": {"claimName": claim} | ({"subPath": path} if path else {})}


def wrong(flag: str, value: str, form: str) -> click.UsageError:
    """Return the error about a value that has another form."""
    return click.UsageError(f"{flag} {value[:200]} is not understood\nnext  {flag} {form}")
