"""Building once: nothing half-built is ever seen, and nothing stays behind."""

import threading
from pathlib import Path

import pytest

from testbed.images.cache import build_once

KEY = "0123456789abcdef" * 4


class Builder:
    """Writes one file, and remembers what it found."""

    def __init__(self) -> None:
        self.found: list[list[str]] = []

    def __call__(self, scratch: Path) -> Path:
        self.found.append([path.name for path in scratch.iterdir()])
        result = scratch / "result"
        result.mkdir()
        (result / "file").write_text("done")
        (scratch / "waste").touch()
        return result


def test_built_directory_bears_name_and_key(tmp_path: Path) -> None:
    built = build_once(tmp_path / "images", "torch", KEY, Builder())
    assert built == tmp_path / "images/torch-0123456789abcdef"
    assert [path.name for path in built.iterdir()] == ["file"]


def test_second_request_builds_nothing(tmp_path: Path) -> None:
    builder = Builder()
    first = build_once(tmp_path, "torch", KEY, builder)
    assert build_once(tmp_path, "torch", KEY, builder) == first
    assert len(builder.found) == 1


def test_half_built_directory_is_removed(tmp_path: Path) -> None:
    (tmp_path / "torch.partial/tree").mkdir(parents=True)
    builder = Builder()
    build_once(tmp_path, "torch", KEY, builder)
    assert builder.found == [[]]
    assert not (tmp_path / "torch.partial").exists()


def test_failed_build_leaves_nothing(tmp_path: Path) -> None:
    def fail(scratch: Path) -> Path:
        (scratch / "tree").mkdir()
        raise RuntimeError

    with pytest.raises(RuntimeError):
        build_once(tmp_path, "torch", KEY, fail)
    assert [path.name for path in tmp_path.iterdir()] == ["torch.lock"]


def test_simultaneous_requests_build_once(tmp_path: Path) -> None:
    builder = Builder()
    threads = [threading.Thread(target=build_once, args=(tmp_path, "torch", KEY, builder)) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(builder.found) == 1
