"""Single files of this machine in the pods of a job: one immutable ConfigMap, mounted file by file."""

import base64
from collections.abc import Mapping
from hashlib import sha256
from typing import Any

from kubedl.client.errors import CodeTooLarge, Invalid
from kubedl.client.volume_names import CONFIG_FILES as VOLUME

LABEL = "kubedl.io/files"  # marks ConfigMaps that were made for one job, as those with code
MOST_BYTES, MOST_FILES = 900 * 1024, 100


def mounted(manifest: dict[str, Any], files: Mapping[str, bytes], namespace: str) -> dict[str, Any]:
    """Return the ConfigMap of files, by their paths in pods, which all pods of the manifest then mount."""
    made = config_map(str(manifest["metadata"]["name"]), files, namespace)
    volume = {"name": VOLUME, "configMap": {"name": made["metadata"]["name"]}}
    mounts = [
        {"name": VOLUME, "mountPath": path, "subPath": _key(place), "readOnly": True}
        for place, path in enumerate(sorted(files))
    ]
    for role in next(value for key, value in manifest["spec"].items() if key.endswith("ReplicaSpecs")).values():
        spec = role["template"]["spec"]
        taken = {mount["mountPath"] for mount in spec["containers"][0].get("volumeMounts") or ()}
        if doubled := sorted(taken & set(files)):
            raise Invalid(f"{doubled[0]} is mounted twice", "another volume is there", ("another path",))
        spec["volumes"] = [*(spec.get("volumes") or ()), dict(volume)]
        container = spec["containers"][0]
        container["volumeMounts"] = [*(container.get("volumeMounts") or ()), *map(dict, mounts)]
    return made


def config_map(job: str, files: Mapping[str, bytes], namespace: str) -> dict[str, Any]:
    """Return the ConfigMap. Its name has the digest, so sending it again does no harm."""
    size, digest = sum(map(len, files.values())), sha256()
    if size > MOST_BYTES or len(files) > MOST_FILES:
        what = f"{len(files)} files have {size // 1024} KiB"
        steps = ("a claim: --data CLAIM:/path", "an image that has them")
        raise CodeTooLarge(what, f"a ConfigMap holds {MOST_BYTES // 1024} KiB, and {MOST_FILES} are sent", steps)
    for path, content in sorted(files.items()):
        if not path.startswith("/") or path.endswith("/") or ":" in path or ".." in path.split("/"):
            raise Invalid(
                f"{path[:200]} is no path of a file in pods", "it must be absolute", ("/etc/app/config.json",)
            )
        for part in (path.encode(), content):
            digest.update(len(part).to_bytes(8, "big") + part)
    return {
        "apiVersion": "v1",
        "kind": "ConfigMap",
        "metadata": {
            "name": f"{job}-config-{digest.hexdigest()[:10]}",
            **({"namespace": namespace} if namespace else {}),
            "labels": {LABEL: "code"},
        },
        "immutable": True,
        "binaryData": {
            _key(place): base64.b64encode(content).decode() for place, (_, content) in enumerate(sorted(files.items()))
        },
    }


def _key(place: int) -> str:
    """Return the name of a file in the ConfigMap, which may not have every letter that a path may."""
    return f"file-{place}"
