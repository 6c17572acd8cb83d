"""Layers: the same bytes from the same files, and exactly what has changed."""

import hashlib
import os
import subprocess
import tarfile
from io import BytesIO
from pathlib import Path

import pytest

from testbed.errors import TestbedError
from testbed.images.layers import Layer, write_layer
from testbed.images.tree_diff import Changes, changes, snapshot


@pytest.fixture
def blobs(tmp_path: Path) -> Path:
    directory = tmp_path / "blobs"
    directory.mkdir()
    return directory


def plant(tree: Path) -> Path:
    (tree / "bin").mkdir(parents=True)
    (tree / "bin/tool").write_text("tool")
    (tree / "bin/tool").chmod(0o700)
    (tree / "bin/alias").symlink_to("tool")
    (tree / "data").mkdir(mode=0o700)
    (tree / "data/b").write_text("b")
    (tree / "data/a").hardlink_to(tree / "data/b")
    return tree


def pack(blobs: Path, tree: Path, *, public: bool = False) -> Layer:
    return write_layer(blobs, tree, changes(tree, {}), public=public)


def unpack(blobs: Path, layer: Layer) -> bytes:
    blob = blobs / layer.digest.removeprefix("sha256:")
    return subprocess.run(["zstd", "-dc", blob], check=True, capture_output=True).stdout


def members(blobs: Path, layer: Layer) -> dict[str, tarfile.TarInfo]:
    with tarfile.open(fileobj=BytesIO(unpack(blobs, layer))) as archive:
        return {member.name: member for member in archive}


def test_same_files_give_the_same_layer_whatever_their_times(tmp_path: Path, blobs: Path) -> None:
    first, second = plant(tmp_path / "first"), plant(tmp_path / "second")
    for name in ("bin", "bin/tool", "data/a"):
        os.utime(second / name, (1, 1))
    assert pack(blobs, first) == pack(blobs, second)


def test_other_content_gives_another_layer(tmp_path: Path, blobs: Path) -> None:
    first, second = plant(tmp_path / "first"), plant(tmp_path / "second")
    (second / "bin/tool").write_text("loot")
    assert pack(blobs, first).diff_id != pack(blobs, second).diff_id


def test_digests_and_size_are_those_of_the_blob_and_of_the_tar_inside(tmp_path: Path, blobs: Path) -> None:
    layer = pack(blobs, plant(tmp_path / "tree"))
    blob = (blobs / layer.digest.removeprefix("sha256:")).read_bytes()
    assert layer.digest == f"sha256:{hashlib.sha256(blob).hexdigest()}"
    assert layer.size == len(blob)
    assert layer.diff_id == f"sha256:{hashlib.sha256(unpack(blobs, layer)).hexdigest()}"
    assert [path.name for path in blobs.iterdir()] == [layer.digest.removeprefix("sha256:")]


def test_file_system_keeps_its_permissions_and_links(tmp_path: Path, blobs: Path) -> None:
    found = members(blobs, pack(blobs, plant(tmp_path / "tree")))
    assert list(found) == ["bin", "bin/alias", "bin/tool", "data", "data/a", "data/b"]
    assert found["bin/alias"].linkname == "tool"
    assert (found["data/b"].islnk(), found["data/b"].linkname) == (True, "data/a")
    assert (found["bin/tool"].mode, found["data"].mode) == (0o700, 0o700)
    assert {member.mtime for member in found.values()} == {0}


def test_public_files_belong_to_root_and_are_for_everybody(tmp_path: Path, blobs: Path) -> None:
    tree = plant(tmp_path / "tree")
    (tree / "data/a").chmod(0o600)
    found = members(blobs, pack(blobs, tree, public=True))
    assert {(member.uid, member.gid) for member in found.values()} == {(0, 0)}
    assert [found[name].mode for name in ("bin/tool", "data", "data/a")] == [0o755, 0o755, 0o644]


def test_sockets_and_pipes_are_left_out(tmp_path: Path, blobs: Path) -> None:
    tree = plant(tmp_path / "tree")
    os.mkfifo(tree / "pipe")
    assert "pipe" not in members(blobs, pack(blobs, tree))


def test_untouched_tree_has_no_changes(tmp_path: Path) -> None:
    tree = plant(tmp_path / "tree")
    before = snapshot(tree)
    os.utime(tree / "bin/tool", (1, 1))
    assert changes(tree, before) == Changes([], [])


def test_changes_are_what_is_new_other_or_gone(tmp_path: Path) -> None:
    tree = plant(tmp_path / "tree")
    (tree / "old/deep").mkdir(parents=True)
    (tree / "old/deep/file").touch()
    (tree / "kept").touch()
    before = snapshot(tree)
    (tree / "bin/tool").write_text("loot")
    (tree / "data/new").touch()
    (tree / "data/a").unlink()
    (tree / "old/deep/file").unlink()
    (tree / "old/deep").rmdir()
    (tree / "old").rmdir()
    assert changes(tree, before) == Changes(["bin", "bin/tool", "data", "data/new"], ["data/a", "old"])


def test_permission_alone_is_a_change(tmp_path: Path) -> None:
    tree = plant(tmp_path / "tree")
    before = snapshot(tree)
    (tree / "bin/tool").chmod(0o755)
    assert changes(tree, before).written == ["bin", "bin/tool"]


def test_directory_replaced_by_a_link_needs_no_whiteouts_inside(tmp_path: Path) -> None:
    tree = plant(tmp_path / "tree")
    before = snapshot(tree)
    for name in ("a", "b"):
        (tree / "data" / name).unlink()
    (tree / "data").rmdir()
    (tree / "data").symlink_to("bin")
    assert changes(tree, before) == Changes(["data"], [])


def test_removed_file_is_hidden_by_a_whiteout(tmp_path: Path, blobs: Path) -> None:
    found = members(blobs, write_layer(blobs, tmp_path, Changes([], ["data/a", "old"])))
    assert list(found) == ["data/.wh.a", ".wh.old"]
    assert [member.size for member in found.values()] == [0, 0]


def test_full_disk_is_an_error_that_says_so(tmp_path: Path, blobs: Path) -> None:
    tree = plant(tmp_path / "tree")
    (tree / "data/noise").write_bytes(os.urandom(1 << 20))
    (blobs / "layer.partial").symlink_to("/dev/full")
    with pytest.raises(TestbedError, match="disk full"):
        pack(blobs, tree)
