"""Out of a registry comes what went in, byte for byte, or nothing."""

import io
import json
import tarfile
import tracemalloc
from collections.abc import Callable
from http.client import HTTPConnection
from pathlib import Path

import pytest

from kubedl.models.pack_protocol import PackRequest
from kubedl.models.packer.pack import pack
from kubedl.oci.errors import ImageError
from kubedl.oci.manifests import IMAGE_CONFIG, LAYER, MANIFEST, digest_of
from kubedl.oci.transport import Transport
from kubedl.serving.loader import pull as unpacking
from kubedl.serving.loader.pull import unpack
from tests.unit.oci.conftest import Connect
from tests.unit.oci.fake_registry import FakeRegistry, Fault

Prepared = Callable[[tarfile.TarInfo, bytes], str]


def files(root: Path) -> dict[str, bytes]:
    """What lies below a directory."""
    return {str(path.relative_to(root)): path.read_bytes() for path in sorted(root.rglob("*")) if path.is_file()}


@pytest.fixture
def target(tmp_path: Path) -> Path:
    """An empty directory."""
    made = tmp_path / "target"
    made.mkdir()
    return made


@pytest.fixture
def image(fake: FakeRegistry) -> Prepared:
    """An image of one layer with one member, as somebody else might make it."""

    def prepared(member: tarfile.TarInfo, content: bytes = b"") -> str:
        stream = io.BytesIO()
        with tarfile.open(fileobj=stream, mode="w", format=tarfile.GNU_FORMAT) as tar:
            member.size = len(content)
            tar.addfile(member, io.BytesIO(content))
        layer = stream.getvalue()
        fake.blobs[digest_of(layer)] = layer
        return manifest(fake, [{"mediaType": LAYER, "digest": digest_of(layer), "size": len(layer)}])

    return prepared


def manifest(fake: FakeRegistry, layers: list[dict[str, object]]) -> str:
    """Stored under its digest."""
    config = {"mediaType": IMAGE_CONFIG, "digest": digest_of(b"{}"), "size": 2}
    content = json.dumps({"schemaVersion": 2, "mediaType": MANIFEST, "config": config, "layers": layers}).encode()
    fake.manifests[digest_of(content)] = content
    return digest_of(content)


def test_what_was_packed_comes_out(connect: Connect, order: PackRequest, model: Path, target: Path) -> None:
    """With its links, and executable where it was; a second time over what a first has left."""
    (model / "run.sh").write_text("#!/bin/sh\n")
    (model / "run.sh").chmod(0o755)
    (model / "latest").symlink_to("variables/weights")
    answer = pack(order, connect())
    for _ in range(2):
        unpack(connect(), answer.digest, target)
        assert files(target) == files(model)
        assert str((target / "latest").readlink()) == "variables/weights"
        assert (target / "run.sh").stat().st_mode & 0o777 == 0o755


