"""The service account of a pod, as the kubelet mounts it."""

import os
from pathlib import Path

from kubedl.kube.kubeconfig import CredentialsError

SERVICE_ACCOUNT = Path("/var/run/secrets/kubernetes.io/serviceaccount")


def server_of_pod() -> str:
    """Return the address of the API server as pods know it; empty outside a pod."""
    host, port = os.environ.get("KUBERNETES_SERVICE_HOST", ""), os.environ.get("KUBERNETES_SERVICE_PORT", "443")
    address = f"[{host}]" if ":" in host else host
    return f"https://{address}:{port}" if host else ""


def read_token(path: Path) -> str:
    """Return the token in a file; raises CredentialsError if there is none."""
    try:
        value = path.read_text().strip()
    except (OSError, ValueError) as error:
        raise CredentialsError(f"cannot read the token: {error}") from error
    if not value:
        raise CredentialsError(f"the token file {path} is empty")
    return value
