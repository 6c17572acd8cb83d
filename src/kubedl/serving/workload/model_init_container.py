"""Puts the model into predictor pods, and verifies it before the server starts.

The model image, always by digest, is mounted as an image volume, or its layers are pulled from the registry. In both
cases an init container runs first. It verifies every file in the image's list, and puts the model into the directory
that the server reads: links into the mounted image, or the files themselves. Clusters without the ImageVolume feature
silently strip image volumes from pods; then the init container fails, and the server never starts without a model.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, Literal

from kubedl.kube import codec
from kubedl.kube.types.core import Pod, Terminated, Waiting
from kubedl.kube.types.meta import Record
from kubedl.podspec import registry_access
from kubedl.podspec.registry_access import DEFAULT_SECRET, NO_PROXIES
from kubedl.podspec.security import AS_NOBODY, RESTRICTED
from kubedl.serving.workload.template import Body

DeliveryMode = Literal["ImageVolume", "InitCopy"]

CONTAINER = "kubedl-model-loader"  # the name in KubeDL 0.5
COMMAND = ("python3", "-m", "kubedl.entrypoints.loader")
IMAGE_VOLUME, MODEL_VOLUME = "kubedl-model-image", "kubedl-model"
REGISTRY_VOLUME, AUTHORITY_VOLUME = "kubedl-registry", "kubedl-authority"
IMAGE_PATH, REGISTRY_PATH, AUTHORITY_PATH = "/kubedl/image", "/kubedl/registry", "/kubedl/authority"
RESOURCES = {"requests": {"cpu": "100m", "memory": "128Mi"}, "limits": {"cpu": "2", "memory": "512Mi"}}


@dataclass(frozen=True)
class Model:
    """A built model version, reduced to what pods need."""

    version: str
    name: str  # name of the Model
    image: str  # by digest
    insecure: bool = False
    secret: str = ""  # Secret with the registry credentials; by default the pod's own pull secret, or regcred
    authority: str = ""  # Secret with the CA certificates of the registry


@dataclass(frozen=True)
class Program:
    """The loader's settings, the same for all predictors."""

    image: str
    proxies: Mapping[str, str] = field(default_factory=lambda: NO_PROXIES)  # environment variables
    omit_user: bool = False  # the cluster assigns users to containers (OpenShift)
    pull_secrets: tuple[str, ...] = ()  # for its image
    account_secrets: tuple[str, ...] = ()  # pull secrets of the ServiceAccount, if the template names none


@dataclass(frozen=True)
class Words:
    """The termination message of a loader."""

    reason: str
    message: str


def add(
    spec: Body, model: Model, way: DeliveryMode, path: str, program: Program, settings: tuple[str, ...] = ()
) -> None:
    """Mount the model into every container of a pod, at `path`; `settings` are further arguments of the loader."""
    spec["volumes"] = [*spec["volumes"], {"name": MODEL_VOLUME, "emptyDir": {}}]
    mounts: list[Body] = [{"name": MODEL_VOLUME, "mountPath": path, "readOnly": True}]
    own: list[Body] = [{"name": MODEL_VOLUME, "mountPath": path}]
    variables: Mapping[str, str] = {}
    if way == "ImageVolume":
        image = {"reference": model.image, "pullPolicy": "IfNotPresent"}
        spec["volumes"].append({"name": IMAGE_VOLUME, "image": image})
        # The version was pushed with this Secret.
        _let_pull(spec, program, model.secret or DEFAULT_SECRET)
        mounted = {"name": IMAGE_VOLUME, "mountPath": IMAGE_PATH, "readOnly": True}
        mounts.append(mounted)
        own.append(mounted)
        source = ["--mounted", IMAGE_PATH]
    else:
        spec["volumes"].append(_credentials(spec, model))
        if program.pull_secrets:
            _let_pull(spec, program)
        own.append({"name": REGISTRY_VOLUME, "mountPath": REGISTRY_PATH, "readOnly": True})
        if model.authority:
            spec["volumes"].append(registry_access.authority(AUTHORITY_VOLUME, model.authority))
            own.append({"name": AUTHORITY_VOLUME, "mountPath": AUTHORITY_PATH, "readOnly": True})
        variables = registry_access.variables(program.proxies, AUTHORITY_PATH if model.authority else "")
        source = ["--image", model.image, "--credentials", REGISTRY_PATH]
        source += ["--insecure"] if model.insecure else []
    for container in spec["containers"]:
        container["volumeMounts"] = [*container["volumeMounts"], *mounts]
    words = [*source, "--target", path, *settings]
    loader = _loader(program, words, own, _resources(spec))
    if variables:
        loader["env"] = registry_access.environment(variables)
    spec["initContainers"] = [loader, *spec["initContainers"]]


