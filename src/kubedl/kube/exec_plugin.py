"""Credential plugins: the commands that a kubeconfig runs to log in (client.authentication.k8s.io)."""

import os
import subprocess
import sys
import time
from collections.abc import Mapping
from datetime import datetime
from typing import Any

from kubedl.kube import codec
from kubedl.kube.kubeconfig import CredentialsError, Entry
from kubedl.kube.types.meta import Record

LONGEST_RUN = 60.0  # seconds; a person at a terminal may take longer
SPARE = 10.0  # seconds before the end of a credential's life at which it is no longer used


class _Variable(Record, frozen=True):
    name: str
    value: str


class Plugin(Record, frozen=True):
    """The field `exec` of a user."""

    command: str
    args: tuple[str, ...] | None = ()
    env: tuple[_Variable, ...] | None = ()
    api_version: str = "client.authentication.k8s.io/v1"
    interactive_mode: str = "IfAvailable"
    install_hint: str = ""
    provide_cluster_info: bool = False


class ExecStatus(Record, frozen=True):
    """What a plugin answered."""

    token: str = ""
    client_certificate_data: str = ""
    client_key_data: str = ""
    expiration_timestamp: datetime | None = None

    @property
    def lifetime(self) -> float:
        """Return the seconds for which the credential may be used."""
        if self.expiration_timestamp is None:
            return float("inf")
        return max(0.0, self.expiration_timestamp.timestamp() - time.time() - SPARE)


class _ExecCredential(Record, frozen=True):
    status: ExecStatus


def plugin_of(user: Entry) -> Plugin | None:
    """Return the plugin of a user, if there is one."""
    if not (declared := user.values.get("exec")):
        return None
    try:
        return codec.decode(codec.encode(declared), Plugin)
    except codec.MalformedError as error:
        raise CredentialsError(f"cannot run the credential command of the kubeconfig: {error}") from error


def run(plugin: Plugin, user: Entry, cluster: Mapping[str, Any] | None = None, *, person: bool = False) -> ExecStatus:
    """Run a plugin. If a person is at the terminal it may ask and say things there, unless the kubeconfig forbids it.

    `cluster` is what the plugin is told about the cluster, if it asks for that.
    """
    # A relative path is relative to the kubeconfig; a bare name is looked up in $PATH.
    program = str(user.directory / plugin.command) if os.sep in plugin.command else plugin.command
    asks = person and plugin.interactive_mode != "Never" and sys.stdin is not None and sys.stdin.isatty()
    spec: dict[str, Any] = {"interactive": asks}
    if plugin.provide_cluster_info and cluster is not None:
        spec["cluster"] = cluster
    request = {"apiVersion": plugin.api_version, "kind": "ExecCredential", "spec": spec}
    environment = {**os.environ, "KUBERNETES_EXEC_INFO": codec.encode(request).decode()}
    environment |= {variable.name: variable.value for variable in plugin.env or ()}
    no_token = f"the credential command {program!r} of the kubeconfig returned no token"
    try:
        answer = subprocess.run(
            [program, *(plugin.args or ())],
            stdin=None if asks else subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=None if asks else subprocess.PIPE,
            check=True,
            timeout=None if asks else LONGEST_RUN,
            env=environment,
        )
        return codec.decode(answer.stdout, _ExecCredential).status
    except subprocess.CalledProcessError as error:
        said = (error.stderr or b"").decode(errors="replace").strip()[-500:]
        raise CredentialsError(f"{no_token}: {said or error}") from error
    except FileNotFoundError as error:
        hint = f"; {plugin.install_hint.strip()[:500]}" if plugin.install_hint else ""
        raise CredentialsError(f"{no_token}: {error}{hint}") from error
    except (OSError, subprocess.SubprocessError, *codec.UNREADABLE) as error:
        raise CredentialsError(f"{no_token}: {error}") from error
