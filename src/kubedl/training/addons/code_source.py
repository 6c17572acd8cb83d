"""The code that a job asks for, as a field or by the annotation of the Go KubeDL: read and checked. Pure."""

from typing import Any

import msgspec

from kubedl.api import training_addons as rules
from kubedl.api.conditions import find
from kubedl.api.training import JobStatus, TrainingJob
from kubedl.api.training_addons import CodeSource
from kubedl.kube import codec
from kubedl.kube.bounded_regex import BoundedPattern
from kubedl.training.addons.base import EDIT_IGNORED, AddonError

ANNOTATION = "kubedl.io/git-sync-config"
ADDED_LATE = "CodeAddedLate"  # reason of EditIgnored for a job that runs without the code
WHOLE = BoundedPattern(r"[0-9a-f]{40}([0-9a-f]{24})?", longest=64)  # a commit's full number
LONGEST_ANNOTATION = 65_536  # characters; the 32 variables are the only part of it that has no bound of its own

_ADDRESS = BoundedPattern(rules.ADDRESS, rules.LONGEST_ADDRESS)
_NAME = BoundedPattern(rules.NAME_IN_GIT, rules.LONGEST_NAME)
_DIRECTORY = BoundedPattern(rules.DIRECTORY, rules.LONGEST_DIRECTORY)
_ROOT = BoundedPattern(rules.ABSOLUTE, rules.LONGEST_ROOT)


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


def requested_source(resource: TrainingJob) -> tuple[CodeSource, str] | None:
    """The code that a job asks for, checked, and an ssh key of the image's own; None if it asks for none."""
    if is_ignored(resource.status):
        return None
    field: CodeSource | None = resource.spec.code_source
    annotation = resource.metadata.annotations.get(ANNOTATION)
    if annotation is None:
        return (_checked(field, "spec.codeSource"), "") if field is not None else None
    if field is not None:
        raise _refused(f"code is asked for twice, by spec.codeSource and by annotation {ANNOTATION}; remove one")
    return _from_annotation(annotation)


def destination(source: CodeSource) -> str:
    """Return the directory below workingDir that the code is in; by default the repository's name."""
    return source.destination or source.repository.rstrip("/").replace(":", "/").rpartition("/")[2].removesuffix(".git")


def is_asked_for(resource: TrainingJob) -> bool:
    """Whether a job asks for code at all, in a way that can be understood or not."""
    return resource.spec.code_source is not None or ANNOTATION in resource.metadata.annotations


def is_ignored(status: JobStatus) -> bool:
    """Whether code was asked for only after the first pods had been made without it."""
    condition = find(status.conditions, EDIT_IGNORED)
    return condition is not None and (condition.status, condition.reason) == ("True", ADDED_LATE)


def is_wanted(resource: TrainingJob) -> bool:
    """Whether a job's pods are to have code."""
    return is_asked_for(resource) and not is_ignored(resource.status)


def revision(resource: TrainingJob) -> str:
    """The commit that every pod must run, as it is written or was asked for by its number; empty while unknown."""
    if resource.status.code_revision:
        return resource.status.code_revision
    try:
        found = requested_source(resource)
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
        env=tuple(codec.RawObject.of(entry) for entry in config.envs or ()),
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


def _refused(message: str) -> AddonError:
    return AddonError("CodeSourceInvalid", message)
