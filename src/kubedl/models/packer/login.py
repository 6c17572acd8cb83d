"""Who we are to a registry, from a file as `docker login` writes it. It is read once and never shown.

The most specific entry counts: one for registry and repository before one for the registry alone, and a plain name
before a pattern, as in `*.azurecr.io`, which the kubelet understands as well. Helper programs
that such a file may name do not exist in the build pod, and are refused rather than passed over.
"""

import base64
import binascii
import fnmatch
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import msgspec

from kubedl.models.packer.address import HUB, Address
from kubedl.models.packer.failure import PackingError

FILES = (".dockerconfigjson", ".dockercfg")  # of a Secret that is mounted as a directory
LONGEST_PATTERN = 253  # as a host's name may be
_HUB_KEYS = ("index.docker.io", "registry-1.docker.io", HUB)


@dataclass(frozen=True)
class Login:
    """A name and a password, or a token that is given for others."""

    name: str = ""
    password: str = field(default="", repr=False)
    identity_token: str = field(default="", repr=False)

    @property
    def basic(self) -> str:
        """The header's value that says so plainly."""
        return "Basic " + base64.b64encode(f"{self.name}:{self.password}".encode()).decode()


def read_login(file: str, address: Address) -> Login | None:
    """The entry for a repository; None if the file has none, or there is no file, as where a Secret is optional.

    Of a directory, where a Secret is mounted, the file is read that a Secret for registries has.
    """
    if not file:
        return None
    path = Path(file)
    if path.is_dir():
        path = next((path / name for name in FILES if (path / name).is_file()), path / FILES[0])
    try:
        content = msgspec.json.decode(path.read_bytes(), type=dict[str, Any])
    except FileNotFoundError:
        return None
    except (OSError, msgspec.DecodeError) as error:
        raise _bad(f"the credentials cannot be read ({type(error).__name__}); make the Secret anew") from error
    return find_login(content, address)


def find_login(content: Mapping[str, Any], address: Address) -> Login | None:
    """The entry for a repository in the content of a file, old form or new."""
    entries = content.get("auths", content)
    helpers = content.get("credHelpers")
    if content.get("credsStore") or (isinstance(helpers, dict) and address.registry in helpers):
        raise _bad("the credentials name a helper program, which the build pod has not; put the password itself there")
    if not isinstance(entries, dict):
        return None
    known = {_place(key): value for key, value in entries.items() if isinstance(value, dict)}
    for place in _places(address):
        found = next((key for key in (place, *sorted(known)) if key in known and _covers(key, place)), None)
        if found is not None:
            return _login(known[found])
    return None


def _covers(key: str, place: str) -> bool:
    """Whether an entry is for a place: the same, or with a pattern for parts of the host's name, part by part."""
    (pattern, _, below), (host, _, path) = key.partition("/"), place.partition("/")
    parts, names = pattern.split("."), host.split(".")
    if below != path or len(parts) != len(names) or len(pattern) > LONGEST_PATTERN:
        return False
    return all(fnmatch.fnmatchcase(name, part) for name, part in zip(names, parts, strict=True))


def _places(address: Address) -> list[str]:
    """What may be written in the file, the most specific first."""
    hosts = _HUB_KEYS if address.registry == HUB else (address.registry,)
    parts = address.repository.split("/")
    paths = ["/" + "/".join(parts[:depth]) if depth else "" for depth in range(len(parts), -1, -1)]
    return [f"{host}{path}" for path in paths for host in hosts]


def _place(key: str) -> str:
    """As in `https://index.docker.io/v1/`."""
    plain = key.partition("://")[2] or key
    return plain.rstrip("/").removesuffix("/v1").removesuffix("/v2")


def _login(entry: Mapping[str, Any]) -> Login:
    name, password = str(entry.get("username") or ""), str(entry.get("password") or "")
    if entry.get("auth") and not password:
        try:
            name, _, password = base64.b64decode(str(entry["auth"])).decode().partition(":")
        except (binascii.Error, UnicodeDecodeError):
            raise _bad("the credentials hold an entry that is not base64; make the Secret anew") from None
    return Login(name, password.rstrip("\0"), str(entry.get("identitytoken") or ""))


def _bad(message: str) -> PackingError:
    return PackingError("BadCredentials", message, permanent=True)