def delivery_mode(text: str) -> DeliveryMode:
    """Parse the value of an annotation or field; unknown values are dropped."""
    return "InitCopy" if text == "InitCopy" else "ImageVolume"


def survived(pod: dict[str, Any], image: str) -> bool:
    """Return whether a pod returned by the API server still has the image volume and all its mounts."""
    spec = pod.get("spec") or {}
    volumes = [one for one in spec.get("volumes") or () if one.get("name") == IMAGE_VOLUME]
    if [(one.get("image") or {}).get("reference") for one in volumes] != [image]:
        return False
    loaders = [one for one in spec.get("initContainers") or () if one.get("name") == CONTAINER]
    readers = [*loaders, *(spec.get("containers") or ())]
    return bool(loaders) and all(
        any(mount.get("name") == IMAGE_VOLUME for mount in one.get("volumeMounts") or ())
        for one in readers
        if one.get("name") == CONTAINER or any(m.get("name") == MODEL_VOLUME for m in one.get("volumeMounts") or ())
    )


def waiting(pod: Pod) -> Waiting | None:
    """Return why the loader of a pod cannot start; None if it can."""
    loader = next((container for container in pod.status.init_container_statuses if container.name == CONTAINER), None)
    return loader.state.waiting if loader is not None else None


def termination_message(pod: Pod) -> Words | None:
    """Return why the loader of a pod failed; None if it has not."""
    loader = next((container for container in pod.status.init_container_statuses if container.name == CONTAINER), None)
    if loader is None:
        return None
    final = loader.state.terminated or loader.last_state.terminated
    if final is None or final.exit_code == 0:
        return None
    return _read(final)


def progress(pods: Iterable[Pod]) -> tuple[bool, datetime | None]:
    """Return whether a loader is running, and when the last one ended."""
    loaders = [
        container for pod in pods for container in pod.status.init_container_statuses if container.name == CONTAINER
    ]
    ends = [state.terminated for one in loaders for state in (one.state, one.last_state) if state.terminated]
    runs = any(one.state.terminated is None and one.state.waiting is None for one in loaders)
    return runs, max(
        (terminated.finished_at for terminated in ends if terminated.finished_at is not None), default=None
    )


class _Said(Record, frozen=True):
    reason: str = ""
    message: str = ""


def _read(final: Terminated) -> Words:
    try:
        argument = codec.decode(final.message, _Said)
    except codec.UNREADABLE:
        argument = _Said()
    if argument.reason:
        return Words(argument.reason, argument.message)
    message = final.message.strip()[-512:]
    return Words("LoaderFailed", f"the loader exited with code {final.exit_code}" + (f": {message}" if message else ""))


def _credentials(spec: Body, model: Model) -> Body:
    """Return the volume with credentials. The operator itself reads no Secret."""
    pulling = next((one["name"] for one in spec.get("imagePullSecrets") or () if one.get("name")), "")
    secret = model.secret or pulling or DEFAULT_SECRET
    return registry_access.credentials(REGISTRY_VOLUME, secret, optional=not model.secret)


def _let_pull(spec: Body, program: Program, *secrets: str) -> None:
    """Add pull secrets, for the model and for the loader's image.

    A pod with pull secrets gets none from its ServiceAccount, so these are added too.
    """
    known = spec.get("imagePullSecrets") or [{"name": name} for name in program.account_secrets]
    spec["imagePullSecrets"] = registry_access.pull_secrets(known, (*secrets, *program.pull_secrets))


def _resources(spec: Body) -> Body:
    """Return the loader's resources. In a Guaranteed pod they need equal requests and limits."""
    kinds = ("cpu", "memory")
    given = [one.get("resources") or {} for one in (*spec["containers"], *spec["initContainers"])]
    limits = [one.get("limits") or {} for one in given]
    exact = all(
        kind in limit and (one.get("requests") or limit).get(kind, limit[kind]) == limit[kind]
        for one, limit in zip(given, limits, strict=True)
        for kind in kinds
    )
    if not exact:
        return RESOURCES
    same = {kind: limits[0][kind] for kind in kinds}  # the pod's effective request is the larger of loader and servers
    return {"requests": same, "limits": same}


def _loader(program: Program, words: list[str], mounts: list[Body], resources: Body) -> Body:
    return {
        "name": CONTAINER,
        "image": program.image,
        "imagePullPolicy": "IfNotPresent",
        "command": list(COMMAND),
        # Kubernetes would expand $(NAME).
        "args": [word.replace("$", "$$") for word in words],
        "resources": resources,
        "securityContext": {
            **RESTRICTED,
            **({} if program.omit_user else AS_NOBODY),
            "readOnlyRootFilesystem": True,
        },
        "terminationMessagePolicy": "FallbackToLogsOnError",
        "volumeMounts": mounts,
    }
