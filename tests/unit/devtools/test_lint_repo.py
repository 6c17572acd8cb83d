"""Each house rule finds what breaks it and is silent otherwise."""

import pytest

from devtools.lint_repo import MOST_LINES, complaints_about

FINE = "import os\n"


@pytest.mark.parametrize("name", ["src/kubedl/utils.py", "testbed/helpers/one.py", "tests/common.py", "misc.py"])
def test_a_name_that_says_nothing(name: str) -> None:
    """A module without a subject collects everything."""
    assert [line.partition(":")[0] for line in complaints_about([(name, FINE)])] == [name]


@pytest.mark.parametrize("name", ["src/kubedl/runtime/workqueue.py", "testbed/commonplace.py", "docs/helpers.md"])
def test_a_name_with_a_subject(name: str) -> None:
    """Only whole names count, and only code."""
    assert list(complaints_about([(name, FINE)])) == []


@pytest.mark.parametrize(("lines", "complaints"), [(MOST_LINES, 0), (MOST_LINES + 1, 1)])
def test_a_file_too_long_for_one_subject(lines: int, complaints: int) -> None:
    """The limit itself is allowed."""
    assert len(list(complaints_about([("src/kubedl/long.py", "a = 1\n" * lines)]))) == complaints


@pytest.mark.parametrize("path", ["/work" + "/main", "/root" + "/.cache", "/home" + "/ann/src"])
def test_a_path_of_one_machine(path: str) -> None:
    """With the line at which it stands."""
    assert list(complaints_about([("docs/x.md", f"fine\nsee {path}/here\n")])) == ["docs/x.md:2: a path of one machine"]


@pytest.mark.parametrize("path", ["~/.cache/kubedl", "the/work/of", "/var/lib/kubelet", "./root/x"])
def test_a_path_of_every_machine(path: str) -> None:
    """Home by its sign, system directories, words."""
    assert list(complaints_about([("docs/x.md", f"see {path}/here\n")])) == []


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("web/package-lock.json", '"resolved": "https://registry.example/a.tgz"'),
        ("requirements/dev.txt", "--index-url https://index.example/simple\n"),
        ("uv.lock", 'url = "https://files.example/a.whl"'),
    ],
)
def test_a_lock_file_with_an_address(name: str, text: str) -> None:
    """The hash pins; the address is the machine's business."""
    assert len(list(complaints_about([(name, text)]))) == 1
