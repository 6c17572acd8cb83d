"""Registry access of pods: credentials, CA certificates and proxies.

The packer pushes models and the loader pulls them, with the same settings. Secrets are mounted by name, so the operator
reads none.
"""

import posixpath
from collections.abc import Iterable, Mapping
from typing import Any

from kubedl.kube.bounded_regex import BoundedPattern

DEFAULT_SECRET = "regcred"  # noqa: S105 - a name, the default of KubeDL 0.5
CERTIFICATES = "ca.crt"  # file name in the volume of CA certificates
NO_PROXIES: Mapping[str, str] = {}
SECRET_NAME = BoundedPattern(r"[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*", 253)

Body = dict[str, Any]


def credentials(name: str, secret: str, *, optional: bool) -> Body:
    """Return a volume with the file of a registry Secret, of either type: .dockerconfigjson or .dockercfg."""
    return {"name": name, "secret": {"secretName": secret, "defaultMode": 0o444, "optional": optional}}


def authority(name: str, secret: str) -> Body:
    """Return a volume with CERTIFICATES."""
    source = {"secretName": secret, "items": [{"key": "ca.crt", "path": CERTIFICATES}], "defaultMode": 0o444}
    return {"name": name, "secret": source}


def variables(proxies: Mapping[str, str], authority_path: str = "") -> dict[str, str]:
    """Return standard environment variables: proxies, and the path of the CA certificates, if any."""
    trusted = {"SSL_CERT_FILE": posixpath.join(authority_path, CERTIFICATES)} if authority_path else {}
    return {**proxies, **trusted}


def environment(values: Mapping[str, str]) -> list[Body]:
    """Return the entry of a container's `env`; $(NAME) is escaped, as Kubernetes would expand it."""
    return [{"name": name, "value": text.replace("$", "$$")} for name, text in values.items()]


def parse_pull_secrets(text: str) -> tuple[str, ...]:
    """Parse a comma-separated list; raises ValueError for a text that is not the name of a Secret."""
    names = tuple(dict.fromkeys(one.strip() for one in text.split(",") if one.strip()))
    for name in names:
        if not SECRET_NAME.fullmatch(name):
            raise ValueError(f"{name!r} is not the name of a Secret")
    return names


def pull_secrets(known: Iterable[Body], further: Iterable[str]) -> list[Body]:
    """Return `imagePullSecrets` with further names, each once. Kubelets ignore a Secret that is missing."""
    made = list(known)
    for name in further:
        if all(one.get("name") != name for one in made):
            made.append({"name": name})
    return made
