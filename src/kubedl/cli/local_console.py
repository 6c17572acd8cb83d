"""Starts the console on this machine, for the owner of the kubeconfig. A process of its own: it needs more packages."""

import importlib.util
import subprocess
import sys

from kubedl.cli.configuration import KEYS
from kubedl.cli.settings import Settings, configured
from kubedl.client import KubedlError

PACKAGES = ("aiohttp", "cryptography", "prometheus_client", "structlog")
UNSUPPORTED = {  # flags of this command line that the process does not have; most are settings too
    "cluster": "--cluster",
    "user": "--user",
    "as_user": "--as",
    "as_group": "--as-group",
    "token": "--token",
    "server": "--server",
}


def run(settings: Settings, port: int | None, *, browser: bool) -> int:
    """Run the console until Ctrl-C, and return its exit code."""
    missing = [name for name in PACKAGES if importlib.util.find_spec(name) is None]
    if missing:
        why = f"the packages of the console are not installed: {', '.join(missing)}"
        raise KubedlError("no console on this machine", why, ("pip install 'kubedl[console]'",))
    given = [flag for name, flag in UNSUPPORTED.items() if getattr(settings, name) or _is_set(flag[2:])]
    if given:
        why = f"the console does not support {', '.join(given)}"
        raise KubedlError("no console", why, ("a context of the kubeconfig, by --context",))
    try:
        return subprocess.run(command(settings, port, browser=browser), check=False).returncode
    except KeyboardInterrupt:
        return 130


def _is_set(key: str) -> bool:
    return key in KEYS and bool(configured(key))


def command(settings: Settings, port: int | None, *, browser: bool) -> list[str]:
    """Return the command line of the process."""
    words = [sys.executable, "-m", "kubedl.entrypoints.command", "console", "--mode=local"]
    words += [f"--address=127.0.0.1:{port or 0}", "--log-format=console", "--log-level=warning"]
    words += [f"--{key}={value}" for key in ("kubeconfig", "context", "namespace") if (value := settings.chosen(key))]
    return [*words, *(["--browser"] if browser else [])]
