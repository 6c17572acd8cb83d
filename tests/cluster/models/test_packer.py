"""The packer before a real registry (Debian's docker-registry 2.8), a real skopeo, and real kills."""

import base64
import json
import os
import random
import shutil
import sys
import tarfile
import time
from collections.abc import Iterator, Mapping
from pathlib import Path

import msgspec
import pytest

from harness.drivers.packer_process import Packer, packed, write_model, write_shard
from harness.drivers.registry import RealRegistry, real_registry
from harness.drivers.registry_fault_proxy import Fault, registry_proxy
from harness.experiments.packer_chaos import ENDS, FAULTS, REFUSED, Ground, disturbed, drawn, ground, killed
from kubedl.models.pack_protocol import Origin, PackRequest, PackResult
from kubedl.models.packer.pack import pack
from kubedl.oci import retry
from kubedl.oci.reference import parse_reference
from kubedl.oci.registry import Registry
from testbed.instance import Instance
from testbed.pki import Authority
from testbed.shell import run
from testbed.waiting import until
from tests import sampling

SECRET = "$2b$05$abcdefghijklmnopqrstuuOQiyCxlgf/oeuTqixKmWdcYUh4Hjl0a"  # noqa: S105  bcrypt of `secret`
REPOSITORY = "team/model"
SHARD = 4 << 20


@pytest.fixture(scope="module")
def registry(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RealRegistry]:
    """One for all tests of this file; each uses a repository of its own."""
    with real_registry(tmp_path_factory.mktemp("registry")) as running:
        yield running


@pytest.fixture
def model(tmp_path: Path) -> Path:
    """Files of many kinds."""
    root = tmp_path / "model"
    write_model(root, 3, SHARD)
    (root / "assets").mkdir()
    (root / "deep" / "er").mkdir(parents=True)
    (root / "deep" / "er" / "run.sh").write_text("#!/bin/sh\n")
    (root / "deep" / "er" / "run.sh").chmod(0o755)
    (root / "latest").symlink_to("shard-00002.safetensors")
    return root


def order_for(registry: RealRegistry, model: Path, repository: str, tag: str = "v1") -> PackRequest:
    origin = Origin(job_kind="TFJob", job_uid="4e2a")
    place = f"{registry.address}/{repository}"
    return PackRequest(str(model), place, tag, "ns", "resnet", "mv-1", insecure=True, origin=origin)


def image_of(order: PackRequest, directory: Path, environment: Mapping[str, str] | None = None) -> PackResult:
    code, answer = packed(order, directory, environment)
    assert code == 0, answer
    assert answer is not None
    return answer


def test_others_read_what_was_packed(registry: RealRegistry, model: Path, tmp_path: Path) -> None:
    """skopeo copies it, and unpacked layer by layer it is the model."""
    answer = image_of(order_for(registry, model, "skopeo"), tmp_path)
    copy, out = tmp_path / "copy", tmp_path / "out"
    out.mkdir()
    image = f"docker://{registry.address}/skopeo@{answer.digest}"
    skopeo = ("env", "NO_PROXY=*", "skopeo", "--insecure-policy", "copy", "--quiet", "--src-tls-verify=false")
    run(*skopeo, image, f"dir:{copy}")
    for layer in json.loads((copy / "manifest.json").read_text())["layers"]:
        with tarfile.open(copy / layer["digest"].removeprefix("sha256:")) as tar:
            tar.extractall(out, filter="tar")
    assert os.readlink(out / "kubedl-model") == "models"  # noqa: PTH115
    assert _tree(out / "models") == _tree(model)
    assert (out / "models" / "deep" / "er" / "run.sh").stat().st_mode & 0o777 == 0o755


def test_the_model_manifest_is_found_from_the_image(registry: RealRegistry, model: Path, tmp_path: Path) -> None:
    """By the tag that stands in for a list of referrers, which this registry does not keep."""
    answer = image_of(order_for(registry, model, "referrers"), tmp_path)
    index = registry.manifest("referrers", answer.digest.replace(":", "-"))
    assert index is not None
    assert index["manifests"][0]["digest"] == answer.artifact_digest
    pointer = registry.manifest("referrers", answer.artifact_digest)
    image = registry.manifest("referrers", answer.digest)
    assert pointer is not None
    assert image is not None
    assert pointer["subject"]["digest"] == answer.digest
    assert {layer["digest"] for layer in pointer["layers"]} == {layer["digest"] for layer in image["layers"][1:]}


