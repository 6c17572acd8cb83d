"""The command that an installed KubeDL has."""

import importlib
import tomllib
from collections.abc import Callable, Sequence
from pathlib import Path

import pytest

from kubedl.entrypoints import command
from kubedl.models.pack_protocol import ORDER_VARIABLE, PERMANENT

ROOT = Path(__file__).parents[3]


def kubedl() -> Callable[[Sequence[str]], int]:
    """What the declaration of the command leads to."""
    declared = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["scripts"]["kubedl"]
    module, _, name = declared.partition(":")
    found: Callable[[Sequence[str]], int] = getattr(importlib.import_module(module), name)
    return found


@pytest.mark.parametrize("process", command.PROCESSES)
def test_each_process_answers_to_its_name(process: str, capsys: pytest.CaptureFixture[str]) -> None:
    """And says itself how it is used."""
    with pytest.raises(SystemExit, match="0"):
        kubedl()([process, "--help"])
    assert capsys.readouterr().out.startswith(f"usage: kubedl {process} ")


def test_arguments_and_exit_code_are_the_process_s_own(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("kubedl.entrypoints.packer.signal.signal", lambda *_: None)
    monkeypatch.setenv(ORDER_VARIABLE, "no order")
    assert kubedl()(["packer", "--termination-log", str(tmp_path / "log")]) == PERMANENT
    assert b"BadOrder" in (tmp_path / "log").read_bytes()


def test_without_arguments_it_says_what_there_is(capsys: pytest.CaptureFixture[str]) -> None:
    assert kubedl()([]) == 0
    assert capsys.readouterr().out.startswith("Usage: kubedl COMMAND ...")


def test_a_name_that_is_none_is_refused(capsys: pytest.CaptureFixture[str]) -> None:
    assert kubedl()(["train"]) == 2
    assert capsys.readouterr().err.startswith("error: no such command: train")


@pytest.mark.parametrize(("process", "extra"), [("operator", "operator"), ("recorder", "operator,history")])
def test_a_process_without_its_packages_says_what_to_install(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], process: str, extra: str
) -> None:
    def lacking(name: str) -> object:
        raise ModuleNotFoundError(f"No module named 'structlog' for {name}", name="structlog")

    monkeypatch.setattr("kubedl.entrypoints.command.importlib.import_module", lacking)
    assert command.main([process]) == 1
    error = capsys.readouterr().err
    assert error.splitlines()[0] == f"error: kubedl {process} cannot start here"
    assert f"pip install 'kubedl[{extra}]'" in error
