"""ssh between pods: a key pair that OpenSSH takes, and an agent that stands in for ssh."""

import base64
import os
import shutil
import stat
import subprocess
from pathlib import Path
from typing import Any

import pytest

from kubedl.training import auxiliary_objects, ssh
from tests.training_builders import mpi_job

JOB = mpi_job("pi").workers(1).launcher()
VIEW = JOB.kind.job(JOB.build())


def test_the_secret_belongs_to_the_job_and_cannot_be_edited() -> None:
    """Its name has a part of the job's uid, and each one that is made holds another pair."""
    first, second = (auxiliary_objects.render(JOB.kind, VIEW, ssh.key_pair(VIEW)) for _ in range(2))
    assert (first["apiVersion"], first["kind"], first["immutable"]) == ("v1", "Secret", True)
    assert (first["metadata"]["name"], first["metadata"]["namespace"]) == ("pi-ssh-uid-pi", "team")
    assert [one["uid"] for one in first["metadata"]["ownerReferences"]] == ["uid-pi"]
    assert first["metadata"]["labels"]["training.kubedl.io/job-name"] == "pi"
    assert set(first["stringData"]) == {"id_ed25519", "authorized_keys"}
    assert first["stringData"]["id_ed25519"] != second["stringData"]["id_ed25519"]


def test_the_operator_may_only_make_secrets() -> None:
    """Neither read nor list nor watch."""
    assert (ssh.GRANT.resources, ssh.GRANT.verbs) == (("secrets",), ("create",))


def test_who_is_reached_allows_commands_and_nothing_else() -> None:
    """Neither tunnels nor terminals."""
    option, algorithm, key = ssh.key_pair(VIEW).content["stringData"][ssh.PUBLIC].split()
    assert (option, algorithm) == ("restrict", "ssh-ed25519")
    assert base64.b64decode(key).startswith(b"\0\0\0\x0bssh-ed25519")


@pytest.mark.skipif(shutil.which("ssh-keygen") is None, reason="needs OpenSSH")
def test_openssh_takes_the_pair(tmp_path: Path) -> None:
    """The private half leads to the public one."""
    content = ssh.key_pair(VIEW).content["stringData"]
    path = tmp_path / "id"
    path.touch(0o600)
    path.write_text(content[ssh.PRIVATE])
    told = subprocess.run(["ssh-keygen", "-y", "-f", path], capture_output=True, text=True, check=True).stdout
    assert content[ssh.PUBLIC].split()[1:] == told.split()[:2]


class Launcher:
    """A launcher's container on this machine: the agent, with another program in the place of ssh."""

    def __init__(self, directory: Path) -> None:
        self.files, self.own, self.programs = (directory / name for name in ("files", "own", "programs"))
        for path in (self.files, self.own, self.programs):
            path.mkdir()
        pod: dict[str, Any] = {"spec": {"containers": [{"name": "mpi"}]}, "metadata": {"annotations": {}}}
        ssh.reach_out(VIEW, pod, 2222, {})
        text = pod["metadata"]["annotations"]["training.kubedl.io/ssh-agent"]
        self.agent = directory / "agent"
        self.agent.write_text(text.replace(ssh.FILES, str(self.files)).replace(ssh.OWN, str(self.own)))
        (self.files / ssh.PRIVATE).write_text("private")
        (self.files / ssh.PRIVATE).chmod(0o444)
        self._asked = directory / "asked"
        self.answers_after(3)
        self.program("sleep", "exit 0")

    def answers_after(self, tries: int) -> None:
        """A trial connection has a timeout and no input; it fails at first."""
        trial = f'cat; shift $(($# - 2)); echo "$1" >> {self._asked}; test "$(wc -l < {self._asked})" -ge {tries}; exit'
        self.program("ssh", f'case "$*" in *ConnectTimeout*) {trial} ;; esac\nprintf "%s\\n" "$@"')

    def program(self, name: str, text: str) -> None:
        path = self.programs / name
        path.write_text(f"#!/bin/sh\n{text}\n")
        path.chmod(0o755)

    def call(self, *arguments: str) -> list[str]:
        """What ssh is called with."""
        environment = {**os.environ, "PATH": f"{self.programs}:{os.environ['PATH']}"}
        command = ["/bin/sh", str(self.agent), *arguments]
        done = subprocess.run(command, env=environment, capture_output=True, text=True, check=True, timeout=60)
        return done.stdout.splitlines()

    @property
    def asked(self) -> list[str]:
        return self._asked.read_text().split()


@pytest.mark.parametrize(
    "arguments",
    [
        ("pi-worker-0", "prted", "-x"),  # Open MPI
        ("-x", "pi-worker-0", "hydra_pmi_proxy", "--control-port"),  # MPICH
        ("-q", "-x", "-l", "mpi", "-o", "Compression=no", "pi-worker-0", "hydra_bstrap_proxy"),
        ("mpi@pi-worker-0", "true"),
    ],
    ids=["host first", "an option", "options with values", "a user"],
)
def test_the_agent_waits_for_the_host_and_passes_everything_on(tmp_path: Path, arguments: tuple[str, ...]) -> None:
    """It tries until the host answers, whatever options stand before it: each try resolves the name again."""
    launcher = Launcher(tmp_path)
    called = launcher.call(*arguments)
    assert [host.removeprefix("mpi@") for host in launcher.asked] == ["pi-worker-0"] * 3
    assert called[-len(arguments) :] == list(arguments)
    assert called[:6] == ["-F", "/dev/null", "-i", str(launcher.own / ssh.PRIVATE), "-p", "2222"]


def test_the_agent_gives_ssh_a_key_that_only_its_user_reads(tmp_path: Path) -> None:
    """ssh refuses others. The next call finds it there."""
    launcher = Launcher(tmp_path)
    for _ in range(2):
        launcher.call("pi-worker-0", "true")
        copy = launcher.own / ssh.PRIVATE
        assert stat.S_IMODE(copy.stat().st_mode) == 0o600
        assert copy.read_text() == "private"
        assert list(launcher.own.iterdir()) == [copy]


def test_the_agent_does_not_wait_for_ever(tmp_path: Path) -> None:
    """ssh itself says then what is wrong with the host."""
    launcher = Launcher(tmp_path)
    launcher.answers_after(1000)
    assert launcher.call("pi-worker-9", "true")[-2:] == ["pi-worker-9", "true"]
    assert launcher.asked == ["pi-worker-9"] * 61
