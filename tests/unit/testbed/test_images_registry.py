"""Pushing: what the registry has is not sent again."""

import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path

import pytest

from testbed.errors import TestbedError
from testbed.images import Images
from testbed.images.layout import manifest_digest, write_layout
from testbed.images.registry import push_layout


class Registry(HTTPServer):
    """Answers for one manifest only."""

    digest = ""

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), Handler)
        self.address = f"127.0.0.1:{self.server_port}"
        self.asked: list[str] = []


class Handler(BaseHTTPRequestHandler):
    server: Registry

    def do_HEAD(self) -> None:
        self.server.asked.append(f"{self.path} {self.headers['Accept']}")
        self.send_response(200 if self.server.digest else 404)
        self.send_header("Docker-Content-Digest", self.server.digest)
        self.end_headers()

    def log_message(self, *_: object) -> None:
        pass


@pytest.fixture
def registry() -> Iterator[Registry]:
    with Registry() as server:
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
        thread.start()
        yield server
        server.shutdown()
        thread.join()


@pytest.fixture
def pushed(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The targets of all copies, none of which happens."""
    targets: list[str] = []

    def record(*command: str, timeout: float) -> str:
        assert timeout > 0
        targets.append(command[-1])
        return ""

    monkeypatch.setattr("testbed.images.registry.run", record)
    return targets


@pytest.fixture
def layout(tmp_path: Path) -> Path:
    write_layout(tmp_path / "layout", [], {})
    return tmp_path / "layout"


def test_image_that_the_registry_holds_is_not_pushed(layout: Path, registry: Registry, pushed: list[str]) -> None:
    registry.digest = manifest_digest(layout)
    push_layout(layout, f"{registry.address}/some/image:1")
    assert pushed == []
    assert registry.asked == ["/v2/some/image/manifests/1 application/vnd.oci.image.manifest.v1+json"]


@pytest.mark.parametrize("digest", ["", "sha256:another"])
def test_missing_or_other_image_is_pushed(layout: Path, registry: Registry, pushed: list[str], digest: str) -> None:
    registry.digest = digest
    push_layout(layout, f"{registry.address}/some/image:1")
    assert pushed == [f"docker://{registry.address}/some/image:1"]


def test_silent_registry_is_an_error_that_names_it(layout: Path, registry: Registry) -> None:
    address = registry.address
    registry.server_close()
    with pytest.raises(TestbedError, match=f"no registry answers at {address}"):
        push_layout(layout, f"{address}/some/image:1")


def test_directory_is_pushed_under_the_given_tag(tmp_path: Path, registry: Registry, pushed: list[str]) -> None:
    (tmp_path / "model.json").touch()
    reference = Images(tmp_path).push_directory(tmp_path, name="data", tag="1", registry=registry.address)
    assert reference == f"{registry.address}/kubedl-test/data:1"
    assert pushed == [f"docker://{reference}"]


def test_file_is_no_directory(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    with pytest.raises(TestbedError, match="file is not a directory"):
        Images(tmp_path).push_directory(tmp_path / "file", name="data", tag="1", registry="nowhere")
