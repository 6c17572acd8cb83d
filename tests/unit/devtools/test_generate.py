"""Generated files of deploy/: drift is found by name, and writing ends it."""

from pathlib import Path

from devtools.generate import DEPLOY, drift, write
from kubedl.main.manifests import manifests
from kubedl.training.kinds import all_kinds


def test_a_fresh_directory_is_all_drift_and_written_once(tmp_path: Path) -> None:
    """After writing there is nothing left to write."""
    wanted = manifests()
    assert drift(tmp_path, wanted) == sorted(wanted)
    write(tmp_path, dict(wanted))
    assert drift(tmp_path, wanted) == []


def test_a_changed_a_missing_and_a_left_over_file_are_drift(tmp_path: Path) -> None:
    """Also the CRD of a kind that is gone: it would be installed for ever."""
    wanted = manifests()
    write(tmp_path, dict(wanted))
    (tmp_path / "rbac/operator.yaml").write_text("changed")
    (tmp_path / "crds/tfjobs.training.kubedl.io.yaml").unlink()
    (tmp_path / "crds/old.yaml").touch()
    stale = drift(tmp_path, wanted)
    assert stale == ["crds/old.yaml", "crds/tfjobs.training.kubedl.io.yaml", "rbac/operator.yaml"]
    write(tmp_path, {name: wanted.get(name) for name in stale})
    assert drift(tmp_path, wanted) == []


def test_every_kind_has_its_file() -> None:
    """No other list of kinds exists."""
    assert {f"crds/{kind.plural}.training.kubedl.io.yaml" for kind in all_kinds()} < manifests().keys()


def test_files_are_the_same_each_time() -> None:
    """Otherwise the drift check would fail for nothing."""
    assert manifests() == manifests()


def test_nothing_else_lies_beside_generated_files() -> None:
    """A file by hand would be removed by the next generation."""
    assert {path.suffix for part in ("crds", "rbac") for path in (DEPLOY / part).iterdir()} == {".yaml"}
