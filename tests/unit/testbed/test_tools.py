"""Programs are built once for each content of their definition, and never seen half built."""

import subprocess
import threading
from collections.abc import Callable
from pathlib import Path

import pytest

from testbed import controlplane, node, tools
from testbed.errors import TestbedError

SILENT = "package main\n\nfunc main() {}\n"
PAIR = "tool (\n\texample.test/pair/cmd/left\n\texample.test/pair/cmd/right\n)\n"


@pytest.fixture
def sources(own_home: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty catalogue, with a cache of the test's own."""
    directory = tmp_path / "sources"
    monkeypatch.setattr(tools, "SOURCES", directory)
    assert not own_home.exists()
    return directory


def define(sources: Path, name: str, go_mod: str = "", main: str = SILENT) -> Path:
    """A tool without dependencies."""
    directory = sources / name
    directory.mkdir(parents=True)
    (directory / "go.mod").write_text(f"{go_mod}\nmodule example.test/{name}\n\ngo 1.21\n")
    (directory / "main.go").write_text(main)
    return directory


def define_pair(sources: Path) -> None:
    """A tool with two programs, each of which says its name."""
    directory = define(sources, "pair", PAIR)
    for name in ("left", "right"):
        package = directory / "cmd" / name
        package.mkdir(parents=True)
        (package / "main.go").write_text(f'package main\n\nfunc main() {{ print("{name}") }}\n')


def says(program: Path) -> str:
    """What the program prints with Go's built-in `print`."""
    return subprocess.run([program], capture_output=True, text=True, check=True).stderr


def quiet(_: str) -> None:
    """For builds whose reports don't matter."""


def builds(reports: list[str]) -> list[str]:
    return [report for report in reports if report.startswith("building")]


def at_once(count: int, action: Callable[[], object]) -> None:
    """Do something in several threads at the same moment."""
    barrier = threading.Barrier(count)

    def run() -> None:
        barrier.wait(10)
        action()

    threads = [threading.Thread(target=run) for _ in range(count)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()


class TestDefinition:
    """What a directory of tools/ says."""

    @pytest.mark.parametrize("file", ["go.mod", "go.sum", "main.go", "another.go"])
    def test_key_changes_with_what_is_built(self, sources: Path, file: str) -> None:
        """The cache goes by the key: a change that it misses would run yesterday's program."""
        directory = define(sources, "hello")
        before = tools.load(directory)
        with (directory / file).open("a") as content:
            content.write("// changed\n")
        after = tools.load(directory)
        assert before.key != after.key
        assert before.directory != after.directory

    def test_key_changes_with_a_file_s_name(self, sources: Path) -> None:
        """In Go the name is content too: `main_windows.go` is not compiled here."""
        directory = define(sources, "hello")
        before = tools.load(directory).key
        (directory / "main.go").rename(directory / "main_windows.go")
        assert tools.load(directory).key != before

    def test_key_does_not_change_with_other_files(self, sources: Path) -> None:
        """A note beside the program must not cost a build of ten minutes."""
        directory = define(sources, "hello")
        before = tools.load(directory)
        (directory / "README.md").write_text("about")
        (directory / "go.work").write_text("go 1.21\n")
        assert tools.load(directory) == before

    def test_program_without_a_tool_line_is_the_directory_s_own(self, sources: Path) -> None:
        assert tools.load(define(sources, "hello")).packages == {"hello": "."}

    @pytest.mark.parametrize("line", ["tool go.example.test/server/v3\n", "tool (\n\tgo.example.test/server/v3\n)\n"])
    def test_single_program_bears_the_tool_s_name(self, sources: Path, line: str) -> None:
        """The package of etcd is called `server/v3`; nobody would look for a program `v3`."""
        assert tools.load(define(sources, "etcd", line)).packages == {"etcd": "go.example.test/server/v3"}

    def test_several_programs_bear_their_packages_names(self, sources: Path) -> None:
        expected = {"left": "example.test/pair/cmd/left", "right": "example.test/pair/cmd/right"}
        assert tools.load(define(sources, "pair", PAIR)).packages == expected

    def test_several_tool_lines_are_read_like_a_block(self, sources: Path) -> None:
        lines = "tool example.test/pair/cmd/left\ntool example.test/pair/cmd/right\n"
        expected = {"left": "example.test/pair/cmd/left", "right": "example.test/pair/cmd/right"}
        assert tools.load(define(sources, "pair", lines)).packages == expected

    def test_directives_are_read_and_comments_are_not(self, sources: Path) -> None:
        go_mod = "//testbed:tags one two\n//testbed:ldflags -X main.version=1\n// testbed:crds no\n//other:stages no\n"
        expected = {"tags": "one two", "ldflags": "-X main.version=1"}
        assert tools.load(define(sources, "hello", go_mod)).directives == expected

    def test_catalogue_holds_every_directory_with_a_go_mod(self, sources: Path) -> None:
        expected = {name: tools.load(define(sources, name)) for name in ("one", "two")}
        (sources / "notes").mkdir()
        assert tools.catalogue() == expected

    def test_each_program_of_the_real_catalogue_has_one_tool(self) -> None:
        """Two tools with the same program would take turns at being it."""
        programs = [program for tool in tools.catalogue().values() for program in tool.packages]
        assert sorted(set(programs)) == sorted(programs)
        needed = {*controlplane.PROGRAMS, *node.PROGRAMS, "kubectl", "coredns", "pause", "kwok"}
        assert needed - set(programs) == set()

    def test_unknown_program_is_refused_with_the_known_ones(self, sources: Path) -> None:
        define(sources, "hello")
        define(sources, "pair", PAIR)
        with pytest.raises(TestbedError) as error:
            tools.binaries(["hello", "kubeclt", "etcdd"])
        assert str(error.value) == "no tool builds etcdd, kubeclt; there are: hello, left, right"


class TestBuild:
    """With a real compiler, on programs that import nothing."""

    def test_program_is_built_once(self, sources: Path, own_home: Path) -> None:
        directory = define(sources, "hello", main='package main\n\nfunc main() { print("hello") }\n')
        reports: list[str] = []
        program = tools.binary("hello", reports.append)
        assert program == own_home / "tools" / f"hello-{tools.load(directory).key[:16]}" / "hello"
        assert says(program) == "hello"
        assert tools.binary("hello", reports.append) == program
        assert builds(reports) == ["building hello: hello …"]

    def test_changed_program_is_built_anew_beside_the_old_one(self, sources: Path) -> None:
        """A branch that goes back to the older version finds it still there."""
        directory = define(sources, "hello")
        before = tools.binary("hello", quiet)
        (directory / "main.go").write_text('package main\n\nfunc main() { print("changed") }\n')
        after = tools.binary("hello", quiet)
        assert (says(before), says(after)) == ("", "changed")

    def test_programs_of_one_tool_are_built_together(self, sources: Path) -> None:
        """Six programs of Kubernetes share almost all that is compiled."""
        define_pair(sources)
        reports: list[str] = []
        built = tools.binaries(["left", "right"], reports.append)
        assert {name: says(path) for name, path in built.items()} == {"left": "left", "right": "right"}
        assert builds(reports) == ["building pair: left, right …"]

    def test_only_what_is_missing_is_built(self, sources: Path) -> None:
        define_pair(sources)
        reports: list[str] = []
        left = tools.binary("left", reports.append)
        built = tools.binaries(["left", "right"], reports.append)
        assert (built["left"], says(built["right"])) == (left, "right")
        assert builds(reports) == ["building pair: left …", "building pair: right …"]

    def test_directives_reach_the_compiler(self, sources: Path) -> None:
        """Without its linker flags a Kubernetes of our making would call itself v0.0.0."""
        directory = define(
            sources,
            "hello",
            "//testbed:tags special\n//testbed:ldflags -X main.version=v7",
            "package main\n\nvar version, tag string\n\nfunc main() { print(version, tag) }\n",
        )
        (directory / "tagged.go").write_text('//go:build special\n\npackage main\n\nfunc init() { tag = " special" }\n')
        assert says(tools.binary("hello", quiet)) == "v7 special"

    def test_failed_build_shows_the_compiler_s_words_and_leaves_no_program(self, sources: Path) -> None:
        directory = define(sources, "hello", main="package main\n\nfunc main() { missing() }\n")
        with pytest.raises(TestbedError, match=r"(?s) go -C \S+/hello build .*undefined: missing"):
            tools.binary("hello", quiet)
        assert not (tools.load(directory).directory / "hello").exists()

    def test_failed_build_can_be_tried_again(self, sources: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        """A full disk or a proxy that is down is no reason to fail for ever."""
        define(sources, "hello")
        with monkeypatch.context() as broken:
            broken.setenv("GOFLAGS", "-nonsense")
            with pytest.raises(TestbedError, match="nonsense"):
                tools.binary("hello", quiet)
        assert says(tools.binary("hello", quiet)) == ""

    def test_simultaneous_requests_build_once(self, sources: Path) -> None:
        """Every test process asks for the same programs when a run begins."""
        define(sources, "hello")
        reports: list[str] = []
        at_once(2, lambda: tools.binary("hello", reports.append))
        assert builds(reports) == ["building hello: hello …"]

    def test_what_a_killed_build_left_is_removed(self, sources: Path) -> None:
        directory = tools.load(define(sources, "hello")).directory
        scratch = directory.with_suffix(".partial")
        (scratch / "nested").mkdir(parents=True)
        (scratch / "hello").write_text("half a program")
        assert says(tools.binary("hello", quiet)) == ""
        assert not scratch.exists()

    def test_missing_compiler_is_an_error_that_says_what_to_do(
        self, sources: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        define(sources, "hello")
        monkeypatch.setenv("PATH", "/nonexistent")
        with pytest.raises(TestbedError, match="go is not installed; CONTRIBUTING"):
            tools.binary("hello", quiet)
