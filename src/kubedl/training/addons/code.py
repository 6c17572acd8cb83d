"""Code from git, as a field or by the annotation of the first KubeDL: read, checked, and put into pods.

An init container fetches it into a volume that all containers of the pod see. It is the same commit in every pod that
the job ever has: the first pod is made alone and says which commit it got, which is written to the status before any
other pod is made, and from then on is what everybody fetches. `sync_status` reads what the init container said.
"""

import posixpath
from typing import Any

import msgspec

from kubedl.api import training_addons as rules
from kubedl.api.conditions import find
from kubedl.api.pod_security import NOBODY, RESTRICTED
from kubedl.api.training import JobStatus, TrainingJob
from kubedl.api.training_addons import CodeSource
from kubedl.training.addons.addon import Addon, AddonError, Body
from kubedl.training.addons.git_script import PROTOCOLS, SCRIPT
from kubedl.training.job import Job
from kubedl.training.snapshot import Settings
from kubedl.wire import codec
from kubedl.wire.pattern import Pattern

ANNOTATION = "kubedl.io/git-sync-config"
EDIT_IGNORED, ADDED_LATE = "EditIgnored", "CodeAddedLate"  # condition and reason of a job that runs without the code
CONTAINER = "git-sync-code"
VOLUME = "git-sync"
SECRET_VOLUME, SECRET_PATH = "git-sync-secret", "/etc/kubedl/git"
USERS_VOLUME, USERS = "git-sync-users", "training.kubedl.io/git-sync-users"
RESULT = "/dev/termination-log"
WHOLE = Pattern(r"[0-9a-f]{40}([0-9a-f]{24})?", longest=64)  # a commit's full number
LONGEST_ANNOTATION = 65_536  # characters; the 32 variables are the only part of it that has no bound of its own
# Requests equal limits: a pod whose containers are guaranteed their resources stays so.
RESOURCES = {"requests": {"cpu": "250m", "memory": "512Mi"}, "limits": {"cpu": "250m", "memory": "512Mi"}}


_ADDRESS = Pattern(rules.ADDRESS, rules.LONGEST_ADDRESS)
_NAME = Pattern(rules.NAME_IN_GIT, rules.LONGEST_NAME)
_DIRECTORY = Pattern(rules.DIRECTORY, rules.LONGEST_DIRECTORY)
_ROOT = Pattern(rules.ABSOLUTE, rules.LONGEST_ROOT)


class _Variable(msgspec.Struct, frozen=True):
    name: str


class _Config(msgspec.Struct, frozen=True, rename="camel", forbid_unknown_fields=True):
    """The annotation, as the first KubeDL read it."""

    source: str
    image: str | None = None
    root_path: str | None = None
    dest_path: str | None = None
    envs: list[dict[str, Any]] | None = None
    branch: str | None = None
    revision: str | None = None
    depth: str | int | None = None
    max_failures: int | None = None
    ssh: bool | None = None  # the address says it
    ssh_file: str | None = None
    user: str | None = None
    password: str | None = None


class CodeSync(Addon):
    """The add-on."""

    def check(self, made: TrainingJob) -> None:
        """Everything that can be wrong is found before a pod is made."""
        wish(made)

    def complete(self, pod: Body, job: Job, settings: Settings) -> None:
        """The init container, its volumes, and the code in every container."""
        found = wish(job.made)
        if found is None:
            return
        source, key = found
        spec = pod["spec"]
        user = _user(spec, job.container, None if settings.omit_user else NOBODY)
        volumes: list[Body] = [{"name": VOLUME, "emptyDir": {}}]
        mounts: list[Body] = [{"name": VOLUME, "mountPath": source.root_path}]
        if source.secret_name:
            # Optional: the script can say that it is missing, where a pod that waits for it would say nothing.
            secret = {"secretName": source.secret_name, "defaultMode": 0o444, "optional": True}
            volumes.append({"name": SECRET_VOLUME, "secret": secret})
            mounts.append({"name": SECRET_VOLUME, "mountPath": SECRET_PATH, "readOnly": True})
        if _scope(source.repository) is None and user is not None:
            # ssh refuses to work for a user who has no name, which few images give to any number.
            pod["metadata"]["annotations"] = {
                **pod["metadata"]["annotations"],
                USERS: f"root:x:0:0::/:/bin/sh\ncode:x:{user}:{user}::/:/bin/sh\n",
            }
            entry = {"path": "passwd", "fieldRef": {"fieldPath": f"metadata.annotations['{USERS}']"}}
            volumes.append({"name": USERS_VOLUME, "downwardAPI": {"items": [entry]}})
            mounts.append({"name": USERS_VOLUME, "mountPath": "/etc/passwd", "subPath": "passwd", "readOnly": True})
        directory = destination(source)
        spec["volumes"] = [*(spec.get("volumes") or ()), *volumes]
        spec["initContainers"] = [
            *(spec.get("initContainers") or ()),
            {
                "name": CONTAINER,
                "image": source.image or settings.git_image,
                "imagePullPolicy": "IfNotPresent",
                "command": ["sh", "-c", SCRIPT],
                "env": [*_environment(source, key, job.made), *(entry.unpack() for entry in source.env)],
                "resources": source.resources.unpack() if source.resources is not None else RESOURCES,
                "securityContext": _security(user),
                "terminationMessagePath": RESULT,
                "terminationMessagePolicy": "FallbackToLogsOnError",
                "volumeMounts": mounts,
            },
        ]
        for container in spec["containers"]:
            place = posixpath.join(container.get("workingDir") or source.root_path, directory)
            mount = {"name": VOLUME, "mountPath": place, "subPath": directory}
            container["volumeMounts"] = [*(container.get("volumeMounts") or ()), mount]


