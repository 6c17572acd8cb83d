"""Server address and credentials, from a kubeconfig file or from the pod's service account.

Tokens and certificates in files are rotated while the process runs. They are read again every minute, and at once after
a 401 or a failed TLS handshake.
"""

import asyncio
import os
import subprocess
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path

from kubedl.kube import codec, kubeconfig
from kubedl.kube.certificates import Certificates, TLSConfig
from kubedl.kube.kubeconfig import Access, Entry, KubeconfigError
from kubedl.kube.types.meta import Record

SERVICE_ACCOUNT = Path("/var/run/secrets/kubernetes.io/serviceaccount")
REREAD_AFTER = 60.0
LOOK_AGAIN = 5.0  # seconds, after a failed refresh


class CredentialsError(Exception):
    """Credentials are missing or invalid; the message says which."""


class Token:
    """A bearer token, refreshed when it may have changed."""

    def __init__(self, fetch: Callable[[], tuple[str, float]], clock: Callable[[], float] = time.monotonic) -> None:
        self._fetch = fetch
        self._clock = clock
        self._value = ""
        self._stale_at = float("-inf")
        self._fetching = asyncio.Lock()

    async def value(self) -> str:
        """Return the current token. A refresh may run a command, so it runs in a thread, once for all callers."""
        if self._clock() >= self._stale_at:
            async with self._fetching:
                if self._clock() >= self._stale_at:
                    await self._renew()
        return self._value

    def refused(self) -> None:
        """Refresh the token at the next use, after a 401."""
        self._stale_at = float("-inf")

    async def _renew(self) -> None:
        try:
            self._value, lifetime = await asyncio.to_thread(self._fetch)
        except CredentialsError:
            if not self._value:
                raise
            lifetime = LOOK_AGAIN  # the server may still accept the old one
        self._stale_at = self._clock() + lifetime


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

    def refused(self) -> None:
        """Reload token and certificates at the next use, after a 401."""
        if self.token is not None:
            self.token.refused()
        if self.tls is not None:
            self.tls.suspect()


def load(file: str | None) -> Credentials:
    """Load from the given file, else from the pod's service account, else from $KUBECONFIG or ~/.kube/config."""
    if file:
        return from_kubeconfig(Path(file))
    if "KUBERNETES_SERVICE_HOST" in os.environ:
        return in_cluster()
    named = [Path(path) for path in os.environ.get("KUBECONFIG", "").split(os.pathsep) if path]
    return from_kubeconfig(*(named or [Path.home() / ".kube" / "config"]))


def in_cluster(directory: Path = SERVICE_ACCOUNT) -> Credentials:
    """Load the pod's service account."""
    host, port = os.environ.get("KUBERNETES_SERVICE_HOST", ""), os.environ.get("KUBERNETES_SERVICE_PORT", "443")
    if not host:
        raise CredentialsError("not in a pod: KUBERNETES_SERVICE_HOST is not set")
    address = f"[{host}]" if ":" in host else host
    try:
        namespace = (directory / "namespace").read_text().strip()
        tls = TLSConfig(lambda: Certificates((directory / "ca.crt").read_bytes()))
    except OSError as error:
        raise CredentialsError(f"the service account of the pod is not mounted: {error}") from error
    return Credentials(f"https://{address}:{port}", tls, _token_from_file(directory / "token"), namespace)


def from_kubeconfig(*paths: Path) -> Credentials:
    """Load the current context of one or more merged kubeconfig files."""
    try:
        access = kubeconfig.read(paths)
    except KubeconfigError as error:
        raise CredentialsError(str(error)) from error
    try:
        tls = _tls(paths, access) if access.server.startswith("https:") else None
    except (OSError, ValueError) as error:  # missing, not base64, or not a certificate
        raise CredentialsError(f"kubeconfig {os.pathsep.join(map(str, paths))}: certificates: {error}") from error
    return Credentials(access.server, tls, _token(paths, access.user), access.namespace)


def _tls(paths: Sequence[Path], access: Access) -> TLSConfig:
    """Read the certificates again: they are rotated in the referenced files or in the kubeconfig itself."""
    return TLSConfig(lambda: kubeconfig.read(paths).certificates(), access.cluster.text("tls-server-name") or None)


def _token(paths: Sequence[Path], user: Entry) -> Token | None:
    if user.text("token"):
        return Token(lambda: _token_in_kubeconfig(paths))
    if file := user.text("tokenFile"):
        return _token_from_file(user.directory / file)
    if program := user.values.get("exec"):
        try:
            command = codec.decode(codec.encode(program), _Command)
        except codec.MalformedError as error:
            raise CredentialsError(f"cannot run the credential command of the kubeconfig: {error}") from error
        return Token(lambda: _token_from_command(command, user.directory))
    return None


def _token_in_kubeconfig(paths: Sequence[Path]) -> tuple[str, float]:
    try:
        return kubeconfig.read(paths).user.text("token"), REREAD_AFTER
    except KubeconfigError as error:
        raise CredentialsError(str(error)) from error


def _token_from_file(path: Path) -> Token:
    def read() -> tuple[str, float]:
        try:
            value = path.read_text().strip()
        except (OSError, ValueError) as error:
            raise CredentialsError(f"cannot read the token: {error}") from error
        if not value:
            raise CredentialsError(f"the token file {path} is empty")
        return value, REREAD_AFTER

    return Token(read)


class _Variable(Record, frozen=True):
    name: str
    value: str


class _Command(Record, frozen=True):
    command: str
    args: tuple[str, ...] | None = ()
    env: tuple[_Variable, ...] | None = ()
    api_version: str = "client.authentication.k8s.io/v1"


class _ExecStatus(Record, frozen=True):
    token: str = ""
    expiration_timestamp: datetime | None = None


class _ExecCredential(Record, frozen=True):
    status: _ExecStatus


def _token_from_command(command: _Command, directory: Path) -> tuple[str, float]:
    # A relative path is relative to the kubeconfig; a bare name is looked up in $PATH.
    program = str(directory / command.command) if os.sep in command.command else command.command
    request = {"apiVersion": command.api_version, "kind": "ExecCredential", "spec": {"interactive": False}}
    environment = {**os.environ, "KUBERNETES_EXEC_INFO": codec.encode(request).decode()}
    environment |= {variable.name: variable.value for variable in command.env or ()}
    try:
        answer = subprocess.run(
            [program, *(command.args or ())], capture_output=True, check=True, timeout=60, env=environment
        )
        status = codec.decode(answer.stdout, _ExecCredential).status
    except subprocess.CalledProcessError as error:
        said = error.stderr.decode(errors="replace").strip()[-500:]
        raise CredentialsError(
            f"the credential command {program!r} of the kubeconfig returned no token: {said or error}"
        ) from error
    except (OSError, subprocess.SubprocessError, *codec.UNREADABLE) as error:
        raise CredentialsError(
            f"the credential command {program!r} of the kubeconfig returned no token: {error}"
        ) from error
    if not status.token:
        raise CredentialsError(
            f"the credential command {program!r} of the kubeconfig returned no token (client certificates are not "
            "supported)"
        )
    if status.expiration_timestamp is None:
        return status.token, float("inf")
    return status.token, max(0.0, status.expiration_timestamp.timestamp() - time.time() - 10)
