"""A page is run as it stands, and shows what was printed."""

from pathlib import Path

import pytest

from devtools.run_docs import ROOT, BrokenOffError, blocks, run, seconds, shown, written

USER = 65532  # of the image that `make images` builds, too
PAGE = """# Title

<!-- ran -->
nothing
<!-- end of ran -->

## First

```sh
name=world
cat # reads nothing, since nothing is given
```

## Second

```sh
echo "hello $name"
```

```text
old
```

```python
not run
```
"""


def test_variables_live_from_block_to_block_and_what_is_printed_is_written(tmp_path: Path) -> None:
    ran = list(run(blocks(PAGE), tmp_path))
    assert [block.printed for block in ran] == ["", "hello world\n"]
    page = written(PAGE, ran, "today\n")
    assert page == PAGE.replace("old\n", "hello world\n").replace("nothing\n<", "today\n<")
    assert list(seconds(ran)) == ["First", "Second"]


def test_the_first_failure_ends_it(tmp_path: Path) -> None:
    page = "## A\n\n```sh\necho one\n```\n\n```sh\nfalse\n```\n\n```sh\ntouch two\n```\n"
    with pytest.raises(BrokenOffError):
        list(run(blocks(page), tmp_path))
    assert not (tmp_path / "two").exists()


def test_long_output_is_cut_in_the_middle() -> None:
    text = shown("".join(f"{number}  \n" for number in range(100)))
    assert text.splitlines()[14:17] == ["14", "…", "85"]
    assert shown("a\n\n") == "a\n"


def test_no_registry_is_named() -> None:
    assert shown("pushed 198.18.0.1:5000/models/a:1\n") == "pushed $REGISTRY/models/a:1\n"


@pytest.mark.parametrize("page", ["quickstart.md", "quickstart-pytorch.md"])
def test_a_quickstart_ends_with_an_answer_and_cleans_up(page: str) -> None:
    """What a reader does is on the page, in this order."""
    sections = list(dict.fromkeys(block.section for block in blocks((ROOT / "docs" / page).read_text())))
    assert sections.index("Install") < sections.index("Train") < sections.index("Serve it") < sections.index("Ask it")
    assert sections[-1] == "Clean up"


def test_the_quickstart_needs_only_a_cluster() -> None:
    """Commands in a tab are those of one way to get a cluster; all others must work on every cluster."""
    commands = "".join(block.commands for block in blocks((ROOT / "docs" / "quickstart.md").read_text()))
    assert not [word for word in ("testbed", "make ", "GATEWAY", "REGISTRY") if word in commands]


def test_the_dockerfile_installs_by_hash_and_does_not_run_as_root() -> None:
    lines = (ROOT / "Dockerfile").read_text().splitlines()
    assert all("--require-hashes" in line for line in lines if "pip install" in line)
    assert all("npm ci " in line for line in lines if "npm" in line)  # by the lock, which has hashes
    [user] = [line for line in lines if line.startswith("USER ")]
    assert user == f"USER {USER}:{USER}"
    assert lines[-1] == 'ENTRYPOINT ["python3", "-m", "kubedl.entrypoints.command"]'
