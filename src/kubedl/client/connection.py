"""Opens the connection to a cluster: kubeconfig, and the proxy that the file or the environment names."""

import os
from urllib.parse import urlsplit

from kubedl.client.errors import NotSupported, Unauthorized
from kubedl.kube.kubeconfig import CredentialsError
from kubedl.kube.sync_client import OnCall, SyncClient
from kubedl.kube.sync_credentials import Overrides, load

AGENT = "kubedl-cli"  # the server takes it for the name of the field manager


def ignore_call(method: str, path: str, result: str, seconds: float) -> None:
    """Tell nobody about a request."""


def open_client(  # noqa: PLR0913 - what both clients are told
    *,
    overrides: Overrides | None,
    config_file: str | None,
    context: str | None,
    server: str | None,
    token: str | None,
    request_timeout: float,
    on_call: OnCall,
    backend: str,
    client_configuration: object,
) -> SyncClient:
    """Return a client for what the constructor of a TrainingClient was told."""
    if backend != "kubernetes":
        raise ValueError(f"backend {backend!r} is neither kubernetes nor local")
    if client_configuration is not None:
        why = "the connection is not that of the kubernetes package"
        raise NotSupported("there is no client_configuration", why, ("server=…, token=…", "config_file=…, context=…"))
    said = Overrides(kubeconfig=config_file or "", context=context or "", server=server or "", token=token or "")
    return connect(overrides or said, request_timeout, on_call)


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