def wish(made: TrainingJob) -> tuple[CodeSource, str] | None:
    """The code that a job asks for, checked, and an ssh key of the image's own; None if it asks for none."""
    if is_ignored(made.status):
        return None
    field: CodeSource | None = made.spec.code_source
    annotation = made.metadata.annotations.get(ANNOTATION)
    if annotation is None:
        return (_checked(field, "spec.codeSource"), "") if field is not None else None
    if field is not None:
        raise _refused(f"code is asked for twice, by spec.codeSource and by annotation {ANNOTATION}; remove one")
    return _from_annotation(annotation)


def destination(source: CodeSource) -> str:
    """The directory below workingDir that the code is in: the repository's name unless somebody says otherwise."""
    return source.destination or source.repository.rstrip("/").replace(":", "/").rpartition("/")[2].removesuffix(".git")


def is_asked_for(made: TrainingJob) -> bool:
    """Whether a job asks for code at all, in a way that can be understood or not."""
    return made.spec.code_source is not None or ANNOTATION in made.metadata.annotations


def is_ignored(status: JobStatus) -> bool:
    """Whether code was asked for only after the first pods had been made without it."""
    found = find(status.conditions, EDIT_IGNORED)
    return found is not None and (found.status, found.reason) == ("True", ADDED_LATE)


def is_wanted(made: TrainingJob) -> bool:
    """Whether a job's pods are to have code."""
    return is_asked_for(made) and not is_ignored(made.status)


def revision(made: TrainingJob) -> str:
    """The commit that every pod must run, as it is written or was asked for by its number; empty while unknown."""
    if made.status.code_revision:
        return made.status.code_revision
    try:
        found = wish(made)
    except AddonError:
        return ""
    asked = found[0].revision if found is not None else ""
    return asked if WHOLE.fullmatch(asked) else ""


def _from_annotation(text: str) -> tuple[CodeSource, str]:
    place = f"annotation {ANNOTATION}"
    if len(text) > LONGEST_ANNOTATION:
        raise _refused(f"{place}: it has {len(text)} characters, and may have {LONGEST_ANNOTATION}")
    try:
        config = codec.decode(text, _Config)
    except codec.UNREADABLE as error:
        raise _refused(f"{place}: {error}") from error
    if config.password or config.user:
        raise _refused(f"{place}: user, password: {rules.NO_CREDENTIALS}")
    depth, failures = str(1 if config.depth in (None, "") else config.depth), config.max_failures or 3
    if not (depth.isascii() and depth.isdecimal() and len(depth) <= 9):
        raise _refused(f"{place}: depth: a number of commits, or 0 for all")
    if not 0 < failures <= 100:
        raise _refused(f"{place}: maxFailures: a number from 1 to 100; nothing is tried for ever")
    key = config.ssh_file or ""
    if key and not _ROOT.fullmatch(key):
        raise _refused(f"{place}: sshFile: {rules.NO_ROOT}")
    source = CodeSource(
        repository=config.source,
        branch=config.branch or "",
        revision=config.revision or "",
        destination=config.dest_path or "",
        root_path=config.root_path or "/code",
        depth=int(depth),
        max_failures=failures,
        image=config.image or "",
        env=tuple(codec.Opaque.of(entry) for entry in config.envs or ()),
    )
    return _checked(source, place), key


