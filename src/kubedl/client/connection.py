"""Opens the connection to a cluster: kubeconfig, and the proxy that the file or the environment names."""

import os
from urllib.parse import urlsplit

from kubedl.client.errors import Unauthorized
from kubedl.kube.kubeconfig import CredentialsError
from kubedl.kube.sync_client import OnCall, SyncClient
from kubedl.kube.sync_credentials import Overrides, load

AGENT = "kubedl-cli"  # the server takes it for the name of the field manager


def connect(overrides: Overrides, timeout: float, on_call: OnCall) -> SyncClient:
    """Return a client; nothing has been sent yet. Raises Unauthorized if there is no usable kubeconfig."""
    try:
        credentials = load(overrides)
        proxy = credentials.proxy or _proxy_of_environment(credentials.server)
        return SyncClient(credentials, AGENT, timeout, proxy, on_call)
    except CredentialsError as error:
        steps = ("--kubeconfig FILE, or KUBECONFIG", "kubectl config get-contexts")
        raise Unauthorized("no cluster to talk to", str(error), steps) from error


def _proxy_of_environment(server: str) -> str:
    """Return the proxy for a server, as kubectl reads HTTPS_PROXY and NO_PROXY."""
    if not (os.environ.get("HTTPS_PROXY") or os.environ.get("https_proxy")):
        return ""
    from kubedl.oci.proxy import proxy_for  # noqa: PLC0415 - loads another HTTP client

    address = urlsplit(server)
    found = proxy_for(address.scheme, address.netloc)
    return found.geturl() if found is not None else ""
