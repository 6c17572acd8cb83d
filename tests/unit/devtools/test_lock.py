"""A declaration that was not resolved is noticed without network."""

import shutil
from pathlib import Path

import pytest

from devtools import lock

ROOT = Path(__file__).parents[3]


@pytest.fixture
def project(tmp_path: Path) -> Path:
    """A copy of the project's declarations and lock files."""
    shutil.copy(ROOT / "pyproject.toml", tmp_path)
    shutil.copytree(ROOT / "requirements", tmp_path / "requirements")
    return tmp_path


def test_every_extra_and_the_developers_have_a_lock_file() -> None:
    """An extra without one could not be installed by hash."""
    assert set(lock.targets(ROOT)) == {file.stem for file in (ROOT / "requirements").glob("*.txt")}


def test_unchanged_declarations_are_current(project: Path) -> None:
    """What is committed passes."""
    assert all(lock.current(project, name) for name in lock.targets(project))


@pytest.mark.parametrize(
    ("before", "after"), [("aiohttp>=3.14", "aiohttp>=3.15"), ('"towncrier', '"coverage", "towncrier')]
)
def test_a_changed_declaration_is_stale(project: Path, before: str, after: str) -> None:
    """In an extra or in the developers' group."""
    file = project / "pyproject.toml"
    text = file.read_text()
    assert before in text
    file.write_text(text.replace(before, after))
    assert not any(lock.current(project, name) for name in lock.targets(project))


def test_a_change_elsewhere_is_not(project: Path) -> None:
    """Settings of the linter need no new resolution."""
    file = project / "pyproject.toml"
    file.write_text(file.read_text().replace("line-length = 120", "line-length = 100"))
    assert all(lock.current(project, name) for name in lock.targets(project))


def test_a_missing_file_is_stale(project: Path) -> None:
    """A new extra starts without one."""
    (project / "requirements" / "history.txt").unlink()
    assert not lock.current(project, "history")