def _checked(source: CodeSource, place: str) -> CodeSource:
    """The API server has checked a field already, but an object may be older than its rules."""
    _check_lengths(source, place)
    if rules.has_credentials(source.repository):
        raise _refused(f"{place}: the repository's address: {rules.NO_CREDENTIALS}")
    if not _ADDRESS.fullmatch(source.repository):
        raise _refused(f"{place}: the repository's address: {rules.NO_ADDRESS}")
    if source.secret_name and source.repository.startswith("http://"):
        raise _refused(f"{place}: {rules.IN_CLEAR_TEXT}")
    for name in (source.branch, source.revision):
        if name and not _NAME.fullmatch(name):
            raise _refused(f"{place}: {rules.NO_NAME}")
    if not _DIRECTORY.fullmatch(destination(source)):
        raise _refused(f"{place}: the destination: {rules.NO_DIRECTORY}")
    if not _ROOT.fullmatch(source.root_path):
        raise _refused(f"{place}: rootPath: {rules.NO_ROOT}")
    _check_variables(source, place)
    return source


def _check_variables(source: CodeSource, place: str) -> None:
    if len(source.env) > rules.MOST_VARIABLES:
        raise _refused(f"{place}: there are {len(source.env)} variables, and may be {rules.MOST_VARIABLES}")
    for entry in source.env:
        try:
            name = codec.decode(entry.json, _Variable).name
        except codec.UNREADABLE as error:
            raise _refused(f"{place}: a variable: {error}") from error
        if name.startswith(("GIT_SYNC_", "KUBEDL_GIT_")):
            raise _refused(f"{place}: variable {name} has no meaning here; use the field that it stood for")


def _check_lengths(source: CodeSource, place: str) -> None:
    """An annotation, unlike a field, may be as long as an object: nothing in it is matched before it is measured."""
    for name, text, longest in (
        ("the repository's address", source.repository, rules.LONGEST_ADDRESS),
        ("the branch", source.branch, rules.LONGEST_NAME),
        ("the revision", source.revision, rules.LONGEST_NAME),
        ("the destination", source.destination, rules.LONGEST_DIRECTORY),
        ("rootPath", source.root_path, rules.LONGEST_ROOT),
        ("the image", source.image, rules.LONGEST_IMAGE),
    ):
        if len(text) > longest:
            raise _refused(f"{place}: {name}: it has {len(text)} characters, and may have {longest}")


def _environment(source: CodeSource, key: str, made: TrainingJob) -> list[Body]:
    wanted = revision(made) or source.revision
    names = wanted or (f"refs/heads/{source.branch} refs/tags/{source.branch}" if source.branch else "HEAD")
    variables = {
        "GIT_TERMINAL_PROMPT": "0",
        "GIT_ALLOW_PROTOCOL": PROTOCOLS,
        "GIT_HTTP_LOW_SPEED_LIMIT": "1000",  # bytes a second, below which for a minute a server counts as silent
        "GIT_HTTP_LOW_SPEED_TIME": "60",
        "KUBEDL_GIT_REPOSITORY": source.repository,
        "KUBEDL_GIT_SCOPE": _scope(source.repository) or "",
        "KUBEDL_GIT_REFS": names,
        "KUBEDL_GIT_REVISION": wanted,
        "KUBEDL_GIT_ROOT": source.root_path,
        "KUBEDL_GIT_DESTINATION": destination(source),
        "KUBEDL_GIT_DEPTH": str(source.depth),
        "KUBEDL_GIT_FAILURES": str(source.max_failures),
        "KUBEDL_GIT_SECRET": SECRET_PATH if source.secret_name else "",
        "KUBEDL_GIT_SECRET_NAME": source.secret_name,
        "KUBEDL_GIT_SSH_KEY": key,
        "KUBEDL_GIT_RESULT": RESULT,
    }
    # Kubernetes would put the value of another variable in the place of $(NAME).
    return [{"name": name, "value": value.replace("$", "$$")} for name, value in variables.items()]


def _scope(repository: str) -> str | None:
    """The server to which credentials may be sent; None where ssh does it."""
    protocol, _, rest = repository.partition("://")
    server = rest.partition("/")[0]
    return f"{protocol}://{server}" if protocol in {"https", "http", "git"} and server else None


def _user(spec: Body, main: str, otherwise: int | None) -> int | None:
    """As whom the main container runs, so that it owns its code; never root. None: as the cluster decides."""
    own = next((one.get("securityContext") for one in spec["containers"] if one["name"] == main), None)
    for context in (own, spec.get("securityContext")):
        user = context.get("runAsUser") if isinstance(context, dict) else None
        if isinstance(user, int) and user > 1:  # neither root nor a boolean
            return user
    return otherwise  # for templates that name no user, or root


def _security(user: int | None) -> Body:
    return {**({"runAsUser": user} if user is not None else {}), **RESTRICTED}


def _refused(message: str) -> AddonError:
    return AddonError("CodeSourceInvalid", message)
