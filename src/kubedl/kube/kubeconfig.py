"""Kubeconfig files, merged like kubectl does: the first file that has an entry, or a current context, wins.

Unsupported settings are rejected by name, never ignored: ignoring a proxy or an impersonation would send requests by
another route, or as another user.
"""

import base64
import os
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import yaml

from kubedl.kube.certificates import Certificates

UNSUPPORTED_CLUSTER = ("proxy-url",)
UNSUPPORTED_USER = ("auth-provider", "as", "as-uid", "as-groups", "as-user-extra")


class KubeconfigError(ValueError):
    """The kubeconfig is incomplete or invalid; the message says where."""


@dataclass(frozen=True)
class Entry:
    """A context, cluster or user, with the directory of its file for relative paths."""

    values: dict[str, Any] = field(repr=False)
    directory: Path

    def text(self, name: str) -> str:
        """Return an optional field."""
        return str(self.values.get(name) or "")

    def content(self, name: str) -> bytes | None:
        """Return the content of a file field: inline or referenced."""
        if inline := self.text(f"{name}-data"):
            return base64.b64decode("".join(inline.split()), validate=True)
        if file := self.text(name):
            return (self.directory / file).read_bytes()
        return None


@dataclass(frozen=True)
class Access:
    """The settings of the current context."""

    server: str
    namespace: str
    cluster: Entry
    user: Entry

    def certificates(self) -> Certificates:
        """Return CA, client certificate and key; raises OSError or ValueError if they cannot be read."""
        return Certificates(
            self.cluster.content("certificate-authority"),
            self.user.content("client-certificate"),
            self.user.content("client-key"),
            verify=not self.cluster.values.get("insecure-skip-tls-verify"),
        )


def read(paths: Sequence[Path]) -> Access:
    """Load the current context. If several files are given, some may be missing."""
    named = f"kubeconfig {os.pathsep.join(map(str, paths))}"
    found = [path for path in paths if path.exists()] if len(paths) > 1 else list(paths)
    if not found:
        raise KubeconfigError(f"{named}: no such files")
    files = [(path, _load(path)) for path in found]
    context = _named(named, files, "context", _first(files, "current-context"))
    cluster = _named(named, files, "cluster", context.values.get("cluster"))
    user = _named(named, files, "user", context.values.get("user"))
    for entry, kind, refused in ((cluster, "cluster", UNSUPPORTED_CLUSTER), (user, "user", UNSUPPORTED_USER)):
        for name in refused:
            if entry.values.get(name):
                where = f"{kind} {context.values.get(kind)!r}"
                raise KubeconfigError(f"{named}: {where} has {name}, which is not supported")
    server = cluster.text("server").rstrip("/")
    if not server:
        raise KubeconfigError(f"{named}: cluster {context.values.get('cluster')!r} has no server")
    return Access(server, context.text("namespace") or "default", cluster, user)


def _load(path: Path) -> dict[str, Any]:
    try:
        config = yaml.safe_load(path.read_text())
    except FileNotFoundError as error:
        raise KubeconfigError(f"kubeconfig {path} does not exist; pass --kubeconfig") from error
    except (OSError, yaml.YAMLError, UnicodeDecodeError) as error:
        raise KubeconfigError(f"kubeconfig {path}: {error}") from error
    if not isinstance(config, dict):
        raise KubeconfigError(f"kubeconfig {path}: not a mapping")
    return config


def _first(files: Sequence[tuple[Path, dict[str, Any]]], name: str) -> object:
    return next((config[name] for _, config in files if config.get(name)), None)


def _named(named: str, files: Sequence[tuple[Path, dict[str, Any]]], kind: str, name: object) -> Entry:
    known: dict[object, Entry] = {}
    for path, config in files:
        entries = config.get(f"{kind}s")
        for entry in entries if isinstance(entries, list) else ():
            if isinstance(entry, dict) and isinstance(entry.get(kind), dict):
                known.setdefault(str(entry.get("name")), Entry(entry[kind], path.parent))
    if name is None or str(name) not in known:
        there = ", ".join(map(str, known)) or "none"
        asked = f"there is no {kind} named {name!r}" if name else f"no {kind} is chosen"
        raise KubeconfigError(f"{named}: {asked}; available: {there}")
    return known[str(name)]
