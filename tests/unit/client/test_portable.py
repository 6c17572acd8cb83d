"""Functions as source: what goes along, and what is refused by name before anything is sent."""

import io
import json
import math
import os.path
import subprocess
import sys
import threading
import zipfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from kubedl.client import CodeTooLarge, FunctionNotPortable, KubedlError
from kubedl.client.code_archive import files_of, pack_directory, pack_function
from kubedl.client.portable import source_of
from tests.unit.client import api_server

FACTOR = 3
TABLE = {"a": [1, 2]}
LOCK = threading.Lock()
HANDLE = io.BytesIO(b"x")


class Settings:
    """A class that goes along."""

    factor = FACTOR


def helper(number: int) -> int:
    return math.floor(number * Settings.factor) + len(TABLE["a"])


def train(epochs: int, scale: int = 1) -> dict[str, int]:
    import os

    return {"value": helper(epochs) * scale, "rank": int(os.environ.get("RANK", "0"))}


def _run(archive: bytes, place: Path) -> Any:  # noqa: ANN401
    file, result = place / "code.pyz", place / "result.json"
    file.write_bytes(archive)
    done = subprocess.run(
        [sys.executable, "-I", str(file)],
        env={"KUBEDL_RESULT": str(result), "PATH": "/usr/bin:/bin"},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return json.loads(result.read_text()) if result.exists() else done.stdout


def test_a_function_runs_without_its_module(tmp_path: Path) -> None:
    assert _run(pack_function(train, {"epochs": 4, "scale": 2}), tmp_path) == {"value": 28, "rank": 0}


def test_the_same_code_makes_the_same_archive() -> None:
    assert pack_function(train, {"epochs": 1}) == pack_function(train, {"epochs": 1})
    assert pack_function(train, {"epochs": 1}) != pack_function(train, {"epochs": 2})


def test_a_function_of_a_function_may_use_constants_of_it(tmp_path: Path) -> None:
    bound = 7

    def inner() -> int:
        return bound

    assert _run(pack_function(inner), tmp_path) == 7


def uses_lock() -> None:
    LOCK.acquire()


def uses_handle() -> bytes:
    return HANDLE.read()


def uses_local_module() -> object:
    return api_server.GROUP


def uses_through_helper() -> None:
    uses_lock()


def generator() -> Iterator[int]:
    yield 1


async def coroutine() -> None:
    pass


class Trainer:
    def train(self) -> None:
        pass


def uses_missing() -> None:
    not_there()  # type: ignore[name-defined]  # noqa: F821


NESTED: Any = [object()]
LOOP: list[Any] = []
LOOP.append(LOOP)


def uses_nested() -> object:
    return NESTED


def uses_loop() -> object:
    return LOOP


@pytest.mark.parametrize(
    ("func", "culprit"),
    [
        (uses_lock, "LOCK"),
        (uses_handle, "HANDLE"),
        (uses_local_module, "api_server"),
        (uses_through_helper, "LOCK"),
        (generator, "generator"),
        (coroutine, "coroutine"),
        (Trainer.train, "Trainer.train"),
        (Trainer().train, "train"),
        (lambda: 1, "lambda"),
        (uses_missing, "not_there"),
        (uses_nested, "NESTED"),
        (uses_loop, "LOOP"),
        (len, "len"),
    ],
)
def test_what_cannot_be_sent_is_named(func: Callable[..., object], culprit: str) -> None:
    with pytest.raises(FunctionNotPortable, match=culprit) as raised:
        pack_function(func)
    assert raised.value.next


def test_arguments_must_be_json() -> None:
    with pytest.raises(FunctionNotPortable, match="args must be JSON"):
        pack_function(train, {"epochs": object()})


def test_a_local_module_may_be_used_if_its_directory_is_shipped() -> None:
    assert "import tests.unit.client.api_server as api_server" in source_of(uses_local_module, with_code=True)


def test_imports_keep_their_names() -> None:
    assert "import math as math" in source_of(train)
    assert f"import {os.path.__name__}" not in source_of(train)


class TestDirectory:
    """A directory and a command."""

    def test_a_command_runs_in_a_copy(self, tmp_path: Path) -> None:
        code, place = tmp_path / "code", tmp_path / "place"
        code.mkdir()
        place.mkdir()
        (code / "util.py").write_text("WORD = 'hello'\n")
        (code / "main.py").write_text("import sys, util; print(util.WORD, *sys.argv[1:])\n")
        archive = pack_directory(code, [sys.executable, "main.py", "$HOME", "`id`"])
        assert _run(archive, place) == "hello $HOME `id`\n"

    def test_ignored_files_and_keys_stay_here(self, tmp_path: Path) -> None:
        subprocess.run(["git", "init", "-q", str(tmp_path)], check=True)
        for name in ("train.py", "big.bin", ".env", "server.pem", "id_rsa"):
            (tmp_path / name).write_text("x")
        (tmp_path / ".gitignore").write_text("*.bin\n")
        assert files_of(tmp_path) == ([".gitignore", "train.py"], [".env", "id_rsa", "server.pem"])

    def test_without_git_all_files_are_sent(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        """Many images have none."""
        (tmp_path / "train.py").write_text("")
        monkeypatch.setenv("PATH", str(tmp_path))
        assert files_of(tmp_path) == (["train.py"], [])

    def test_a_file_that_cannot_be_read_is_named(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        def refused(_: Path) -> bytes:
            raise PermissionError(13, "Permission denied")

        (tmp_path / "root.db").write_text("")
        monkeypatch.setattr(Path, "read_bytes", refused)
        with pytest.raises(KubedlError, match=r"cannot read .*root\.db") as raised:
            pack_directory(tmp_path, ["true"])
        assert raised.value.why == "Permission denied"

    def test_a_link_to_a_key_elsewhere_is_not_followed(self, tmp_path: Path) -> None:
        """A checkout may come from anybody, and what it links to is this person's."""
        code, home = tmp_path / "code", tmp_path / "home"
        code.mkdir()
        (home / ".kube").mkdir(parents=True)
        for name, target in {"a.txt": ".kube/config", "b.txt": "id_rsa", "util.py": "util.py"}.items():
            (home / target).write_text("x")
            (code / name).symlink_to(home / target)
        assert files_of(code) == (["util.py"], ["a.txt", "b.txt"])

    def test_too_much(self, tmp_path: Path) -> None:
        (tmp_path / "weights").write_bytes(os.urandom(2**20))
        with pytest.raises(CodeTooLarge, match="KiB packed") as raised:
            pack_directory(tmp_path, ["true"])
        assert len(raised.value.next) == 3

    def test_the_archive_is_a_zip(self, tmp_path: Path) -> None:
        (tmp_path / "a.py").write_text("")
        names = zipfile.ZipFile(io.BytesIO(pack_directory(tmp_path, ["true"]))).namelist()
        assert names == ["__main__.py", "files/a.py", "order.json"]
