"""Credentials for the synchronous client: who calls, where the server is, and by which way.

Nothing is run or read before the first request: a kubeconfig's plugin may open a browser.
"""

import base64
import os
import threading
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from kubedl.kube import exec_plugin, kubeconfig
from kubedl.kube.kubeconfig import Access, Choice, CredentialsError, Entry
from kubedl.kube.service_account import SERVICE_ACCOUNT, read_token, server_of_pod
from kubedl.kube.tls import Certificates

if TYPE_CHECKING:
    import ssl

UNSUPPORTED: kubeconfig.Unsupported = {"cluster": (), "user": ("auth-provider", "as-user-extra")}
_TOLD = ("tls-server-name", "insecure-skip-tls-verify", "proxy-url", "disable-compression")  # to a plugin


@dataclass(frozen=True)
class Overrides:
    """What a caller says about the connection; it has precedence over the kubeconfig. Empty values do not count."""

    kubeconfig: str = ""
    context: str = ""
    cluster: str = ""
    user: str = ""
    server: str = ""
    token: str = ""
    as_user: str = ""
    as_groups: Sequence[str] = ()


class SyncCredentials:
    """The server's address and the caller's identity. Threads may share it."""

    def __init__(self, access: Access, overrides: Overrides) -> None:
        self.server = overrides.server.rstrip("/") or access.server
        self.namespace = access.namespace
        self.server_name = access.cluster.text("tls-server-name")
        self.proxy = access.cluster.text("proxy-url")
        self._access = access
        self._overrides = overrides
        self._plugin = None if overrides.token else exec_plugin.plugin_of(access.user)
        self._answer = exec_plugin.ExecStatus()
        self._good_until = float("-inf")
        self._context: ssl.SSLContext | None = None
        self._lock = threading.Lock()

    @property
    def renewable(self) -> bool:
        """Return whether other credentials may be had after a 401."""
        return self._plugin is not None

    def refused(self) -> None:
        """Run the plugin again at the next use, after a 401."""
        with self._lock:
            self._good_until, self._context = float("-inf"), None

    def headers(self) -> dict[str, str]:
        """Return the headers that say who calls."""
        with self._lock:
            token = self._token()
        user = self._access.user
        found = {"Authorization": f"Bearer {token}"} if token else {}
        if not token and user.text("username"):
            pair = f"{user.text('username')}:{user.text('password')}"
            found["Authorization"] = f"Basic {base64.b64encode(pair.encode()).decode()}"
        name = self._overrides.as_user or user.text("as")
        if name:
            found["Impersonate-User"] = name
            if uid := user.text("as-uid"):
                found["Impersonate-Uid"] = uid
        return found

    def groups(self) -> Sequence[str]:
        """Return the groups to impersonate, which are headers of one name."""
        declared = self._access.user.values.get("as-groups")
        return self._overrides.as_groups or ([str(one) for one in declared] if isinstance(declared, list) else ())

    def context(self) -> "ssl.SSLContext | None":
        """Return the SSL context; None for a server without TLS."""
        if not self.server.startswith("https:"):
            return None
        with self._lock:
            if self._plugin is not None or self._context is None:
                self._token()
            if self._context is None:
                self._context = self._certificates()
            return self._context

    def _certificates(self) -> "ssl.SSLContext":
        try:
            found = self._access.certificates()
            if self._answer.client_certificate_data:
                pair = self._answer.client_certificate_data.encode(), self._answer.client_key_data.encode()
                found = Certificates(found.authorities, *pair, verify=found.verify)
            return found.context()
        except (OSError, ValueError) as error:  # missing, not base64, or not a certificate
            raise CredentialsError(f"certificates of the kubeconfig: {error}") from error

    def _token(self) -> str:
        if self._overrides.token:
            return self._overrides.token
        user = self._access.user
        if self._plugin is not None:
            if time.monotonic() >= self._good_until:
                answer = exec_plugin.run(self._plugin, user, self._cluster_info(), person=True)
                if not answer.token and not answer.client_certificate_data:
                    raise CredentialsError(f"the credential command {self._plugin.command!r} returned no credentials")
                if answer.client_certificate_data != self._answer.client_certificate_data:
                    self._context = None  # it has the certificate before
                self._answer = answer
                self._good_until = time.monotonic() + self._answer.lifetime
            return self._answer.token
        if file := user.text("tokenFile"):
            return read_token(user.directory / file)
        return user.text("token")

    def _cluster_info(self) -> dict[str, object]:
        """Return the cluster as a plugin is told about it."""
        cluster = self._access.cluster
        authorities = cluster.content("certificate-authority")
        found: dict[str, object] = {name: cluster.values[name] for name in _TOLD if cluster.values.get(name)}
        if authorities is not None:
            found["certificate-authority-data"] = base64.b64encode(authorities).decode()
        extensions = cluster.values.get("extensions")
        for extension in extensions if isinstance(extensions, list) else ():
            if isinstance(extension, dict) and extension.get("name") == "client.authentication.k8s.io/exec":
                found["config"] = extension.get("extension")
        return found | {"server": self.server}


def load(overrides: Overrides) -> SyncCredentials:
    """Load as kubectl does: the named file, $KUBECONFIG, ~/.kube/config, and without any file the pod's account.

    Raises CredentialsError.
    """
    paths = [Path(overrides.kubeconfig)] if overrides.kubeconfig else kubeconfig.default_paths()
    choice = Choice(overrides.context, overrides.cluster, overrides.user)
    if not overrides.kubeconfig and not any(map(kubeconfig.is_there, paths)):
        if overrides.server:
            return SyncCredentials(_nothing(overrides.server), overrides)
        if server_of_pod():
            return SyncCredentials(_pod(SERVICE_ACCOUNT), overrides)
        named = os.pathsep.join(map(str, paths))
        raise CredentialsError(f"there is no kubeconfig ({named})")
    return SyncCredentials(kubeconfig.read(paths, UNSUPPORTED, choice), overrides)


def _nothing(server: str) -> Access:
    return Access(server, "default", Entry({}, Path()), Entry({}, Path()))


def _pod(directory: Path) -> Access:
    """Return the pod's account as a kubeconfig would have it."""
    try:
        namespace = (directory / "namespace").read_text().strip()
    except OSError as error:
        raise CredentialsError(f"the service account of the pod is not mounted: {error}") from error
    cluster = Entry({"certificate-authority": "ca.crt"}, directory)
    return Access(server_of_pod(), namespace, cluster, Entry({"tokenFile": "token"}, directory))
