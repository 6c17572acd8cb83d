"""Hands terminals and forwarded ports over to kubectl, which speaks their protocols, with the same cluster and user."""

import os
import shutil
import subprocess
import sys
from collections.abc import Sequence

import click

from kubedl.cli.settings import Settings
from kubedl.client import KubedlError, NotFound

PASSED_ON = ("namespace", "context", "kubeconfig", "cluster", "user", "as", "server")  # flags of kubectl too


def running_pods(settings: Settings, name: str, replica: str | None) -> list[str]:
    """Return the pods of a job that run, or the one that is asked for; raises NotFound if there is none."""
    with settings.client() as client:
        job = client.get_job(name)
        replicas = client.get_job_pods(job)
    asked = replica or name.rpartition("/")[2]
    chosen = [one for one in replicas if one.has_name(asked)] or ([] if replica else replicas)
    running = [one.pod_name for one in chosen if one.state == "Running"]
    if not running:
        which = f"{job.name} {replica}" if replica else job.name
        raise NotFound(f"no replica of {which} runs", job.message, (f"kubedl get {job.name}",))
    return running


def run_in(settings: Settings, pod: str, container: str, words: Sequence[str], *, tty: bool) -> int:
    """Run a command in a pod, and return its exit code."""
    where = ["-c", container] if container else []
    return _kubectl(settings, ["exec", pod, "-i", *(["-t"] if tty else []), *where, "--", *words])


def forward(settings: Settings, target: str, port: int, local: int) -> int:
    """Forward a port until Ctrl-C. kubectl takes the place of this process, so that whoever ends one ends the other."""
    click.echo(f"http://localhost:{local} until Ctrl-C", err=True)
    command = _command(settings, ["port-forward", target, f"{local}:{port}"])
    sys.stdout.flush()
    os.execv(command[0], command)  # noqa: S606 - no shell


def _kubectl(settings: Settings, words: Sequence[str]) -> int:
    try:
        code = subprocess.run(_command(settings, words), check=False).returncode
        return code if code >= 0 else 128 - code
    except KeyboardInterrupt:
        return 130


def _command(settings: Settings, words: Sequence[str]) -> list[str]:
    """Return the command of kubectl for the same cluster and user: those of flags, else those of the settings."""
    program = shutil.which("kubectl")
    if program is None:
        raise KubedlError("kubectl is not installed", "terminals and ports are handed over to it", ("install kubectl",))
    if settings.token is not None:
        raise KubedlError("--token would be visible to others", "kubectl takes it as an argument", ("a kubeconfig",))
    flags = [f"--{key}={value}" for key in PASSED_ON if (value := settings.chosen(key))]
    flags += [f"--as-group={group}" for group in settings.as_group]
    return [program, *flags, *words]
