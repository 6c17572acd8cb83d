"""An image on disk: an OCI layout that holds exactly one image for one architecture; `combine` makes one of several.

A layout is complete or absent: `index.json`, which makes it readable, is written last.
"""

import hashlib
import json
import os
import shutil
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from testbed.images.layers import Layer

MANIFEST = "application/vnd.oci.image.manifest.v1+json"
_INDEX = "application/vnd.oci.image.index.v1+json"
_CONFIG = "application/vnd.oci.image.config.v1+json"
_LAYER = "application/vnd.oci.image.layer.v1.tar+zstd"


def blobs(layout: Path) -> Path:
    """Where a layout keeps its layers; made if missing."""
    directory = layout / "blobs/sha256"
    directory.mkdir(parents=True, exist_ok=True)
    return directory


def write_layout(layout: Path, layers: Sequence[Layer], config: Mapping[str, Any], architecture: str = "amd64") -> None:
    """Complete a layout whose layers are among its blobs; `config` is what a container starts with."""
    image = {
        "architecture": architecture,
        "os": "linux",
        "config": config,
        "rootfs": {"type": "layers", "diff_ids": [layer.diff_id for layer in layers]},
    }
    manifest = {
        "schemaVersion": 2,
        "mediaType": MANIFEST,
        "config": _write_blob(layout, _CONFIG, image),
        "layers": [{"mediaType": _LAYER, "digest": layer.digest, "size": layer.size} for layer in layers],
    }
    _complete(layout, _write_blob(layout, MANIFEST, manifest))


def combine(layouts: Mapping[str, Path], target: Path, name: str) -> None:
    """One image for several architectures, which loads under this name, from layouts of one each."""
    manifests = []
    for architecture, layout in layouts.items():
        for file in blobs(layout).iterdir():
            shutil.copyfile(file, blobs(target) / file.name)
        described = json.loads((layout / "index.json").read_text())["manifests"][0]
        manifests.append(described | {"platform": {"architecture": architecture, "os": "linux"}})
    index = _write_blob(target, _INDEX, {"schemaVersion": 2, "mediaType": _INDEX, "manifests": manifests})
    # The first is read by containerd (`ctr images import`, `kind load`), the second by skopeo.
    names = {"io.containerd.image.name": f"docker.io/library/{name}", "org.opencontainers.image.ref.name": name}
    _complete(target, index | {"annotations": names})


def manifest_digest(layout: Path) -> str:
    """What a registry calls this image."""
    index = json.loads((layout / "index.json").read_text())
    return str(index["manifests"][0]["digest"])


def size(layout: Path) -> int:
    """Bytes that a registry sends to whoever has none of this image."""
    manifest = _read_blob(layout, manifest_digest(layout))
    return sum(int(entry["size"]) for entry in (manifest["config"], *manifest["layers"]))


def container_config(layout: Path) -> dict[str, Any]:
    """What a container of this image starts with."""
    config: dict[str, Any] = _image(layout)["config"]
    return config


def share_layers(source: Path, target: Path) -> list[Layer]:
    """Link a layout's layers into another one, which then begins with them."""
    described = _read_blob(source, manifest_digest(source))["layers"]
    layers = [
        Layer(entry["digest"], entry["size"], diff_id)
        for entry, diff_id in zip(described, _image(source)["rootfs"]["diff_ids"], strict=True)
    ]
    for layer in layers:
        os.link(blob(source, layer), blob(target, layer))
    return layers


def blob(layout: Path, layer: Layer) -> Path:
    """The file of a layer."""
    return blobs(layout) / layer.digest.removeprefix("sha256:")


def _complete(layout: Path, entry: Mapping[str, Any]) -> None:
    (layout / "oci-layout").write_text('{"imageLayoutVersion": "1.0.0"}')
    (layout / "index.json").write_text(json.dumps({"schemaVersion": 2, "manifests": [entry]}))


def _image(layout: Path) -> dict[str, Any]:
    return _read_blob(layout, _read_blob(layout, manifest_digest(layout))["config"]["digest"])


def _read_blob(layout: Path, digest: str) -> dict[str, Any]:
    content: dict[str, Any] = json.loads((blobs(layout) / digest.removeprefix("sha256:")).read_text())
    return content


def _write_blob(layout: Path, media_type: str, content: Mapping[str, Any]) -> dict[str, Any]:
    data = json.dumps(content).encode()
    digest = hashlib.sha256(data).hexdigest()
    (blobs(layout) / digest).write_bytes(data)
    return {"mediaType": media_type, "digest": f"sha256:{digest}", "size": len(data)}
