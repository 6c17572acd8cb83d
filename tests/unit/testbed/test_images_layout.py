"""OCI layouts: what a registry and a container runtime will read from them."""

import hashlib
import json
from pathlib import Path
from typing import Any

from testbed.images.build import container_settings
from testbed.images.definitions_loader import Definition, User
from testbed.images.layers import Layer, write_layer
from testbed.images.layout import (
    blob,
    blobs,
    combine,
    container_config,
    manifest_digest,
    share_layers,
    size,
    write_layout,
)
from testbed.images.tree_diff import changes

MANIFEST = "application/vnd.oci.image.manifest.v1+json"


def make(tmp_path: Path, name: str, config: dict[str, Any], parent: Path | None = None) -> tuple[Path, list[Layer]]:
    tree, layout = tmp_path / f"{name}-tree", tmp_path / name
    tree.mkdir()
    (tree / name).write_text(name)
    layers = share_layers(parent, layout) if parent else []
    layers.append(write_layer(blobs(layout), tree, changes(tree, {})))
    write_layout(layout, layers, config)
    return layout, layers


def read(layout: Path, descriptor: dict[str, Any]) -> dict[str, Any]:
    """The described document, after checking that the description fits."""
    data = (layout / "blobs/sha256" / descriptor["digest"].removeprefix("sha256:")).read_bytes()
    assert descriptor["digest"] == f"sha256:{hashlib.sha256(data).hexdigest()}"
    assert descriptor["size"] == len(data)
    content: dict[str, Any] = json.loads(data)
    return content


def test_layout_leads_from_the_index_to_layers_and_config(tmp_path: Path) -> None:
    layout, [layer] = make(tmp_path, "image", {"Env": ["A=1"]})
    assert json.loads((layout / "oci-layout").read_text()) == {"imageLayoutVersion": "1.0.0"}
    [described] = json.loads((layout / "index.json").read_text())["manifests"]
    assert described["mediaType"] == MANIFEST
    manifest = read(layout, described)
    assert (manifest["schemaVersion"], manifest["mediaType"]) == (2, MANIFEST)
    assert manifest["layers"] == [
        {"mediaType": "application/vnd.oci.image.layer.v1.tar+zstd", "digest": layer.digest, "size": layer.size}
    ]
    assert manifest["config"]["mediaType"] == "application/vnd.oci.image.config.v1+json"
    assert read(layout, manifest["config"]) == {
        "architecture": "amd64",
        "os": "linux",
        "config": {"Env": ["A=1"]},
        "rootfs": {"type": "layers", "diff_ids": [layer.diff_id]},
    }
    assert manifest_digest(layout) == described["digest"]


def test_child_begins_with_its_parents_layer_without_a_copy(tmp_path: Path) -> None:
    parent, [base] = make(tmp_path, "parent", {})
    child, layers = make(tmp_path, "child", {}, parent)
    assert layers[0] == base
    assert len(layers) == 2
    assert blob(child, base).samefile(blob(parent, base))
    [described] = json.loads((child / "index.json").read_text())["manifests"]
    image = read(child, read(child, described)["config"])
    assert image["rootfs"]["diff_ids"] == [layer.diff_id for layer in layers]


def test_the_size_is_what_a_registry_sends(tmp_path: Path) -> None:
    """Every blob but the manifest, which is asked for before."""
    layout, layers = make(tmp_path, "image", {})
    manifest = manifest_digest(layout).removeprefix("sha256:")
    sent = sum(path.stat().st_size for path in blobs(layout).iterdir() if path.name != manifest)
    assert size(layout) == sent > layers[0].size


def test_container_config_can_be_read_back(tmp_path: Path) -> None:
    layout, _ = make(tmp_path, "image", {"Entrypoint": ["/image"]})
    assert container_config(layout) == {"Entrypoint": ["/image"]}


def test_definition_overrides_what_it_inherits() -> None:
    definition = Definition(
        *("child", Path("child.toml"), "trixie", "3.13"), env={"B": "own", "C": "new"}, user=User("someone", 1000)
    )
    assert container_settings(definition, {"Env": ["A=kept", "B=x=y"]}) == {
        "Env": ["A=kept", "B=own", "C=new"],
        "User": "1000:1000",
    }


def test_one_image_for_several_architectures(tmp_path: Path) -> None:
    """A registry and containerd choose by the platform, and every blob is there."""
    layouts = {name: make(tmp_path, name, {})[0] for name in ("amd64", "arm64")}
    both = tmp_path / "both"
    combine(layouts, both, "kubedl:1")
    [entry] = json.loads((both / "index.json").read_text())["manifests"]
    assert entry["annotations"]["io.containerd.image.name"] == "docker.io/library/kubedl:1"
    index = read(both, entry)
    assert [one["platform"] for one in index["manifests"]] == [
        {"architecture": "amd64", "os": "linux"},
        {"architecture": "arm64", "os": "linux"},
    ]
    for described in index["manifests"]:
        manifest = read(both, described)
        read(both, manifest["config"])
        assert all((both / "blobs/sha256" / one["digest"][7:]).exists() for one in manifest["layers"])
