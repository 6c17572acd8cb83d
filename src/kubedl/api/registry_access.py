"""How a pod of ours reaches a registry: its password, the authority that vouches for it, and proxies on the way.

The packer pushes models and the loader fetches them; what the one can reach, the other can. Secrets are named and
mounted, so the operator reads none.
"""

import posixpath
from collections.abc import Mapping
from typing import Any

DEFAULT_SECRET = "regcred"  # noqa: S105 - a name; where the first KubeDL looked for credentials
CERTIFICATES = "ca.crt"  # the file below where the authority's volume is mounted
NO_PROXIES: Mapping[str, str] = {}

Body = dict[str, Any]


def credentials(name: str, secret: str, *, optional: bool) -> Body:
    """A volume with the file of a Secret for registries, of either type: .dockerconfigjson or .dockercfg."""
    return {"name": name, "secret": {"secretName": secret, "defaultMode": 0o444, "optional": optional}}


def authority(name: str, secret: str) -> Body:
    """A volume with CERTIFICATES."""
    source = {"secretName": secret, "items": [{"key": "ca.crt", "path": CERTIFICATES}], "defaultMode": 0o444}
    return {"name": name, "secret": source}


def variables(proxies: Mapping[str, str], authority_path: str = "") -> dict[str, str]:
    """What every program understands: proxies, and where the authority's volume is mounted, if there is one."""
    trusted = {"SSL_CERT_FILE": posixpath.join(authority_path, CERTIFICATES)} if authority_path else {}
    return {**proxies, **trusted}


def environment(values: Mapping[str, str]) -> list[Body]:
    """As a container has it; Kubernetes would put the value of another variable in the place of $(NAME)."""
    return [{"name": name, "value": text.replace("$", "$$")} for name, text in values.items()]
