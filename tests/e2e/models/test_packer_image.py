"""The product's image as packer, in a real container: no root, nothing to write to; another pod mounts the result."""

from pathlib import Path

import msgspec

from kubedl.models.pack_protocol import ORDER_VARIABLE, PackRequest, PackResult
from tests.builders import pod
from tests.e2e.workspace import Workspace


def test_a_model_is_packed_under_restricted_and_mounted(workspace: Workspace, base_image: str, tmp_path: Path) -> None:
    """Read-only root file system, the model mounted read-only, the image's own user and entry point."""
    (tmp_path / "saved").mkdir()
    (tmp_path / "saved" / "weights.txt").write_text("0.25 0.75\n")
    cluster, registry = workspace.cluster, workspace.cluster.instance.registry
    raw = cluster.images.push_directory(tmp_path, "raw", workspace.namespace, registry)
    repository = f"{registry}/{workspace.namespace}/model"
    order = PackRequest("/data/saved", repository, "v1", workspace.namespace, "m", "mv", insecure=True)
    builder = pod("packer", cluster.image("kubedl")).mounting_image(raw, "/data")
    body = builder.environment(**{ORDER_VARIABLE: msgspec.json.encode(order).decode()}).build()
    [container] = body["spec"]["containers"]
    container["args"] = ["packer"]
    container["securityContext"]["readOnlyRootFilesystem"] = True
    body["spec"]["securityContext"].pop("runAsUser", None)  # as the image says
    workspace.create("pods", body)
    workspace.succeeded("packer")
    [container] = workspace.pod("packer")["status"]["containerStatuses"]
    answer = msgspec.json.decode(container["state"]["terminated"]["message"], type=PackResult)
    assert workspace.logs("packer").splitlines()[0].startswith("progress 0/")
    read = "cat /image/models/weights.txt /image/kubedl-model/weights.txt"
    reader = pod("reader", base_image).mounting_image(f"{repository}@{answer.digest}", "/image")
    workspace.start(reader.running("sh", "-c", read))
    workspace.succeeded("reader")
    assert workspace.logs("reader") == "0.25 0.75\n" * 2
