"""Generated files of deploy/: drift is found by name, and writing ends it."""

from functools import cache
from pathlib import Path

from devtools.chart import DIRECTORIES, generated
from devtools.generate import DEPLOY, drift, write
from kubedl.training.kinds import all_kinds

FILES = "chart/files"


@cache
def made() -> dict[str, str]:
    """The files of the real directory, for tests that only read them."""
    return generated(DEPLOY)


def test_a_fresh_directory_is_all_drift_and_written_once(tmp_path: Path) -> None:
    """After writing there is nothing left to write."""
    wanted = generated(tmp_path)
    assert drift(tmp_path, wanted) == sorted(wanted)
    write(tmp_path, dict(wanted))
    assert drift(tmp_path, generated(tmp_path)) == []


def test_a_changed_a_missing_and_a_left_over_file_are_drift(tmp_path: Path) -> None:
    """Also the CRD of a kind that is gone: it would be installed for ever."""
    wanted = generated(tmp_path)
    write(tmp_path, dict(wanted))
    (tmp_path / FILES / "rbac/operator.yaml").write_text("changed")
    (tmp_path / FILES / "crds/tfjobs.training.kubedl.io.yaml").unlink()
    (tmp_path / FILES / "crds/old.yaml").touch()
    stale = drift(tmp_path, wanted)
    names = ["crds/old.yaml", "crds/tfjobs.training.kubedl.io.yaml", "rbac/operator.yaml"]
    assert stale == [f"{FILES}/{name}" for name in names]
    write(tmp_path, {name: wanted.get(name) for name in stale})
    assert drift(tmp_path, wanted) == []


def test_every_kind_has_its_file() -> None:
    """No other list of kinds exists."""
    files = {f"{FILES}/crds/{kind.plural}.training.kubedl.io.yaml" for kind in all_kinds()}
    assert files < made().keys()


def test_files_are_the_same_each_time() -> None:
    """Otherwise the drift check would fail for nothing."""
    assert generated(DEPLOY) == made()


def test_nothing_else_lies_beside_generated_files() -> None:
    """A file by hand would be removed by the next generation."""
    found = {path.suffix for part in DIRECTORIES for path in (DEPLOY / FILES / part).iterdir()}
    assert found == {".yaml"}
