"""The script that fetches the code, with real git and real servers on this machine."""

import os
import subprocess
import threading
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from harness.drivers.operator_process import free_port
from tests.certificates import self_signed
from tests.e2e.training.workloads.git_server import Repositories
from tests.unit.training.addons.repositories import Repository, fetch

USER, PASSWORD = "robot", "s3cret with 'signs' $(HOME)"
OLD_PROTOCOL = {"GIT_CONFIG_COUNT": "1", "GIT_CONFIG_KEY_0": "protocol.version", "GIT_CONFIG_VALUE_0": "0"}


@dataclass(frozen=True)
class Server:
    """An address, and the directory that it serves."""

    address: str
    directory: Path


@pytest.fixture
def public(tmp_path: Path) -> Iterator[Server]:
    """git:// for everybody."""
    root = tmp_path / "public"
    root.mkdir()
    port = free_port()  # none that the kernel gives to somebody else before the daemon has it
    command = ["git", "daemon", "--export-all", f"--base-path={root}", "--listen=127.0.0.1", f"--port={port}"]
    with subprocess.Popen([*command, "--reuseaddr", "--verbose"], stderr=subprocess.PIPE, text=True) as daemon:
        assert daemon.stderr is not None
        while "Ready to rumble" not in daemon.stderr.readline():
            assert daemon.poll() is None
        reader = threading.Thread(target=daemon.stderr.read, daemon=True)
        reader.start()
        yield Server(f"git://127.0.0.1:{port}", root)
        daemon.terminate()
        daemon.wait()
        reader.join(60)  # what it reads from is closed next


@pytest.fixture
def private(tmp_path: Path) -> Iterator[Server]:
    """https:// for those who know the password."""
    root = tmp_path / "private"
    root.mkdir()
    (tmp_path / "server.pem").write_text(self_signed("localhost"))
    with Repositories(str(root), ("127.0.0.1", 0), str(tmp_path / "server.pem"), (USER, PASSWORD)) as server:
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
        thread.start()
        yield Server(f"https://127.0.0.1:{server.server_port}", root)
        server.shutdown()
        thread.join()


@pytest.fixture
def secret(tmp_path: Path) -> Path:
    """A Secret as it is mounted, with the newline that people leave at the end."""
    place = tmp_path / "secret"
    place.mkdir()
    (place / "username").write_text(f"{USER}\n")
    (place / "password").write_text(PASSWORD)
    return place


def test_the_newest_commit_is_fetched_and_told(public: Server, tmp_path: Path) -> None:
    """Of the repository's own branch, and nothing of what was before; others may write to what was fetched."""
    repository = Repository.make(public.directory / "team" / "model.git")
    repository.commit("one")
    newest = repository.commit("two")
    fetched = fetch(tmp_path, repository=f"{public.address}/team/model.git")
    assert (fetched.exit_code, fetched.said, fetched.text) == (0, newest, "two")
    assert fetched.directory.name == "model"
    history = subprocess.run(
        ["git", "rev-list", "HEAD"], cwd=fetched.directory, capture_output=True, text=True, check=True
    )
    assert history.stdout.split() == [newest]
    assert fetched.directory.stat().st_mode & 0o777 == 0o777
    assert [path.name for path in fetched.directory.parent.iterdir()] == ["model"]


@pytest.mark.parametrize("chosen", ["branch", "tag", "tag as branch", "number", "short number"])
def test_what_was_asked_for_is_fetched(public: Server, tmp_path: Path, chosen: str) -> None:
    """By each of its names, though main has moved on."""
    repository = Repository.make(public.directory / "model.git")
    wanted = repository.commit("wanted", "side")
    repository.git("tag", "v1", wanted)
    repository.commit("other")
    source: dict[str, Any] = {
        "branch": {"branch": "side"},
        "tag": {"revision": "v1"},
        "tag as branch": {"branch": "v1"},
        "number": {"revision": wanted},
        "short number": {"revision": wanted[:9]},
    }[chosen]
    fetched = fetch(tmp_path, repository=f"{public.address}/model.git", **source)
    assert (fetched.exit_code, fetched.said, fetched.text) == (0, wanted, "wanted")