def test_layers_come_in_parts(
    connect: Connect, order: PackRequest, model: Path, target: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """None is ever in memory as a whole; the parts are put together in their order."""
    part = 4096 * 99  # a file takes many
    monkeypatch.setattr(unpacking, "PART", part)
    on_progress: list[int] = []
    answer = pack(order, connect())
    unpack(connect(), answer.digest, target, on_progress.append)
    assert files(target) == files(model)
    assert (max(on_progress), sum(on_progress)) == (part, answer.size)


def test_few_connections_are_made_however_many_layers_there_are(
    connect: Connect, order: PackRequest, target: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Each thread has its own, and keeps it to the end."""
    answer = pack(order, connect())
    made: list[str] = []
    connection = Transport._new  # noqa: SLF001 - how it makes one

    def counted(self: Transport, scheme: str, host: str) -> HTTPConnection:
        made.append(host)
        return connection(self, scheme, host)

    monkeypatch.setattr(unpacking, "AHEAD", 1)
    monkeypatch.setattr(Transport, "_new", counted)
    unpack(connect(), answer.digest, target)
    assert len(made) == 2  # for the manifest, and for all layers


def test_small_reads_do_not_copy_what_is_left_of_a_part() -> None:
    """tarfile reads 10 KiB at a time: a part would be copied hundreds of times."""
    part = bytes(4 << 20)
    stream = unpacking._Stream(iter([part]))  # noqa: SLF001 - what tarfile reads from
    tracemalloc.start()
    try:
        read = [stream.read(512), stream.read(512)]
        assert tracemalloc.get_traced_memory()[1] < len(part) / 2
    finally:
        tracemalloc.stop()
    assert b"".join(read) == part[:1024]


def test_a_connection_that_breaks_is_taken_up_again(
    fake: FakeRegistry, connect: Connect, order: PackRequest, model: Path, target: Path
) -> None:
    answer = pack(order, connect())
    fake.faults += [Fault("GET", status=503, path="blobs/"), Fault("GET", status=500, path="manifests/")]
    unpack(connect(), answer.digest, target)
    assert files(target) == files(model)


def test_other_bytes_than_the_digest_says_are_refused(
    fake: FakeRegistry, connect: Connect, order: PackRequest, target: Path
) -> None:
    """The registry's, on disk or on the way."""
    answer = pack(order, connect())
    digest, content = next((digest, content) for digest, content in fake.blobs.items() if b"graph" in content)
    fake.blobs[digest] = content.replace(b"graph", b"grape", 1)
    with pytest.raises(ImageError, match="arrived with digest"):
        unpack(connect(), answer.digest, target)


def test_another_manifest_is_refused(fake: FakeRegistry, connect: Connect, order: PackRequest, target: Path) -> None:
    answer = pack(order, connect())
    fake.manifests[answer.digest] += b" "
    with pytest.raises(ImageError, match="another manifest"):
        unpack(connect(), answer.digest, target)


def test_an_image_that_is_gone_is_told(connect: Connect, target: Path) -> None:
    with pytest.raises(ImageError, match="has no image") as refused:
        unpack(connect(), "sha256:" + "0" * 64, target)
    assert refused.value.permanent


@pytest.mark.parametrize(
    ("name", "kind", "link"),
    [
        ("models/dev", tarfile.CHRTYPE, ""),
        ("models/out", tarfile.SYMTYPE, "../../etc/passwd"),
        ("models/out", tarfile.SYMTYPE, "/etc/passwd"),
        ("models/hard", tarfile.LNKTYPE, "models/other"),
    ],
)
def test_what_no_packer_of_ours_makes_is_refused(
    connect: Connect, image: Prepared, target: Path, name: str, kind: bytes, link: str
) -> None:
    member = tarfile.TarInfo(name)
    member.type, member.linkname = kind, link
    with pytest.raises((ImageError, KeyError)):
        unpack(connect(), image(member, b""), target)
    assert list(target.iterdir()) == []


@pytest.mark.parametrize("name", ["../escaped", "/escaped", "models/../../escaped", "etc/passwd", "kubedl-files.json"])
def test_nothing_is_written_beside_the_model(
    connect: Connect, image: Prepared, target: Path, tmp_path: Path, name: str
) -> None:
    unpack(connect(), image(tarfile.TarInfo(name), b"x"), target)
    assert sorted(path.name for path in tmp_path.rglob("*") if path.is_file()) == []


def test_layers_of_others_are_refused(fake: FakeRegistry, connect: Connect, target: Path) -> None:
    """A compressed one would be taken for a broken tar."""
    zipped = {"mediaType": f"{LAYER}+gzip", "digest": digest_of(b""), "size": 0}
    with pytest.raises(ImageError, match="not created by KubeDL"):
        unpack(connect(), manifest(fake, [zipped]), target)


def test_a_link_that_leads_out_over_another_link_is_refused(fake: FakeRegistry, connect: Connect, target: Path) -> None:
    """Each of them stays inside by its own words; none is left behind."""
    stream = io.BytesIO()
    with tarfile.open(fileobj=stream, mode="w", format=tarfile.GNU_FORMAT) as tar:
        for name in ("models", "models/a", "models/a/b"):
            member = tarfile.TarInfo(name)
            member.type = tarfile.DIRTYPE
            tar.addfile(member)
        for name, link in (("models/a/b/s", "../.."), ("models/a/b/t", "s/../..")):
            member = tarfile.TarInfo(name)
            member.type, member.linkname = tarfile.SYMTYPE, link
            tar.addfile(member)
    layer = stream.getvalue()
    fake.blobs[digest_of(layer)] = layer
    image = manifest(fake, [{"mediaType": LAYER, "digest": digest_of(layer), "size": len(layer)}])
    with pytest.raises(ImageError, match="leads out of the model") as refused:
        unpack(connect(), image, target)
    assert (refused.value.reason, refused.value.permanent) == ("BadImage", True)
    assert [path for path in target.rglob("*") if path.is_symlink()] == []
