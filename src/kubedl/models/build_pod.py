"""The pod that builds a version's image: the packer, under PodSecurity *restricted*, the model mounted read-only.

All that makes the image is in the packer's order, a function of the version alone: a second attempt packs the same one.
How the registry is reached, by which proxy and trusting whom, is in variables that every program understands.
"""

import posixpath
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import msgspec

from kubedl.api import model_volumes, registry_access
from kubedl.api.model import GROUP, MODEL_VERSIONS, ModelVersion
from kubedl.api.model_storage import Storage
from kubedl.api.model_volumes import Owner
from kubedl.api.pod_security import AS_NOBODY
from kubedl.api.registry_access import DEFAULT_SECRET, NO_PROXIES
from kubedl.models.order import KEY_FILE, ORDER_VARIABLE, PASSWORD_FILE, Order, Origin
from kubedl.wire import codec
from kubedl.wire.core import PODS, Pod

VERSION_UID = f"{GROUP}/version-uid"  # labels of the pod
ATTEMPT = f"{GROUP}/attempt"
CONTAINER = "packer"
PREFIX, LONGEST_NAME = "image-build-", 253
COMMAND = ("python3", "-m", "kubedl.main.packer")
SOURCE, REGISTRY, SIGNING, AUTHORITY = "/kubedl/source", "/kubedl/registry", "/kubedl/signing", "/kubedl/authority"
LONGEST_NUMBER = 9  # digits
RESOURCES = {"requests": {"cpu": "250m", "memory": "256Mi"}, "limits": {"cpu": "2", "memory": "512Mi"}}
# The model lies on that node and nowhere else, whatever else the node is kept for.
TOLERATIONS = [{"operator": "Exists", "effect": "NoSchedule"}]

Body = dict[str, Any]


@dataclass(frozen=True)
class Packer:
    """How every build is run, whatever it builds."""

    image: str
    proxies: Mapping[str, str] = field(default_factory=lambda: NO_PROXIES)  # variables by which it reaches the registry
    omit_user: bool = False  # the cluster assigns users to containers


def name_of(version: ModelVersion) -> str:
    """Of the build pod."""
    meta, name = version.metadata, PREFIX + version.metadata.name
    return name if len(name) <= LONGEST_NAME else f"{name[: LONGEST_NAME - 37]}-{meta.uid}"


def attempt_of(pod: Pod) -> int:
    """Which attempt a pod was made for; one whose label somebody spoiled belongs to the first."""
    text = pod.metadata.labels.get(ATTEMPT, "")
    return int(text) if text.isascii() and text.isdecimal() and len(text) <= LONGEST_NUMBER else 1


def owner_of(version: ModelVersion) -> Owner:
    """As what belongs to a version has it."""
    meta = version.metadata
    reference = {
        "apiVersion": MODEL_VERSIONS.api_version,
        "kind": MODEL_VERSIONS.kind,
        "name": meta.name,
        "uid": meta.uid,
        "controller": True,
        "blockOwnerDeletion": True,
    }
    return Owner(meta.namespace, meta.uid, reference)


def order(version: ModelVersion, storage: Storage) -> Order:
    """What the packer is asked to do."""
    meta, spec = version.metadata, version.spec
    known = msgspec.structs.asdict(spec.origin) if spec.origin is not None else {}
    return Order(
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
    """The pod as it is sent to the API server."""
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
        ORDER_VARIABLE: codec.encode(order(version, storage)).decode(),
        **registry_access.variables(packer.proxies, trusted),
    }
    return {
        "apiVersion": PODS.api_version,
        "kind": PODS.kind,
        "metadata": {
            "name": name_of(version),
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
    """Where the packer finds the model; a single file keeps its name."""
    return posixpath.join(SOURCE, model_volumes.base_name(storage))


def _secrets(version: ModelVersion) -> list[tuple[Body, str]]:
    """Volumes, each with the directory that it is mounted in. The operator itself reads no Secret."""
    registry, signing = version.spec.registry, version.spec.signing
    named = registry.credentials if registry is not None else None
    secret = named.secret_name if named is not None else DEFAULT_SECRET
    found = [(registry_access.credentials("registry", secret, optional=named is None), REGISTRY)]
    if registry is not None and registry.authority is not None:
        found.append((registry_access.authority("authority", registry.authority.secret_name), AUTHORITY))
    if signing is not None:
        # Nothing else that the Secret may have; two sources, because only a whole one can be optional.
        key, password = (
            {"secret": {"name": signing.secret_name, "items": [{"key": name, "path": name}], "optional": optional}}
            for name, optional in ((KEY_FILE, False), (PASSWORD_FILE, True))
        )
        found.append(({"name": "signing", "projected": {"sources": [key, password], "defaultMode": 0o444}}, SIGNING))
    return found
