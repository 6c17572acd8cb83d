"""Server address and credentials, from a kubeconfig file or from the pod's service account.

Tokens and certificates in files are rotated while the process runs. They are read again every minute, and at once after
a 401 or a failed TLS handshake.
"""

import os
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from kubedl.kube import exec_plugin, kubeconfig
from kubedl.kube.certificates import TLSConfig
from kubedl.kube.exec_plugin import Plugin
from kubedl.kube.kubeconfig import CURRENT, Access, Choice, CredentialsError, Entry
from kubedl.kube.service_account import SERVICE_ACCOUNT, read_token, server_of_pod
from kubedl.kube.tls import Certificates
from kubedl.kube.token_refresh import REREAD_AFTER, Token

UNSUPPORTED: kubeconfig.Unsupported = {
    "cluster": ("proxy-url",),
    "user": ("auth-provider", "as", "as-uid", "as-groups", "as-user-extra"),
}


@dataclass(frozen=True)
class Credentials:
    """The address of the API server, and credentials for it."""

    server: str
    tls: TLSConfig | None
    token: Token | None = None
    namespace: str = "default"

    @property
    def renewable(self) -> bool:
        """Return whether a retry after a 401 with reloaded credentials makes sense."""
        return self.token is not None or self.tls is not None

    def without_identity(self) -> "Credentials":
        """Return the address of the server and the trust in it, without token and client certificate."""
        return replace(self, tls=self.tls.without_identity() if self.tls is not None else None, token=None)

    def with_token(self, value: str) -> "Credentials":
        """Return credentials that prove the owner of a token, and nobody else."""
        return replace(self.without_identity(), token=Token(lambda: (value, float("inf"))))

    def refused(self) -> None:
        """Reload token and certificates at the next use, after a 401."""
        if self.token is not None:
            self.token.refused()
        if self.tls is not None:
            self.tls.suspect()


def load(file: str | None, choice: Choice = CURRENT) -> Credentials:
    """Load from the given file, else from the pod's service account, else from $KUBECONFIG or ~/.kube/config.

    A choice, for example of a context, means a kubeconfig.
    """
    if file:
        return from_kubeconfig(Path(file), choice=choice)
    if "KUBERNETES_SERVICE_HOST" in os.environ and choice == CURRENT:
        return in_cluster()
    return from_kubeconfig(*kubeconfig.default_paths(), choice=choice)


def in_cluster(directory: Path = SERVICE_ACCOUNT) -> Credentials:
    """Load the pod's service account."""
    server = server_of_pod()
    if not server:
        raise CredentialsError("not in a pod: KUBERNETES_SERVICE_HOST is not set")
    try:
        namespace = (directory / "namespace").read_text().strip()
        tls = TLSConfig(lambda: Certificates((directory / "ca.crt").read_bytes()))
    except OSError as error:
        raise CredentialsError(f"the service account of the pod is not mounted: {error}") from error
    return Credentials(server, tls, _token_from_file(directory / "token"), namespace)


def from_kubeconfig(*paths: Path, choice: Choice = CURRENT) -> Credentials:
    """Load a context, by default the current one, of one or more merged kubeconfig files."""
    access = kubeconfig.read(paths, UNSUPPORTED, choice)
    try:
        tls = _tls(paths, access, choice) if access.server.startswith("https:") else None
    except (OSError, ValueError) as error:  # missing, not base64, or not a certificate
        raise CredentialsError(f"kubeconfig {os.pathsep.join(map(str, paths))}: certificates: {error}") from error
    return Credentials(access.server, tls, _token(paths, access.user, choice), access.namespace)


def _tls(paths: Sequence[Path], access: Access, choice: Choice) -> TLSConfig:
    """Read the certificates again: they are rotated in the referenced files or in the kubeconfig itself."""
    return TLSConfig(
        lambda: kubeconfig.read(paths, UNSUPPORTED, choice).certificates(),
        access.cluster.text("tls-server-name") or None,
    )


def _token(paths: Sequence[Path], user: Entry, choice: Choice) -> Token | None:
    if file := user.text("tokenFile"):  # before a token, as kubectl does: the file is rotated
        return _token_from_file(user.directory / file, user.text("token"))
    if user.text("token"):
        return Token(lambda: _token_in_kubeconfig(paths, choice))
    if plugin := exec_plugin.plugin_of(user):
        return Token(lambda: _token_from_plugin(plugin, user))
    return None


def _token_in_kubeconfig(paths: Sequence[Path], choice: Choice) -> tuple[str, float]:
    return kubeconfig.read(paths, UNSUPPORTED, choice).user.text("token"), REREAD_AFTER


def _token_from_file(path: Path, otherwise: str = "") -> Token:
    def fetch() -> tuple[str, float]:
        try:
            return read_token(path), REREAD_AFTER
        except CredentialsError:
            if not otherwise:
                raise
            return otherwise, REREAD_AFTER

    return Token(fetch)


def _token_from_plugin(plugin: Plugin, user: Entry) -> tuple[str, float]:
    status = exec_plugin.run(plugin, user)
    if not status.token:
        raise CredentialsError(
            f"the credential command {plugin.command!r} of the kubeconfig returned no token (client certificates are "
            "not supported)"
        )
    return status.token, status.lifetime
