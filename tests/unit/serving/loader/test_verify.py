"""A mounted image is believed only when it has what it says it has."""

import hashlib
import json
from pathlib import Path

import pytest

from kubedl.serving.loader.errors import LoadingError
from kubedl.serving.loader.verify import link, verify


@pytest.fixture
def image(tmp_path: Path) -> Path:
    """A model of two files, as it is mounted."""
    root = tmp_path / "image"
    (root / "models" / "1").mkdir(parents=True)
    (root / "models" / "1" / "weights").write_bytes(b"w" * 4096)
    (root / "models" / "config").write_text("small")
    files = {
        "1/weights": [4096, ""],
        "config": [5, hashlib.sha256(b"small").hexdigest()],
    }
    (root / "kubedl-files.json").write_text(json.dumps({"files": files}))
    return root


def test_a_whole_model_is_proved_and_linked(image: Path, tmp_path: Path) -> None:
    """The server finds it entry by entry; a second try finds its own links."""
    target = tmp_path / "target"
    target.mkdir()
    assert verify(image) == 2
    for _ in range(2):
        link(image, target)
        assert (target / "1" / "weights").read_bytes() == b"w" * 4096
        assert (target / "config").read_text() == "small"


def test_a_pod_that_starts_anew_is_linked_anew(image: Path, tmp_path: Path) -> None:
    """Whatever the first start has made of it."""
    target = tmp_path / "target"
    (target / "1").mkdir(parents=True)
    (target / "1" / "setting").write_text("of the first start")
    link(image, target)
    link(image, target)
    assert all((target / entry.name).is_symlink() for entry in (image / "models").iterdir())


def test_programs_and_libraries_are_copied(image: Path, tmp_path: Path) -> None:
    """A runtime mounts images noexec; the rest stays links, however it is marked."""
    target, root = tmp_path / "target", image / "models"
    target.mkdir()
    backend = root / "backend" / "lib"
    backend.mkdir(parents=True)
    (backend / "libop.so.1").write_bytes(b"\x7fELF library")
    (backend / "libop.so").symlink_to("libop.so.1")
    (backend / "stub").write_bytes(b"\x7fELF program")
    (backend / "start").write_text("#!/bin/sh")
    for name in ("stub", "start"):
        (backend / name).chmod(0o755)
    (backend / "weights").write_bytes(b"w")
    (backend / "weights").chmod(0o777)
    (backend / "notes.so").write_text("no library")
    (root / "links").mkdir()
    (root / "links" / "op.so").symlink_to("../backend/lib/libop.so.1")
    for _ in range(2):
        link(image, target)
        shown = target / "backend" / "lib"
        for name in ("libop.so.1", "libop.so", "stub", "start"):
            assert (shown / name).resolve().is_relative_to(target), name
            assert (shown / name).read_bytes() == (backend / name).read_bytes()
            assert (shown / name).stat().st_mode & 0o777 == 0o755
        assert (target / "links" / "op.so").resolve() == shown / "libop.so.1"
        for path in (shown / "weights", shown / "notes.so", target / "1"):
            assert path.resolve().is_relative_to(image), path


def test_a_volume_that_was_taken_out_is_noticed(tmp_path: Path) -> None:
    """Be the directory missing, empty, or with nothing below models."""
    for path in (tmp_path / "missing", tmp_path):
        with pytest.raises(LoadingError) as refused:
            verify(path)
        assert refused.value.reason == "ModelMissing"
    (tmp_path / "models").mkdir()
    with pytest.raises(LoadingError, match="stripped from the pod, or is empty"):
        verify(tmp_path)


@pytest.mark.parametrize(
    ("harm", "said"),
    [
        (lambda root: (root / "models/1/weights").unlink(), "1/weights is not in"),
        (lambda root: (root / "models/1/weights").write_bytes(b"w"), "has 1 bytes, but was packed with 4096"),
        (lambda root: (root / "models/config").write_text("smell"), "config differs from what was packed"),
        (lambda root: (root / "kubedl-files.json").write_text("{"), "cannot be read"),
    ],
)
def test_a_part_that_is_missing_or_other_is_noticed(image: Path, harm: object, said: str) -> None:
    harm(image)  # type: ignore[operator]
    with pytest.raises(LoadingError, match=said) as refused:
        verify(image)
    assert refused.value.reason == "ModelIncomplete"


def test_an_image_without_a_list_is_taken_as_it_is(image: Path) -> None:
    """Of an earlier packer, or somebody else's."""
    (image / "kubedl-files.json").unlink()
    assert verify(image) == 2
