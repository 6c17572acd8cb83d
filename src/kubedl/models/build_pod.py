"""The build pod of a version: runs the packer under Pod Security *restricted*, with the model mounted read-only.

The packer's request is a function of the version alone, so a second attempt builds the same image. Registry access
(proxies, CA certificates) is configured by standard environment variables.
"""

import posixpath
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import msgspec

from kubedl.api.model import GROUP, MODEL_VERSIONS, ModelVersion
from kubedl.api.model_storage import Storage
from kubedl.kube import codec
from kubedl.kube.types.core import PODS, Pod
from kubedl.models.pack_protocol import KEY_FILE, ORDER_VARIABLE, PASSWORD_FILE, Origin, PackRequest
from kubedl.podspec import model_volumes, registry_access
from kubedl.podspec.model_volumes import Owner
from kubedl.podspec.registry_access import DEFAULT_SECRET, NO_PROXIES
from kubedl.podspec.security import AS_NOBODY

VERSION_UID = f"{GROUP}/version-uid"  # labels of the pod
ATTEMPT = f"{GROUP}/attempt"
CONTAINER = "packer"
PREFIX, LONGEST_NAME = "image-build-", 253
COMMAND = ("python3", "-m", "kubedl.entrypoints.packer")
SOURCE, REGISTRY, SIGNING, AUTHORITY = "/kubedl/source", "/kubedl/registry", "/kubedl/signing", "/kubedl/authority"
LONGEST_NUMBER = 9  # digits
RESOURCES = {"requests": {"cpu": "250m", "memory": "256Mi"}, "limits": {"cpu": "2", "memory": "512Mi"}}
# The model is stored on that node only, so the pod tolerates all taints.
TOLERATIONS = [{"operator": "Exists", "effect": "NoSchedule"}]

Body = dict[str, Any]


@dataclass(frozen=True)
class Packer:
    """Settings that all builds share."""

    image: str
    proxies: Mapping[str, str] = field(default_factory=lambda: NO_PROXIES)  # environment variables for registry access
    omit_user: bool = False  # the cluster assigns users to containers (OpenShift)
    pull_secrets: tuple[str, ...] = ()  # for the packer's image, if the ServiceAccount has none


def build_pod_name(version: ModelVersion) -> str:
    """Return the name of the build pod."""
    meta, name = version.metadata, PREFIX + version.metadata.name
    return name if len(name) <= LONGEST_NAME else f"{name[: LONGEST_NAME - 37]}-{meta.uid}"


def attempt_of(pod: Pod) -> int:
    """Return the attempt of a pod; the first one if its label is invalid."""
    text = pod.metadata.labels.get(ATTEMPT, "")
    return int(text) if text.isascii() and text.isdecimal() and len(text) <= LONGEST_NUMBER else 1


def owner_of(version: ModelVersion) -> Owner:
    """Return the labels of a version's objects."""
    return Owner.of(MODEL_VERSIONS, version)


def pack_request(version: ModelVersion, storage: Storage) -> PackRequest:
    """Return the request for the packer."""
    meta, spec = version.metadata, version.spec
    known = msgspec.structs.asdict(spec.origin) if spec.origin is not None else {}
    return PackRequest(
        source=_source(storage),
        repository=spec.image_repo,
        tag=version.tag,
        namespace=meta.namespace,
        model=spec.model_name,
        version=meta.name,
        insecure=spec.registry is not None and spec.registry.insecure,
        credentials=REGISTRY,
        signing_key=SIGNING if spec.signing is not None else "",
        origin=Origin(created_by=spec.created_by, parent=spec.parent, **known),
    )


def render(version: ModelVersion, storage: Storage, attempt: int, packer: Packer) -> Body:
    """Render the pod."""
    owner, meta = owner_of(version), version.metadata
    selector = model_volumes.node_selector(storage)
    secrets = _secrets(version)
    mounts = [
        model_volumes.mount(storage, _source(storage), read_only=True),
        *({"name": volume["name"], "mountPath": path, "readOnly": True} for volume, path in secrets),
    ]
    registry = version.spec.registry
    trusted = AUTHORITY if registry is not None and registry.authority is not None else ""
    variables = {
        ORDER_VARIABLE: codec.encode(pack_request(version, storage)).decode(),
        **registry_access.variables(packer.proxies, trusted),
    }
    return {
        "apiVersion": PODS.api_version,
        "kind": PODS.kind,
        "metadata": {
            "name": build_pod_name(version),
            "namespace": meta.namespace,
            "labels": {VERSION_UID: meta.uid, ATTEMPT: str(attempt)},
            "ownerReferences": [owner.reference],
        },
        "spec": {
            "restartPolicy": "Never",
            "automountServiceAccountToken": False,
            "enableServiceLinks": False,
            "terminationGracePeriodSeconds": 10,
            "securityContext": {
                "runAsNonRoot": True,
                **({} if packer.omit_user else AS_NOBODY),
                "seccompProfile": {"type": "RuntimeDefault"},
            },
            **({"nodeSelector": selector, "tolerations": TOLERATIONS} if selector else {}),
            **(
                {"imagePullSecrets": registry_access.pull_secrets((), packer.pull_secrets)}
                if packer.pull_secrets
                else {}
            ),
            "volumes": [
                model_volumes.volume(storage, owner, read_only=True),
                *(volume for volume, _ in secrets),
            ],
            "containers": [
                {
                    "name": CONTAINER,
                    "image": packer.image,
                    "imagePullPolicy": "IfNotPresent",
                    "command": list(COMMAND),
                    "env": registry_access.environment(variables),
                    "resources": RESOURCES,
                    "securityContext": {
                        "allowPrivilegeEscalation": False,
                        "readOnlyRootFilesystem": True,
                        "capabilities": {"drop": ["ALL"]},
                    },
                    "terminationMessagePolicy": "FallbackToLogsOnError",
                    "volumeMounts": mounts,
                }
            ],
        },
    }


def _source(storage: Storage) -> str:
    """Return the path of the model in the pod; a single file keeps its name."""
    return posixpath.join(SOURCE, model_volumes.base_name(storage))


def _secrets(version: ModelVersion) -> list[tuple[Body, str]]:
    """Return the volumes with their mount paths. The operator itself reads no Secret."""
    registry, signing = version.spec.registry, version.spec.signing
    named = registry.credentials if registry is not None else None
    secret = named.secret_name if named is not None else DEFAULT_SECRET
    found = [(registry_access.credentials("registry", secret, optional=named is None), REGISTRY)]
    if registry is not None and registry.authority is not None:
        found.append((registry_access.authority("authority", registry.authority.secret_name), AUTHORITY))
    if signing is not None:
        # Mount these keys only. Two projected sources, because only a whole source can be optional.
        key, password = (
            {"secret": {"name": signing.secret_name, "items": [{"key": name, "path": name}], "optional": optional}}
            for name, optional in ((KEY_FILE, False), (PASSWORD_FILE, True))
        )
        found.append(({"name": "signing", "projected": {"sources": [key, password], "defaultMode": 0o444}}, SIGNING))
    return found
