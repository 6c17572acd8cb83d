"""A package that nothing needs is replaced by a small one: the rest of its module stays as it is."""

import subprocess
from pathlib import Path

import pytest

from testbed import replaced_packages, tools

GO_MOD = """module example.test/hello

go 1.21

//testbed:replaced example.test/library cloud/client
require example.test/library v1.0.0
"""
MAIN = """package main

import (
	"example.test/library/cloud/client"
	"example.test/library/greeting"
)

func main() { print(greeting.Word, client.Word) }
"""


@pytest.fixture
def hello(own_home: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A program with a module from which one package is replaced."""
    assert not own_home.exists()
    tool, module = tmp_path / "sources/hello", tmp_path / "cache/library"
    _write(module / "go.mod", "module example.test/library\n\ngo 1.21\n")
    _write(module / "greeting/greeting.go", 'package greeting\n\nconst Word = "hello "\n')
    _write(
        module / "cloud/client/client.go", 'package client\n\nimport _ "example.test/large"\n\nconst Word = "cloud"\n'
    )
    for path in (*module.rglob("*"), module):
        path.chmod(path.stat().st_mode & 0o555)  # as in Go's cache
    _write(tool / "go.mod", GO_MOD)
    _write(tool / "go.sum", "")
    _write(tool / "main.go", MAIN)
    _write(tool / "replaced/client/client.go", 'package client\n\nconst Word = "nobody"\n')
    monkeypatch.setattr(tools, "SOURCES", tmp_path / "sources")
    monkeypatch.setattr(replaced_packages, "_downloaded", lambda *_: module)
    return tool


def test_the_program_has_the_small_package(hello: Path) -> None:
    """It compiles although what the large one imports cannot be had, and nothing else of the build is left."""
    program = tools.binary(hello.name, lambda _: None)
    assert subprocess.run([program], capture_output=True, text=True, check=True).stderr == "hello nobody"
    assert [path.name for path in program.parent.iterdir()] == ["hello"]
    assert [path.name for path in program.parent.parent.iterdir() if path.suffix == ".partial"] == []


def test_another_replacement_is_another_program(hello: Path) -> None:
    """Else the cache would have yesterday's."""
    before = tools.load(hello).key
    _write(hello / "replaced/client/client.go", 'package client\n\nconst Word = "others"\n')
    assert tools.load(hello).key != before


def test_every_replacement_of_the_catalogue_is_used() -> None:
    """And every directive has its files."""
    for name in tools.catalogue():
        tool = tools.SOURCES / name
        wanted = {Path(package).name for _, package in replaced_packages.replaced((tool / "go.mod").read_text())}
        assert {file.parent.name for file in replaced_packages.sources(tool)} == wanted


def _write(file: Path, text: str) -> None:
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(text)
