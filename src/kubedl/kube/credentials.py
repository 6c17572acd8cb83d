"""Where the API server is and who we are: from a kubeconfig file or from inside a pod.

A token that lives in a file is read again, because the kubelet replaces it: at latest after a minute, and at once when
the server no longer knows it.
"""

import asyncio
import base64
import os
import ssl
import subprocess
import tempfile
import time
from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path

import yaml

from kubedl.wire import codec
from kubedl.wire.meta import Record

SERVICE_ACCOUNT = Path("/var/run/secrets/kubernetes.io/serviceaccount")
REREAD_AFTER = 60.0
LOOK_AGAIN = 5.0  # seconds, after a new token could not be had


class CredentialsError(Exception):
    """We cannot know the server or ourselves; the text says what is missing where."""


class Token:
    """A bearer token that is fetched anew when it may have changed."""

    def __init__(self, fetch: Callable[[], tuple[str, float]], clock: Callable[[], float] = time.monotonic) -> None:
        self._fetch = fetch
        self._clock = clock
        self._value = ""
        self._stale_at = float("-inf")
        self._fetching = asyncio.Lock()

    async def value(self) -> str:
        """The current token. Fetching may run a command, so it does not hold up the loop and happens once for all."""
        if self._clock() >= self._stale_at:
            async with self._fetching:
                if self._clock() >= self._stale_at:
                    await self._renew()
        return self._value

    def refused(self) -> None:
        """The server does not know it: fetch anew at the next use."""
        self._stale_at = float("-inf")

    async def _renew(self) -> None:
        try:
            self._value, lifetime = await asyncio.to_thread(self._fetch)
        except CredentialsError:
            if not self._value:
                raise
            lifetime = LOOK_AGAIN  # the server may take the old one still
        self._stale_at = self._clock() + lifetime


@dataclass(frozen=True)
class Credentials:
    """Enough to open connections."""

    server: str
    tls: ssl.SSLContext | None
    token: Token | None = None
    namespace: str = "default"


def load(kubeconfig: str | None) -> Credentials:
    """From the file named, else from the pod we run in, else from $KUBECONFIG or ~/.kube/config."""
    if kubeconfig:
        return from_kubeconfig(Path(kubeconfig))
    if "KUBERNETES_SERVICE_HOST" in os.environ:
        return in_cluster()
    named = os.environ.get("KUBECONFIG", "").split(os.pathsep)[0]
    return from_kubeconfig(Path(named) if named else Path.home() / ".kube" / "config")


def in_cluster(directory: Path = SERVICE_ACCOUNT) -> Credentials:
    """As a pod's service account."""
    host, port = os.environ.get("KUBERNETES_SERVICE_HOST", ""), os.environ.get("KUBERNETES_SERVICE_PORT", "443")
    if not host:
        raise CredentialsError("not in a pod: KUBERNETES_SERVICE_HOST is not set")
    address = f"[{host}]" if ":" in host else host
    try:
        namespace = (directory / "namespace").read_text().strip()
        tls = ssl.create_default_context(cafile=str(directory / "ca.crt"))
    except OSError as error:
        raise CredentialsError(f"the pod's service account is not mounted: {error}") from error
    return Credentials(f"https://{address}:{port}", tls, _token_from_file(directory / "token"), namespace)


def from_kubeconfig(path: Path) -> Credentials:
    """As the current context of a kubeconfig says."""
    try:
        config = yaml.safe_load(path.read_text())
    except (OSError, yaml.YAMLError) as error:
        raise CredentialsError(f"kubeconfig {path}: {error}") from error
    if not isinstance(config, dict):
        raise CredentialsError(f"kubeconfig {path}: not a mapping")
    context = _named(config, "contexts", "context", config.get("current-context"), path)
    cluster = _named(config, "clusters", "cluster", context.get("cluster"), path)
    user = _named(config, "users", "user", context.get("user"), path)
    server = str(cluster.get("server", "")).rstrip("/")
    if not server:
        raise CredentialsError(f"kubeconfig {path}: cluster {context.get('cluster')!r} has no server")
    try:
        tls = _tls(cluster, user, path.parent) if server.startswith("https:") else None
    except (OSError, ValueError) as error:  # not there, not base64, not a certificate
        raise CredentialsError(f"kubeconfig {path}: certificates: {error}") from error
    return Credentials(server, tls, _token(user, path.parent), str(context.get("namespace") or "default"))


def _named(config: dict[str, object], plural: str, singular: str, name: object, path: Path) -> dict[str, object]:
    entries = config.get(plural)
    known = {
        entry.get("name"): entry[singular]
        for entry in (entries if isinstance(entries, list) else [])
        if isinstance(entry, dict) and isinstance(entry.get(singular), dict)
    }
    if name not in known:
        there = ", ".join(map(str, known)) or "none"
        asked = f"there is no {singular} named {name!r}" if name else f"no {singular} is chosen"
        raise CredentialsError(f"kubeconfig {path}: {asked}; there are: {there}")
    found: dict[str, object] = known[name]
    return found


def _tls(cluster: dict[str, object], user: dict[str, object], base: Path) -> ssl.SSLContext:
    authority = _content(cluster, "certificate-authority", base)
    tls = ssl.create_default_context(cadata=authority.decode() if authority else None)
    if cluster.get("insecure-skip-tls-verify"):
        tls.check_hostname, tls.verify_mode = False, ssl.CERT_NONE
    certificate, key = _content(user, "client-certificate", base), _content(user, "client-key", base)
    if (certificate is None) != (key is None):
        raise ValueError("a client certificate and its key go together")
    if certificate and key:
        # The ssl module takes client certificates from files only.
        with tempfile.NamedTemporaryFile() as pair:
            pair.write(certificate + b"\n" + key)
            pair.flush()
            tls.load_cert_chain(pair.name)
    return tls


def _content(entry: dict[str, object], name: str, base: Path) -> bytes | None:
    if inline := entry.get(f"{name}-data"):
        return base64.b64decode("".join(str(inline).split()), validate=True)
    if file := entry.get(name):
        return (base / str(file)).read_bytes()
    return None


def _token(user: dict[str, object], base: Path) -> Token | None:
    if value := user.get("token"):
        text = str(value)
        return Token(lambda: (text, float("inf")))
    if file := user.get("tokenFile"):
        return _token_from_file(base / str(file))
    if program := user.get("exec"):
        try:
            command = codec.decode(codec.encode(program), _Command)
        except codec.MalformedError as error:
            raise CredentialsError(f"the kubeconfig's command cannot be run: {error}") from error
        return Token(lambda: _token_from_command(command, base))
    return None


def _token_from_file(path: Path) -> Token:
    def read() -> tuple[str, float]:
        try:
            value = path.read_text().strip()
        except (OSError, ValueError) as error:
            raise CredentialsError(f"the token cannot be read: {error}") from error
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
    # A path is meant from the file that names it, a bare name from $PATH.
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
        raise CredentialsError(f"the kubeconfig's command {program!r} gave no token: {said or error}") from error
    except (OSError, subprocess.SubprocessError, *codec.UNREADABLE) as error:
        raise CredentialsError(f"the kubeconfig's command {program!r} gave no token: {error}") from error
    if not status.token:
        raise CredentialsError(f"the kubeconfig's command {program!r} gave no token (certificates are not supported)")
    if status.expiration_timestamp is None:
        return status.token, float("inf")
    return status.token, max(0.0, status.expiration_timestamp.timestamp() - time.time() - 10)
