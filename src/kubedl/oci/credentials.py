"""Registry credentials from a file in the format of `docker login`. It is read once and never logged.

The most specific entry wins: registry and repository before registry, and a plain name before a pattern such as
`*.azurecr.io`, as in the kubelet. Credential helpers do not exist in the build pod, and are rejected rather than
ignored.
"""

import base64
import fnmatch
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import msgspec

from kubedl.oci.errors import ImageError
from kubedl.oci.reference import HUB, ImageReference

FILES = (".dockerconfigjson", ".dockercfg")  # keys of a Secret that is mounted as a directory
LONGEST_PATTERN = 253  # maximum length of a host name
_HUB_KEYS = ("index.docker.io", "registry-1.docker.io", HUB)


@dataclass(frozen=True)
class RegistryCredentials:
    """User name and password, or an identity token."""

    name: str = ""
    password: str = field(default="", repr=False)
    identity_token: str = field(default="", repr=False)

    @property
    def basic(self) -> str:
        """Return the Authorization header for basic authentication."""
        return "Basic " + base64.b64encode(f"{self.name}:{self.password}".encode()).decode()


def read_credentials(file: str, address: ImageReference) -> RegistryCredentials | None:
    """Return the credentials for a repository; None if the file has none or does not exist (an optional Secret).

    In a directory, where a Secret is mounted, the key of a registry Secret is read.
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
        raise _bad(f"the credentials cannot be read ({type(error).__name__}); create the Secret again") from error
    return find_credentials(content, address)


def find_credentials(content: Mapping[str, Any], address: ImageReference) -> RegistryCredentials | None:
    """Return the credentials for a repository from the content of a file, in the old or new format."""
    entries = content.get("auths", content)
    helpers = content.get("credHelpers")
    if content.get("credsStore") or (isinstance(helpers, dict) and address.registry in helpers):
        raise _bad(
            "the credentials use a credential helper, which the build pod does not have; put the password itself "
            "into the Secret"
        )
    if not isinstance(entries, dict):
        return None
    known = {_place(key): value for key, value in entries.items() if isinstance(value, dict)}
    for place in _places(address):
        found = next((key for key in (place, *sorted(known)) if key in known and _covers(key, place)), None)
        if found is not None:
            return _login(known[found])
    return None


def _covers(key: str, place: str) -> bool:
    """Match an entry with a repository: equal, or with a pattern for parts of the host name."""
    (pattern, _, below), (host, _, path) = key.partition("/"), place.partition("/")
    parts, names = pattern.split("."), host.split(".")
    if below != path or len(parts) != len(names) or len(pattern) > LONGEST_PATTERN:
        return False
    # Equal parts first: in a pattern, the brackets of an IPv6 address stand for one character.
    return all(name == part or fnmatch.fnmatchcase(name, part) for name, part in zip(names, parts, strict=True))


def _places(address: ImageReference) -> list[str]:
    """Return the possible entries for a repository, most specific first."""
    hosts = _HUB_KEYS if address.registry == HUB else (address.registry,)
    parts = address.repository.split("/")
    paths = ["/" + "/".join(parts[:depth]) if depth else "" for depth in range(len(parts), -1, -1)]
    return [f"{host}{path}" for path in paths for host in hosts]


def _place(key: str) -> str:
    """Normalise an entry such as `https://index.docker.io/v1/`."""
    plain = key.partition("://")[2] or key
    return plain.rstrip("/").removesuffix("/v1").removesuffix("/v2")


def _login(entry: Mapping[str, Any]) -> RegistryCredentials:
    name, password = str(entry.get("username") or ""), str(entry.get("password") or "")
    if entry.get("auth") and not password:
        try:
            name, _, password = base64.b64decode(str(entry["auth"])).decode().partition(":")
        except ValueError:
            raise _bad("the credentials have an entry that is not base64; create the Secret again") from None
    return RegistryCredentials(name, password.rstrip("\0"), str(entry.get("identitytoken") or ""))


def _bad(message: str) -> ImageError:
    return ImageError("BadCredentials", message, permanent=True)
