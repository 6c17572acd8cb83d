"""Every flag of Arena is kept, renamed with a hint, or refused with the reason. The names are those of its source."""

import json
from pathlib import Path
from typing import Any

import click
import pytest
import yaml

from kubedl.cli.commands.submit import command as submit
from kubedl.cli.settings import global_options
from kubedl.cli.submit import arena
from kubedl.entrypoints import command
from tests.unit.cli.conftest import Run

FLAGS: dict[str, list[str]] = json.loads((Path(__file__).parent / "arena_flags.json").read_text())
BASE = ("--name", "x", "--image", "i", "--dry-run=client")


def _known(word: str) -> set[str]:
    kind = submit.get_command(click.Context(submit), word)
    assert kind is not None
    return {name for parameter in kind.params for name in parameter.opts}


def _file(word: str) -> set[str]:
    return {f"--{name}" for name in FLAGS[word]}


KINDS = {
    "submit_tfjob": "tf",
    "submit_pytorchjob": "pytorch",
    "submit_mpijob": "mpi",
    "submit_horovodjob": "mpi",
    "submit_etjob": "mpi",
    "submit_deepspeedjob": "mpi",
}


@pytest.mark.parametrize("file", KINDS)
def test_every_flag_of_a_kind_is_kept_renamed_or_refused(file: str) -> None:
    known = _known(KINDS[file])
    for flag in _file(file) | _file("submit") | _file("submit_sync_code") | _file("submit_tensorboard"):
        renamed = arena.RENAMED.get(flag, flag)
        assert renamed in known or flag in arena.REFUSED, flag


@pytest.mark.parametrize("file", ["submit_rayjob", "submit_sparkjob", "submit_volcanojob", "cron_tfjob"])
def test_flags_of_kinds_that_we_do_not_have_are_refused(file: str) -> None:
    for flag in _file(file) - _known("tf"):
        assert flag in arena.REFUSED, flag


def test_global_flags() -> None:
    known = {name for option in global_options() for name in option.opts}
    for flag in _file("root"):
        assert flag in known or flag in arena.GLOBALS or flag in arena.OF_ARENA


def test_nothing_is_renamed_to_a_flag_that_does_not_exist() -> None:
    all_known = set().union(*(_known(word) for word in ("tf", "pytorch", "mpi")))
    assert set(arena.RENAMED.values()) <= all_known
    assert not set(arena.RENAMED) & set(arena.REFUSED)


@pytest.mark.parametrize("flag", arena.REFUSED)
def test_a_refusal_has_a_reason_and_a_next_step(run: Run, flag: str) -> None:
    word = "mpi" if flag in _known("tf") else "tf"
    answer = run("submit", word, *BASE, flag, "1")
    assert answer.code == 2
    assert answer.err == f"error: {flag}: {arena.REFUSED[flag].why}\n  next  {arena.REFUSED[flag].step}\n"


@pytest.mark.parametrize("word", ["rayjob", "spark", "vj"])
def test_kinds_that_we_do_not_have(run: Run, word: str) -> None:
    answer = run("submit", word, *BASE)
    assert answer.code == 2
    assert answer.err.startswith(f"error: submit {word} has no kind here\n  next  there is no ")


def test_a_renamed_flag_works_and_is_hinted_at_once(run: Run) -> None:
    answer = run(
        *("submit", "tfjob", *BASE, "--ps=1", "--psCpu=2", "--workerMemory", "4Gi", "--hostNetwork", "true"),
        *("--hostIPC=false", "--syncMode", "git", "--syncSource", "https://git.example/a", "python x.py"),
    )
    assert answer.code == 0
    assert answer.err == (
        "hint: --psCpu is now --ps-cpu, --workerMemory is now --worker-memory, --hostNetwork is now --host-network, "
        "--hostIPC is now --host-ipc, --syncMode is now --sync-mode, --syncSource is now --sync-source (both work)\n"
    )
    spec: dict[str, Any] = yaml.safe_load(answer.out)["spec"]
    assert spec["networkMode"] == "Host"
    servers = spec["tfReplicaSpecs"]["PS"]["template"]["spec"]
    assert "hostIPC" not in servers
    assert servers["containers"][0]["resources"] == {"requests": {"cpu": "2"}}


def test_words_of_the_command_are_left_alone(run: Run) -> None:
    answer = run("submit", "pytorch", *BASE, "--", "prog", "--syncMode", "--jar")
    assert (answer.code, answer.err) == (0, "")
    master = yaml.safe_load(answer.out)["spec"]["pytorchReplicaSpecs"]["Master"]["template"]["spec"]
    assert master["containers"][0]["command"] == ["prog", "--syncMode", "--jar"]


def test_global_flags_before_the_command(capsys: pytest.CaptureFixture[str]) -> None:
    assert command.main(["--loglevel", "info", "submit", "pytorch", *BASE]) == 0
    assert capsys.readouterr().err == "hint: --loglevel is now --debug (both work)\n"
    assert command.main(["--config", "f", "submit", "pytorch", *BASE]) == 0
    assert command.main(["submit", "pytorch", *BASE, "--trace"]) == 2
    assert "error: --trace: it is about Arena itself\n" in capsys.readouterr().err
