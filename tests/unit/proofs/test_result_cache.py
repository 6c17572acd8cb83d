"""Results are kept for exactly the code that they measured."""

import subprocess
from pathlib import Path

import pytest

from proofs.result_cache import MEASURED, Kept


@pytest.fixture
def root(tmp_path: Path) -> Path:
    """A small repository with a file in every measured part, and a page."""
    for part in (*MEASURED, "docs"):
        (tmp_path / "root" / part).mkdir(parents=True)
        (tmp_path / "root" / part / "file").write_text("one")
    _git(tmp_path / "root", "init", "--quiet")
    _commit(tmp_path / "root")
    return tmp_path / "root"


def test_a_result_is_found_again(root: Path, tmp_path: Path) -> None:
    """By its command, at its size."""
    Kept(root, "full", tmp_path).put("measure", "7")
    assert Kept(root, "full", tmp_path).get("measure") == "7"
    assert Kept(root, "full", tmp_path).get("another") is None
    assert Kept(root, "small", tmp_path).get("measure") is None


def test_a_page_does_not_matter_and_code_does(root: Path, tmp_path: Path) -> None:
    """So that the page itself can be committed."""
    Kept(root, "full", tmp_path).put("measure", "7")
    (root / "docs" / "file").write_text("two")
    _commit(root)
    assert Kept(root, "full", tmp_path).get("measure") == "7"
    (root / "src" / "file").write_text("two")
    assert Kept(root, "full", tmp_path).get("measure") is None
    _commit(root)
    assert Kept(root, "full", tmp_path).get("measure") is None


def test_results_of_an_earlier_commit_are_found_by_its_name(root: Path, tmp_path: Path) -> None:
    """Whatever the checkout is now."""
    Kept(root, "full", tmp_path).put("measure", "7")
    (root / "src" / "file").write_text("two")
    assert Kept(root, "full", tmp_path, commit="HEAD").get("measure") == "7"
    _commit(root)
    assert Kept(root, "full", tmp_path, commit="HEAD~1").get("measure") == "7"
    assert Kept(root, "full", tmp_path, commit="HEAD").get("measure") is None
    assert Kept(root, "full", tmp_path, commit="none").get("measure") is None


def _commit(root: Path) -> None:
    _git(root, "add", "--all")
    _git(root, "-c", "user.name=t", "-c", "user.email=t@example.org", "commit", "--quiet", "--message=x")


def _git(root: Path, *arguments: str) -> None:
    subprocess.run(["git", *arguments], cwd=root, check=True, capture_output=True)
