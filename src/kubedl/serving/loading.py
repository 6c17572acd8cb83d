"""How a model gets into a predictor's pods, and the proof that it is there before the server starts.

The model's image, always by its digest, is mounted whole as an image volume, or its layers are fetched from the
registry. Either way an init container of ours runs first. It finds every file that the image is said to have, and puts
the model into the directory in which the server looks: links into the mounted image, or the files themselves. A cluster
that does not know image volumes removes them from pods without a word; then there is nothing to link to, the init
container fails, and the server never starts with no model.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, Literal

from kubedl.api import registry_access
from kubedl.api.pod_security import AS_NOBODY, RESTRICTED
from kubedl.api.registry_access import DEFAULT_SECRET, NO_PROXIES
from kubedl.serving.template import Body
from kubedl.wire import codec
from kubedl.wire.core import Pod, Terminated, Waiting
from kubedl.wire.meta import Record

Way = Literal["ImageVolume", "InitCopy"]

CONTAINER = "kubedl-model-loader"  # as the first KubeDL called it
COMMAND = ("python3", "-m", "kubedl.main.loader")
IMAGE_VOLUME, MODEL_VOLUME = "kubedl-model-image", "kubedl-model"
REGISTRY_VOLUME, AUTHORITY_VOLUME = "kubedl-registry", "kubedl-authority"
IMAGE_PATH, REGISTRY_PATH, AUTHORITY_PATH = "/kubedl/image", "/kubedl/registry", "/kubedl/authority"
RESOURCES = {"requests": {"cpu": "100m", "memory": "128Mi"}, "limits": {"cpu": "2", "memory": "512Mi"}}


@dataclass(frozen=True)
class Model:
    """A built model version, as far as pods need to know it."""

    version: str
    name: str  # of the Model
    image: str  # by digest
    insecure: bool = False
    secret: str = ""  # with the registry's password; by default the pod's own pull secret, or regcred
    authority: str = ""  # a Secret with the certificates of whoever vouches for the registry


@dataclass(frozen=True)
class Program:
    """The loader as the operator is set up to run it, the same for every predictor."""

    image: str
    proxies: Mapping[str, str] = field(default_factory=lambda: NO_PROXIES)  # variables
    omit_user: bool = False  # the cluster assigns users to containers
    account_secrets: tuple[str, ...] = ()  # pull secrets of the ServiceAccount, where the template names none


@dataclass(frozen=True)
class Words:
    """What a loader said at its end."""

    reason: str
    message: str


def add(spec: Body, model: Model, way: Way, path: str, program: Program, settings: tuple[str, ...] = ()) -> None:
    """Put the model into every container of a pod, at `path`; `settings` are further words for the loader."""
    spec["volumes"] = [*spec["volumes"], {"name": MODEL_VOLUME, "emptyDir": {}}]
    mounts: list[Body] = [{"name": MODEL_VOLUME, "mountPath": path, "readOnly": True}]
    own: list[Body] = [{"name": MODEL_VOLUME, "mountPath": path}]
    variables: Mapping[str, str] = {}
    if way == "ImageVolume":
        image = {"reference": model.image, "pullPolicy": "IfNotPresent"}
        spec["volumes"].append({"name": IMAGE_VOLUME, "image": image})
        _let_pull(spec, model.secret or DEFAULT_SECRET, program.account_secrets)
        mounted = {"name": IMAGE_VOLUME, "mountPath": IMAGE_PATH, "readOnly": True}
        mounts.append(mounted)
        own.append(mounted)
        source = ["--mounted", IMAGE_PATH]
    else:
        spec["volumes"].append(_credentials(spec, model))
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


def way_of(text: str) -> Way:
    """As an annotation or a field has it; what is not known is not copied."""
    return "InitCopy" if text == "InitCopy" else "ImageVolume"


def survived(pod: dict[str, Any], image: str) -> bool:
    """Whether the API server's answer still has the image volume, and everybody's mount of it."""
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
    """What keeps the loader of a pod from being started; None if nothing does."""
    loader = next((one for one in pod.status.init_container_statuses if one.name == CONTAINER), None)
    return loader.state.waiting if loader is not None else None


def last_words(pod: Pod) -> Words | None:
    """Why the loader of a pod failed; None if it has not."""
    loader = next((one for one in pod.status.init_container_statuses if one.name == CONTAINER), None)
    if loader is None:
        return None
    final = loader.state.terminated or loader.last_state.terminated
    if final is None or final.exit_code == 0:
        return None
    return _read(final)


def progress(pods: Iterable[Pod]) -> tuple[bool, datetime | None]:
    """Whether a loader runs now, and when the last one ended."""
    loaders = [one for pod in pods for one in pod.status.init_container_statuses if one.name == CONTAINER]
    ends = [state.terminated for one in loaders for state in (one.state, one.last_state) if state.terminated]
    runs = any(one.state.terminated is None and one.state.waiting is None for one in loaders)
    return runs, max((one.finished_at for one in ends if one.finished_at is not None), default=None)


class _Said(Record, frozen=True):
    reason: str = ""
    message: str = ""


def _read(final: Terminated) -> Words:
    try:
        said = codec.decode(final.message, _Said)
    except codec.UNREADABLE:
        said = _Said()
    if said.reason:
        return Words(said.reason, said.message)
    words = final.message.strip()[-512:]
    return Words("LoaderFailed", f"the loader ended with code {final.exit_code}" + (f": {words}" if words else ""))


def _credentials(spec: Body, model: Model) -> Body:
    """The operator itself reads no Secret."""
    pulling = next((one["name"] for one in spec.get("imagePullSecrets") or () if one.get("name")), "")
    secret = model.secret or pulling or DEFAULT_SECRET
    return registry_access.credentials(REGISTRY_VOLUME, secret, optional=not model.secret)


def _let_pull(spec: Body, secret: str, account: tuple[str, ...]) -> None:
    """With the password by which the version was pushed, the kubelet can pull it; one that is missing harms nobody.

    A pod that names a pull secret gets none of its ServiceAccount's, so these are named too.
    """
    known = spec.get("imagePullSecrets") or [{"name": name} for name in account]
    if all(one.get("name") != secret for one in known):
        known = [*known, {"name": secret}]
    spec["imagePullSecrets"] = known


def _resources(spec: Body) -> Body:
    """In a pod that has all it asks for to itself (Guaranteed) the loader must ask likewise, or the pod has not."""
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
    same = {kind: limits[0][kind] for kind in kinds}  # the larger of loader and servers is what the pod takes
    return {"requests": same, "limits": same}


def _loader(program: Program, words: list[str], mounts: list[Body], resources: Body) -> Body:
    return {
        "name": CONTAINER,
        "image": program.image,
        "imagePullPolicy": "IfNotPresent",
        "command": list(COMMAND),
        # Kubernetes would put the value of a variable in the place of $(NAME).
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