def test_packed_again_it_is_the_same_and_nothing_is_sent(registry: RealRegistry, model: Path, tmp_path: Path) -> None:
    with registry_proxy(registry.address) as proxy:
        order = msgspec.structs.replace(order_for(registry, model, "again"), repository=f"{proxy.address}/again")
        first = image_of(order, tmp_path)
        proxy.clear()
        again = image_of(order, tmp_path)
        assert {request.method for request in proxy.passed} == {"HEAD", "GET"}
    assert (again.digest, again.layers_uploaded, again.bytes_uploaded) == (first.digest, 0, 0)


def test_another_year_and_another_copy_give_the_same_digest(
    registry: RealRegistry, model: Path, tmp_path: Path
) -> None:
    """A copy with other times, packed by a process whose clock is a year and more ahead."""
    [library] = Path("/usr/lib").glob("*/faketime/libfaketime.so.1")
    later = {"LD_PRELOAD": str(library), "FAKETIME": "+400d"}
    year = run(sys.executable, "-c", "import time; print(time.gmtime().tm_year)", environment=later)
    assert int(year) > time.gmtime().tm_year
    first = image_of(order_for(registry, model, "today"), tmp_path)
    copy = tmp_path / "elsewhere" / "copy"
    shutil.copytree(model, copy, symlinks=True, copy_function=shutil.copyfile)
    (copy / "deep" / "er" / "run.sh").chmod(0o700)
    again = image_of(order_for(registry, copy, "next-year"), tmp_path, later)
    assert (again.digest, again.artifact_digest) == (first.digest, first.artifact_digest)
    assert again.layers_reused == 0


def test_a_changed_file_alone_is_sent(registry: RealRegistry, model: Path, tmp_path: Path) -> None:
    """Bytes are counted where they arrive."""
    write_model(model, 16, SHARD)
    image_of(order_for(registry, model, "changed"), tmp_path)
    write_shard(model / "shard-00007.safetensors", SHARD, "changed")
    with registry_proxy(registry.address) as proxy:
        order = order_for(registry, model, "changed", "v2")
        order = msgspec.structs.replace(order, repository=f"{proxy.address}/changed")
        answer = image_of(order, tmp_path)
        sent = proxy.bytes_sent()
    assert answer.layers_uploaded == 1
    assert SHARD <= sent < SHARD + 20_000


def test_a_tag_that_is_taken_stays(registry: RealRegistry, model: Path, tmp_path: Path) -> None:
    first = image_of(order_for(registry, model, "taken"), tmp_path)
    (model / "config.json").write_text("{}")
    code, answer = packed(order_for(registry, model, "taken"), tmp_path)
    assert answer is not None
    assert (code, answer.reason, answer.digest) == (2, "TagConflict", "")
    assert first.digest in answer.message
    assert registry.digest("taken", "v1") == first.digest


def test_a_password_opens_a_registry_that_asks_for_one(model: Path, tmp_path: Path) -> None:
    passwords, login = tmp_path / "htpasswd", tmp_path / "config.json"
    passwords.write_text(f"me:{SECRET}\n")
    with real_registry(tmp_path, passwords=passwords) as closed:
        order = msgspec.structs.replace(order_for(closed, model, REPOSITORY), credentials=str(login))
        for password, code, reason in (("wrong", 1, "Unauthorized"), ("secret", 0, "")):
            pair = base64.b64encode(f"me:{password}".encode()).decode()
            login.write_text(json.dumps({"auths": {closed.address: {"auth": pair}}}))
            ended, answer = packed(order, tmp_path)
            assert answer is not None
            assert (ended, answer.reason) == (code, reason)
        said = (tmp_path / "packer.log").read_text()
        assert "secret" not in said
        assert pair not in said


