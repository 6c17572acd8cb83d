"""Layers as tars: the same bytes every time, readable by others, from any offset."""

import hashlib
import io
import json
import os
import subprocess
import tarfile
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kubedl.models.packer import layer_tar
from kubedl.models.packer.layering import grouped
from kubedl.models.packer.model_files import FileEntry, ModelFiles
from kubedl.oci.errors import ImageError

NAME = st.text(st.characters(exclude_categories=("Cs", "Cc", "Cf", "Zl", "Zp", "Zs", "Co", "Cn")), min_size=1).filter(
    lambda name: (
        len(name.encode()) < 250 and "/" not in name and not name.startswith(".wh.") and name not in {".", ".."}
    )
)
PATHS = st.lists(NAME, min_size=1, max_size=6).map("/".join)


def packed(root: Path) -> list[bytes]:
    """The bytes of every layer but the first."""
    with ModelFiles(str(root)) as source:
        layers = [layer_tar.archived(group) for group in grouped(source.entries)]
        contents = [b"".join(map(bytes, layer_tar.pieces(layer, source))) for layer in layers]
        assert [layer.size for layer in layers] == [len(content) for content in contents]
        return contents


def members(content: bytes) -> dict[str, tarfile.TarInfo]:
    with tarfile.open(fileobj=io.BytesIO(content)) as tar:
        return {member.name: member for member in tar.getmembers()}


def test_the_date_the_owner_and_the_mode_leave_no_trace(model: Path) -> None:
    before = packed(model)
    for path in (model, *model.rglob("*")):
        os.utime(path, (1, 2))
        path.chmod(0o700 if path.is_dir() else 0o600)
    assert packed(model) == before


def test_that_a_file_is_a_program_is_kept(model: Path) -> None:
    (model / "run").write_text("#!/bin/sh\n")
    (model / "run").chmod(0o711)
    found = members(packed(model)[0])
    assert {name: member.mode for name, member in found.items()} == {
        "models": 0o755,
        "models/run": 0o755,
        "models/saved_model.pb": 0o644,
    }
    assert {(member.uid, member.gid, member.mtime, member.uname) for member in found.values()} == {(0, 0, 0, "")}


def test_each_layer_carries_its_parents(model: Path) -> None:
    assert [list(members(content)) for content in packed(model)] == [
        ["models", "models/saved_model.pb"],
        ["models", "models/variables", "models/variables/weights"],
    ]


def test_the_first_layer_leads_to_the_model_and_lists_its_files(model: Path) -> None:
    """Small ones with their content, so that whoever mounts the image can see that it is whole."""
    with ModelFiles(str(model)) as source:
        layer = layer_tar.head(layer_tar.inventory(source))
        content = b"".join(map(bytes, layer_tar.pieces(layer, source)))
    assert len(content) == layer.size
    link, listed = members(content).values()
    assert (link.name, link.linkname, link.issym()) == ("kubedl-model", "models", True)
    assert listed.name == "kubedl-files.json"
    with tarfile.open(fileobj=io.BytesIO(content)) as tar:
        file = tar.extractfile("kubedl-files.json")
        assert file is not None
        files = json.load(file)["files"]
    weights = model / "variables" / "weights"
    assert files["variables/weights"] == [weights.stat().st_size, ""]
    small = (model / "saved_model.pb").read_bytes()
    assert files["saved_model.pb"] == [len(small), hashlib.sha256(small).hexdigest()]


def test_links_and_empty_directories(model: Path) -> None:
    (model / "latest").symlink_to("variables/weights")
    (model / "assets").mkdir()
    found = {name: member for content in packed(model) for name, member in members(content).items()}
    assert found["models/assets"].isdir()
    assert (found["models/latest"].issym(), found["models/latest"].linkname) == (True, "variables/weights")


def test_gnu_tar_reads_it(model: Path, tmp_path: Path) -> None:
    """Long names too, and what comes out is what went in."""
    long = model.joinpath(*["d" * 120] * 3)
    long.mkdir(parents=True)
    (long / ("ü" * 120)).write_bytes(b"deep")
    out = tmp_path / "out"
    out.mkdir()
    for content in packed(model):
        subprocess.run(["tar", "-xf", "-", "-C", str(out)], input=content, check=True)
    original = {path.relative_to(model): path.read_bytes() for path in model.rglob("*") if path.is_file()}
    copy = out / "models"
    assert {path.relative_to(copy): path.read_bytes() for path in copy.rglob("*") if path.is_file()} == original


@given(PATHS, st.integers(0, 1 << 50), st.booleans())
def test_any_name_and_any_size_have_a_header_that_says_so(path: str, size: int, executable: bool) -> None:
    """Sizes above 8 GiB among them; the file itself need not be there for that."""
    entry = FileEntry(path, "file", size, executable)
    header = b"".join(part for part in layer_tar._segments((entry,)) if isinstance(part, bytes))  # noqa: SLF001
    with tarfile.open(fileobj=io.BytesIO(header), mode="r:") as tar:
        *_, member = _until_file(tar)
    assert (member.name, member.size, member.mode) == (f"models/{path}", size, 0o755 if executable else 0o644)


@given(st.integers(0, 14_000), st.integers(0, 14_000))
@settings(max_examples=50)
def test_a_stream_can_be_begun_and_ended_anywhere(tmp_path_factory: pytest.TempPathFactory, one: int, two: int) -> None:
    root = tmp_path_factory.mktemp("model")
    (root / "a").write_bytes(os.urandom(5000))
    (root / "b").write_bytes(os.urandom(3000))
    with ModelFiles(str(root)) as source:
        layer = layer_tar.archived(source.entries)
        whole = b"".join(map(bytes, layer_tar.pieces(layer, source)))
        start, end = sorted((min(one, layer.size), min(two, layer.size)))
        assert b"".join(map(bytes, layer_tar.pieces(layer, source, start, end))) == whole[start:end]


def test_a_file_that_becomes_shorter_is_noticed(model: Path) -> None:
    with ModelFiles(str(model)) as source:
        layer = layer_tar.archived(source.entries)
        pieces = layer_tar.pieces(layer, source)
        next(pieces)
        (model / "variables" / "weights").write_bytes(b"")
        with pytest.raises(ImageError) as caught:
            list(pieces)
    assert caught.value.reason == "SourceChanged"


def _until_file(tar: tarfile.TarFile) -> list[tarfile.TarInfo]:
    """The members up to the file, after which its content would have to come."""
    found: list[tarfile.TarInfo] = []
    while not found or found[-1].isdir():
        member = tar.next()
        assert member is not None
        found.append(member)
    return found