@pytest.mark.parametrize("environment", [{}, OLD_PROTOCOL], ids=["by its number", "the server gives no numbers"])
def test_a_pinned_commit_is_fetched_though_the_branch_has_moved(
    public: Server, tmp_path: Path, environment: dict[str, str]
) -> None:
    """A server that refuses numbers gives all of its history instead."""
    repository = Repository.make(public.directory / "model.git")
    pinned = repository.commit("pinned")
    repository.commit("moved")
    fetched = fetch(tmp_path, repository=f"{public.address}/model.git", branch="main", pinned=pinned, env=environment)
    assert (fetched.exit_code, fetched.said, fetched.text) == (0, pinned, "pinned")


def test_an_attempt_that_was_cut_off_is_no_obstacle(public: Server, tmp_path: Path) -> None:
    """A kubelet may start the container again."""
    repository = Repository.make(public.directory / "model.git")
    newest = repository.commit("one")
    (tmp_path / "code" / "model" / ".git").mkdir(parents=True)
    (tmp_path / "code" / "model" / ".git" / "index.lock").touch()
    assert fetch(tmp_path, repository=f"{public.address}/model.git").said == newest


def test_the_whole_history_is_there_for_who_asks_for_it(public: Server, tmp_path: Path) -> None:
    """depth 0."""
    repository = Repository.make(public.directory / "model.git")
    numbers = [repository.commit("one"), repository.commit("two")]
    fetched = fetch(tmp_path, repository=f"{public.address}/model.git", depth=0, destination="src/x")
    history = subprocess.run(
        ["git", "rev-list", "HEAD"], cwd=fetched.directory, capture_output=True, text=True, check=True
    )
    assert history.stdout.split() == numbers[::-1]
    assert fetched.directory == tmp_path / "code" / "src" / "x"


def test_a_submodule_comes_along_but_not_from_a_file(public: Server, tmp_path: Path) -> None:
    """What a repository refers to is as little trusted as the address itself."""
    module = Repository.make(public.directory / "module.git")
    number = module.commit("module")
    repository = Repository.make(public.directory / "model.git")
    entry = '[submodule "module"]\n\tpath = module\n\turl = {}\n'
    repository.commit("good", modules=entry.format("../module.git"), parent=number)
    fetched = fetch(tmp_path / "good", repository=f"{public.address}/model.git")
    assert (fetched.exit_code, (fetched.directory / "module" / "train.py").read_text()) == (0, "module")
    repository.commit("bad", modules=entry.format(f"file://{module.path}"), parent=number)
    fetched = fetch(tmp_path / "bad", repository=f"{public.address}/model.git")
    assert (fetched.exit_code, "transport 'file' not allowed" in fetched.said) == (1, True)


@pytest.mark.parametrize(
    ("source", "words"),
    [
        ({"branch": "nobody"}, "couldn't find remote ref refs/heads/nobody"),
        ({"revision": "0" * 40}, "the repository has no 0000"),
        ({"revision": "nothing"}, "the repository has no nothing"),
    ],
)
def test_the_last_words_say_what_is_missing(public: Server, tmp_path: Path, source: dict[str, Any], words: str) -> None:
    """They become the job's condition."""
    Repository.make(public.directory / "model.git").commit("one")
    fetched = fetch(tmp_path, repository=f"{public.address}/model.git", **source)
    assert (fetched.exit_code, words in fetched.said) == (1, True)


def test_a_repository_that_is_not_there(public: Server, tmp_path: Path) -> None:
    """As git has it."""
    fetched = fetch(tmp_path, repository=f"{public.address}/none.git")
    assert (fetched.exit_code, "access denied or repository not exported" in fetched.said) == (1, True)


