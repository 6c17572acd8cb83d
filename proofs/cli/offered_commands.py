"""Runs the commands that `kubedl why` offers as they are printed, and sees whether what they change helps."""

import os
import re
import subprocess
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from devtools.lint_repo import ROOT
from testbed import tools
from testbed.cluster import Cluster
from testbed.errors import DeadlineError
from testbed.waiting import until

LONGEST, HELPS = 120.0, 120.0  # seconds: of a command, and until what it changed has helped
# For the user to fill in, as in the synopsis of a manual; and what prints, since simulated nodes have no kubelet.
NOT_RUN = re.compile(r"\b(NAME|USER|PASSWORD|FILE)\b|^(kubedl|kubectl) logs ")
CHANGES = ("kubedl resume ", "kubectl create ", "kubectl label ", "kubectl patch ", "kubectl uncordon ")


@dataclass(frozen=True)
class Offer:
    """A command that was offered for an object with this cause."""

    rule: str
    namespace: str
    command: str
    cause: Callable[[], str]  # of the object now
    is_played: bool = False  # a test wrote the kubelet's words: they stay, whatever is changed

    @property
    def changes(self) -> bool:
        """Whether it changes something that a component then sees: the others show something, or write a file."""
        return self.command.startswith(CHANGES) and not self.is_played


def fresh_process(home: Path) -> dict[str, str]:
    """The environment of a `kubedl` of this checkout that keeps what it caches in a directory."""
    return {
        **os.environ,
        "PYTHONPATH": str(ROOT / "src"),
        "PYTHONPYCACHEPREFIX": str(home / "pyc"),
        "PYTHONDONTWRITEBYTECODE": "",
        "XDG_CACHE_HOME": str(home / "cache"),
    }


@dataclass(frozen=True)
class Shell:
    """A user's shell: `kubedl` and `kubectl` are on the PATH, and the current namespace is in the kubeconfig."""

    cluster: Cluster
    home: Path

    def run(self, offer: Offer) -> "subprocess.CompletedProcess[str]":
        """Run a command in the namespace of its object; an editor changes nothing."""
        environment = {
            **fresh_process(self.home),
            "PATH": f"{self._programs()}:{os.environ['PATH']}",
            "KUBECONFIG": str(self._kubeconfig(offer.namespace)),
            "EDITOR": "true",
        }
        return subprocess.run(
            ["bash", "-c", offer.command],
            cwd=self.home,
            env=environment,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=LONGEST,
            check=False,
        )

    def _programs(self) -> Path:
        directory = self.home / "bin"
        if not directory.exists():
            directory.mkdir()
            (directory / "kubectl").symlink_to(tools.binary("kubectl"))
            (directory / "kubedl").write_text(f'#!/bin/sh\nexec {sys.executable} -m kubedl.entrypoints.command "$@"\n')
            (directory / "kubedl").chmod(0o755)
        return directory

    def _kubeconfig(self, namespace: str) -> Path:
        file = self.home / f"{namespace}.kubeconfig"
        if not file.exists():
            file.write_text(self.cluster.kubeconfig.read_text())
            change = ("config", "set-context", "--current", f"--namespace={namespace}", f"--kubeconfig={file}")
            subprocess.run([str(tools.binary("kubectl")), *change], check=True, capture_output=True)
        return file


def tried(shell: Shell, offers: Sequence[Offer]) -> dict[str, int]:
    """Run them all, first those that only show something; returns how many there were, and what became of them."""
    failed = blocked = 0
    offers = [offer for offer in offers if not NOT_RUN.search(offer.command)]
    for offer in sorted(offers, key=lambda one: one.changes):
        done = shell.run(offer)
        failed += done.returncode != 0
        end = "" if done.returncode == 0 else f": {done.returncode}: {done.stderr.strip()[-300:]}"
        if offer.changes and not _helped(offer):
            blocked += 1
            end += ": the cause is the same"
        print(f"{offer.rule:22} {offer.command}{end}", flush=True)
    return {
        "commands run": len(offers),
        "commands that fail": failed,
        "commands that change something": sum(offer.changes for offer in offers),
        "still blocked": blocked,
    }


def _helped(offer: Offer) -> bool:
    try:
        return until("the cause to be another", lambda: offer.cause() != offer.rule, deadline=HELPS, interval=1)
    except DeadlineError:
        return False
