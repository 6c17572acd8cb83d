"""The loader as a pod runs it: its arguments, its exit code, and its last words."""

import json
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from kubedl.api.inference_scaling import Batching
from kubedl.entrypoints.loader import main, parser
from kubedl.models.pack_protocol import PackRequest
from kubedl.models.packer.pack import pack
from kubedl.serving.workload import batching, model_init_container
from kubedl.serving.workload.model_init_container import Model
from tests.unit.oci.conftest import Connect, clock, connect, fake, model, order
from tests.unit.oci.fake_registry import FakeRegistry, Fault

__all__ = ["clock", "connect", "fake", "model", "order"]  # fixtures

DIGEST = "sha256:" + "a" * 64


@pytest.fixture(autouse=True)
def handlers(monkeypatch: pytest.MonkeyPatch) -> dict[int, Any]:
    """Handlers of signals, which are not those of the tests."""
    installed: dict[int, Any] = {}
    monkeypatch.setattr("kubedl.entrypoints.loader.signal.signal", installed.__setitem__)
    return installed


@pytest.fixture
def target(tmp_path: Path) -> Path:
    """An empty directory."""
    made = tmp_path / "target"
    made.mkdir()
    return made


def ended(tmp_path: Path, *arguments: str) -> tuple[int, dict[str, str]]:
    """Exit code and last words."""
    log = tmp_path / "last-words"
    code = main([*arguments, "--termination-log", str(log)])
    return code, json.loads(log.read_text()) if log.exists() else {}


@pytest.mark.parametrize("way", ["ImageVolume", "InitCopy"])
@pytest.mark.parametrize("framework", ["Triton", "MLServer"])
def test_it_takes_what_pods_tell_it(way: model_init_container.DeliveryMode, framework: str) -> None:
    """Every word of a rendered init container."""
    spec = {"containers": [{"name": "server", "volumeMounts": []}], "volumes": [], "initContainers": []}
    wish = Batching(batch_size=4, timeout_milliseconds=20)
    words = batching.loader_arguments(framework, wish)  # type: ignore[arg-type]
    known = Model("v", "resnet", f"hub/resnet@{DIGEST}", insecure=True)
    model_init_container.add(spec, known, way, "/kubedl-model", model_init_container.Program("packer:1"), words)
    options = parser().parse_args(spec["initContainers"][0]["args"])
    assert options.target == Path("/kubedl-model")
    assert (options.triton_batching, options.mlserver_batching) in (([4, 20_000], None), (None, [4, 0.02]))


def test_an_image_from_its_registry(
    fake: FakeRegistry, connect: Connect, order: PackRequest, model: Path, target: Path, tmp_path: Path
) -> None:
    answer = pack(order, connect())
    reference = f"{fake.address}/team/model@{answer.digest}"
    assert ended(tmp_path, "--image", reference, "--insecure", "--target", str(target)) == (0, {})
    assert (target / "saved_model.pb").read_bytes() == (model / "saved_model.pb").read_bytes()


def test_an_image_that_is_not_there(fake: FakeRegistry, target: Path, tmp_path: Path) -> None:
    reference = f"{fake.address}/team/model@{DIGEST}"
    code, words = ended(tmp_path, "--image", reference, "--insecure", "--target", str(target))
    assert (code, words["reason"]) == (2, "BadImage")


def test_a_registry_that_knows_nobody_is_asked_for_no_more_than_to_pull(
    fake: FakeRegistry, target: Path, tmp_path: Path
) -> None:
    """A robot that may only read need not be trusted with more; what is wrong is said in the right words."""
    fake.token = "secret"  # noqa: S105 - of a registry in memory
    reference = f"{fake.address}/team/model@{DIGEST}"
    assert ended(tmp_path, "--image", reference, "--insecure", "--target", str(target))[0] == 2  # it is not there
    asked = next(seen.path for seen in fake.seen if "/token" in seen.path)
    assert asked.endswith("scope=repository%3Ateam%2Fmodel%3Apull")
    fake.faults += [Fault("GET", status=403, path="manifests/")]
    code, words = ended(tmp_path, "--image", reference, "--insecure", "--target", str(target))
    assert (code, words["reason"]) == (1, "Forbidden")
    assert "no permission to pull from team/model" in words["message"]


def test_a_volume_that_was_taken_out(target: Path, tmp_path: Path) -> None:
    code, words = ended(tmp_path, "--mounted", str(tmp_path / "nothing"), "--target", str(target))
    assert (code, words["reason"]) == (2, "ModelMissing")
    assert list(target.iterdir()) == []


def test_a_pod_that_is_deleted_does_not_wait_for_the_download(
    handlers: dict[int, Any], target: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    ended(tmp_path, "--mounted", str(tmp_path / "nothing"), "--target", str(target))
    codes: list[int] = []
    monkeypatch.setattr("kubedl.entrypoints.loader.os._exit", codes.append)
    handlers[signal.SIGTERM](signal.SIGTERM, None)
    assert codes == [1]


def test_pods_do_not_wait_for_what_they_do_not_need() -> None:
    """Where the image is mounted, nothing but the standard library is imported beside the loader itself."""
    modules = "sorted(name for name in sys.modules if name.startswith('msgspec'))"
    script = f"import sys, kubedl.entrypoints.loader; print({modules})"
    source = Path(__file__).parents[3] / "src"
    run = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True, cwd=source)
    assert run.stdout.strip() == "[]"