def test_it_gives_up_after_so_many_failures(public: Server, tmp_path: Path) -> None:
    """Each of them leaves a line."""
    fetched = fetch(tmp_path, repository=f"{public.address}/none.git", maxFailures=2)
    assert fetched.said.count("access denied") == 2


def test_a_private_repository_opens_with_the_secret(private: Server, tmp_path: Path, secret: Path) -> None:
    """Which is nowhere in what was fetched, and in no configuration."""
    newest = Repository.make(private.directory / "model.git").commit("hidden")
    fetched = fetch(tmp_path, repository=f"{private.address}/model.git", secret=secret)
    assert (fetched.exit_code, fetched.said, fetched.text) == (0, newest, "hidden")
    left = [path.read_bytes() for path in (tmp_path / "code").rglob("*") if path.is_file()]
    assert [text for text in left if PASSWORD.encode() in text] == []


def test_without_or_with_the_wrong_secret_the_server_has_the_last_word(
    private: Server, tmp_path: Path, secret: Path
) -> None:
    """Nobody is asked at a terminal that is not there."""
    Repository.make(private.directory / "model.git").commit("hidden")
    fetched = fetch(tmp_path, repository=f"{private.address}/model.git")
    assert (fetched.exit_code, "could not read Username" in fetched.said) == (1, True)
    (secret / "password").write_text("wrong")
    fetched = fetch(tmp_path, repository=f"{private.address}/model.git", secret=secret)
    assert (fetched.exit_code, "Authentication failed" in fetched.said) == (1, True)
    (secret / "password").unlink()
    fetched = fetch(tmp_path, repository=f"{private.address}/model.git", secret=secret)
    assert (fetched.exit_code, "Secret deploy is not there, or has neither" in fetched.said) == (1, True)


def test_no_other_server_gets_the_secret(private: Server, tmp_path: Path, secret: Path) -> None:
    """A submodule elsewhere is fetched as anybody would."""
    number = Repository.make(private.directory / "module.git").commit("module")
    elsewhere = private.address.replace("127.0.0.1", "localhost")
    modules = f'[submodule "module"]\n\tpath = module\n\turl = {elsewhere}/module.git\n'
    Repository.make(private.directory / "model.git").commit("one", modules=modules, parent=number)
    fetched = fetch(tmp_path, repository=f"{private.address}/model.git", secret=secret)
    assert (fetched.exit_code, "could not read Username for 'https://localhost" in fetched.said) == (1, True)


def test_ssh_uses_the_key_of_the_secret_and_knows_its_hosts(tmp_path: Path, secret: Path) -> None:
    """A stand-in for ssh says what it was given, and does what a server would."""
    repository = Repository.make(tmp_path / "model.git")
    newest = repository.commit("over ssh")
    for path in secret.iterdir():
        path.unlink()
    (secret / "ssh-privatekey").write_text("KEY")
    (secret / "known_hosts").write_text("host key")
    programs, given = tmp_path / "programs", tmp_path / "given"
    programs.mkdir()
    (programs / "ssh").write_text(
        "#!/bin/sh\n"
        f'if test "$1" != -G; then stat -c %a "$2" >{given} && cat "$2" >>{given} && echo "$@" >>{given}; fi\n'
        "for command; do :; done\n"
        'exec sh -c "$command"\n'
    )
    (programs / "ssh").chmod(0o755)
    found_first = {"PATH": f"{programs}:{os.environ['PATH']}"}
    fetched = fetch(tmp_path, repository=f"git@127.0.0.1:{repository.path}", secret=secret, env=found_first)
    assert (fetched.exit_code, fetched.said, fetched.text) == (0, newest, "over ssh")
    mode, key, arguments = given.read_text().splitlines()
    assert (mode, key) == ("600", "KEY")
    assert f"-o UserKnownHostsFile={secret}/known_hosts" in arguments
    assert "-o StrictHostKeyChecking=yes" in arguments
