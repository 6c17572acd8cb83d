"""Kubeconfig files, merged like kubectl does: the first file that has an entry, or a current context, wins.

Unsupported settings are rejected by name, never ignored: ignoring a proxy or an impersonation would send requests by
another route, or as another user. What is supported depends on the client that reads the file.
"""

import base64
import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import yaml

from kubedl.kube.tls import Certificates

LOADER = getattr(yaml, "CSafeLoader", yaml.SafeLoader)  # a large file takes the loader in Python twenty times as long

# Fields of clusters and users that a client does not support.
Unsupported = Mapping[str, Sequence[str]]


class CredentialsError(Exception):
    """Credentials are missing or invalid; the message says which."""


class KubeconfigError(CredentialsError, ValueError):
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
class Choice:
    """Names that have precedence over those in the files; empty ones do not count."""

    context: str = ""
    cluster: str = ""
    user: str = ""


CURRENT = Choice()


@dataclass(frozen=True)
class Access:
    """The settings of one context."""

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


def default_paths() -> list[Path]:
    """Return the files of $KUBECONFIG, or ~/.kube/config."""
    named = [Path(path) for path in os.environ.get("KUBECONFIG", "").split(os.pathsep) if path]
    return named or [Path.home() / ".kube" / "config"]


def is_there(path: Path) -> bool:
    """Return whether there is such a file. One that cannot be looked for counts: reading it says why."""
    try:
        return path.exists()
    except OSError:
        return True


def read(paths: Sequence[Path], unsupported: Unsupported, choice: Choice = CURRENT) -> Access:
    """Load the chosen context, by default the current one. If several files are given, some may be missing."""
    named = f"kubeconfig {os.pathsep.join(map(str, paths))}"
    found = [path for path in paths if is_there(path)] if len(paths) > 1 else list(paths)
    if not found:
        raise KubeconfigError(f"{named}: no such files")
    files = [(path, _load(path)) for path in found]
    context = _named(named, files, "context", choice.context or _first(files, "current-context"))
    names = {kind: getattr(choice, kind) or context.values.get(kind) for kind in ("cluster", "user")}
    cluster, user = (_named(named, files, kind, name) for kind, name in names.items())
    for entry, (kind, name) in zip((cluster, user), names.items(), strict=True):
        for setting in unsupported[kind]:
            if entry.values.get(setting):
                raise KubeconfigError(f"{named}: {kind} {name!r} has {setting}, which is not supported")
    server = cluster.text("server").rstrip("/")
    if not server:
        raise KubeconfigError(f"{named}: cluster {names['cluster']!r} has no server")
    return Access(server, context.text("namespace") or "default", cluster, user)


def _load(path: Path) -> dict[str, Any]:
    try:
        config = yaml.load(path.read_text(), LOADER)  # noqa: S506 - a safe loader
    except FileNotFoundError as error:
        raise KubeconfigError(f"kubeconfig {path} does not exist; pass --kubeconfig") from error
    except (OSError, yaml.YAMLError, UnicodeDecodeError) as error:
        raise KubeconfigError(f"kubeconfig {path}: {error}") from error
    if config is None:
        return {}  # an empty file, as kubectl takes it
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