def test_certificates_are_checked(model: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Unless the registry is said to be insecure."""
    monkeypatch.setenv("KUBEDL_TESTBED_HOME", str(tmp_path / "home"))
    authority = Authority.create(Instance(7))
    certificate, key = authority.files("kube-apiserver")  # is for 127.0.0.1 too
    with real_registry(tmp_path, certificate=(certificate, key)) as safe:
        order = msgspec.structs.replace(order_for(safe, model, REPOSITORY), insecure=False)
        code, answer = packed(order, tmp_path)
        assert answer is not None
        assert (code, answer.reason) == (1, "RegistryNotTrusted")  # its CA may be added later
        code, trusted = packed(order, tmp_path, {"SSL_CERT_FILE": str(authority.certificate)})
        assert trusted is not None
        assert (code, trusted.layers_uploaded > 0) == (0, True)
        code, insecure = packed(msgspec.structs.replace(order, insecure=True), tmp_path)
        assert insecure is not None
        assert (code, insecure.digest) == (0, trusted.digest)


@pytest.fixture(scope="module")
def small_ground() -> Iterator[Ground]:
    with ground(files=8, size=SHARD) as here:
        yield here


@pytest.mark.parametrize("part", sampling.one_of((0.2, 0.5, 0.8), "killed packer"))
def test_killed_and_started_again_it_is_the_same_image(small_ground: Ground, part: float) -> None:
    """And what the registry had is not sent again."""
    seen = killed(small_ground, f"killed-{part}", small_ground.seconds * part)
    assert (seen["wrong"], seen["sent again"]) == (0, 0)


@pytest.mark.parametrize("kind", sampling.some_of(tuple(FAULTS), 2, "failures of the registry"))
def test_failures_of_the_registry_that_pass_end_with_the_image(small_ground: Ground, kind: str) -> None:
    with registry_proxy(small_ground.registry.address) as proxy:
        seed = random.randrange(1 << 32)  # noqa: S311
        seen = disturbed(small_ground, proxy, f"disturbed-{kind}", drawn(kind, seed), ENDS[kind])
        assert (seen["wrong"], seen["faults"] > 0) == (0, True), f"seed {seed}"


@pytest.mark.parametrize("name", REFUSED)
def test_a_refusal_that_stays_ends_with_a_reason(small_ground: Ground, name: str) -> None:
    with registry_proxy(small_ground.registry.address) as proxy:
        seen = disturbed(small_ground, proxy, f"refused-{name}", lambda *_: REFUSED[name], ("reason",))
        assert (seen["wrong"], seen["reasons"]) == (0, 1)


def test_an_upload_that_was_cut_becomes_the_right_blob(registry: RealRegistry, tmp_path: Path) -> None:
    """This registry drops an upload that was cut within a request, so it is begun anew: once more, not worse."""
    size, cut = 32 << 20, 20 << 20
    write_shard(tmp_path / "weights", size, "cut")
    cuts = [Fault(cut_after=cut)]
    with registry_proxy(registry.address) as proxy:
        proxy.rule = lambda method, _, size: cuts.pop() if cuts and method == "PATCH" and size > cut else None
        order = order_for(registry, tmp_path / "weights", "cut")
        answer = image_of(msgspec.structs.replace(order, repository=f"{proxy.address}/cut"), tmp_path)
        patches = [request.size for request in proxy.passed if request.method == "PATCH" and request.size > 4096]
    assert cuts == []
    image = registry.manifest("cut", "v1")
    assert image is not None
    assert registry.digest("cut", "v1") == answer.digest
    assert len(registry.blob("cut", image["layers"][1]["digest"])) == image["layers"][1]["size"]
    assert (patches[0], len(patches)) == (cut, 2)


def test_a_cut_after_more_than_our_patience_is_a_cut_like_any_other(
    registry: RealRegistry, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Five minutes are made four seconds, and what may take an hour takes five."""
    monkeypatch.setattr(retry, "GIVE_UP", 4.0)
    size, cut = 32 << 20, 20 << 20
    write_shard(tmp_path / "weights", size, "late")
    cuts = [Fault(delay=5.0, cut_after=cut)]
    with registry_proxy(registry.address) as proxy:
        proxy.rule = lambda method, _, size: cuts.pop() if cuts and method == "PATCH" and size > cut else None
        order = order_for(registry, tmp_path / "weights", "late")
        order = msgspec.structs.replace(order, repository=f"{proxy.address}/late")
        with Registry(parse_reference(order.repository, order.tag), insecure=True) as client:
            answer = pack(order, client)
    assert cuts == []
    assert registry.digest("late", "v1") == answer.digest


def test_told_to_end_it_says_so_at_once(registry: RealRegistry, model: Path, tmp_path: Path) -> None:
    with registry_proxy(registry.address) as proxy:
        proxy.rule = lambda *_: Fault(delay=60, proceed=True)
        order = msgspec.structs.replace(order_for(registry, model, "ended"), repository=f"{proxy.address}/ended")
        packer = Packer(order, tmp_path)
        packer.start()
        _until_connected(packer, proxy.address)
        assert packer.stop(deadline=30) == 1
    answer = packer.answered()
    assert answer is not None
    assert answer.reason == "Stopped"


def _until_connected(packer: Packer, address: str) -> None:
    port = f"{int(address.rpartition(':')[2]):04X}"
    until("the packer to be connected", lambda: packer.insist() and _connected(packer.pid, port), deadline=90)


def _connected(pid: int, port: str) -> bool:
    lines = Path(f"/proc/{pid}/net/tcp").read_text().splitlines()[1:]
    return any(line.split()[2].endswith(f":{port}") and line.split()[3] == "01" for line in lines)


def _tree(root: Path) -> dict[str, str | bytes]:
    found: dict[str, str | bytes] = {}
    for path in root.rglob("*"):
        name = str(path.relative_to(root))
        found[name] = str(path.readlink()) if path.is_symlink() else "directory" if path.is_dir() else path.read_bytes()
    return found
