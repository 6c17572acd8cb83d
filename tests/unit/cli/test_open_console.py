"""`kubedl open` without a name: the console on this machine."""

import subprocess
from typing import Any

import pytest

from kubedl.cli import local_console
from kubedl.cli.main import main
from kubedl.cli.settings import Settings


@pytest.fixture
def started(monkeypatch: pytest.MonkeyPatch) -> list[list[str]]:
    """Return the command lines of the processes that a command starts."""
    lines: list[list[str]] = []

    def run(words: list[str], **_: Any) -> "subprocess.CompletedProcess[str]":  # noqa: ANN401
        lines.append(words)
        return subprocess.CompletedProcess(words, 0)

    monkeypatch.setattr("kubedl.cli.local_console.subprocess.run", run)
    return lines


def test_it_starts_a_process_of_its_own_on_loopback(started: list[list[str]]) -> None:
    """With the kubeconfig, context and namespace of the command."""
    assert main(["open", "--kubeconfig", "k", "--context", "prod", "-n", "nlp"]) == 0
    assert started[0][1:] == [
        "-m",
        "kubedl.entrypoints.command",
        "console",
        "--mode=local",
        "--address=127.0.0.1:0",
        "--log-format=console",
        "--log-level=warning",
        "--kubeconfig=k",
        "--context=prod",
        "--namespace=nlp",
        "--browser",
    ]


def test_no_secret_is_in_the_command_line(started: list[list[str]], capsys: pytest.CaptureFixture[str]) -> None:
    """Other users of the machine see it; so a token is refused, and what cannot be passed on is named."""
    assert main(["open", "--token", "secret", "--as", "root"]) == 1
    assert started == []
    said = capsys.readouterr().err
    assert "--as, --token" in said
    assert "secret" not in said


def test_settings_count_as_flags(started: list[list[str]], monkeypatch: pytest.MonkeyPatch) -> None:
    """The console must not be that of another cluster, or of another user."""
    monkeypatch.setenv("KUBEDL_CONTEXT", "prod")
    assert main(["open"]) == 0
    assert "--context=prod" in started[0]
    monkeypatch.setenv("KUBEDL_USER", "root")
    assert main(["open"]) == 1
    assert len(started) == 1


def test_missing_packages_are_named(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    """With the command that installs them."""
    monkeypatch.setattr("kubedl.cli.local_console.importlib.util.find_spec", lambda _: None)
    assert main(["open"]) == 1
    assert "pip install 'kubedl[console]'" in capsys.readouterr().err


def test_a_port_needs_a_job(capsys: pytest.CaptureFixture[str]) -> None:
    """It is a port of a replica."""
    assert main(["open", "--port", "80"]) == 2
    assert "kubedl open JOB" in capsys.readouterr().err


def test_a_fixed_port_without_a_browser() -> None:
    """For a machine without one."""
    words = local_console.command(Settings(), 8443, browser=False)
    assert "--address=127.0.0.1:8443" in words
    assert "--browser" not in words
