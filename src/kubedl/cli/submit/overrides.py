"""Changes a job by the flags of `submit`: `--set memory=96Gi`."""

import difflib
from collections.abc import Iterator, Sequence
from copy import deepcopy
from dataclasses import replace
from typing import Any

import click
from click.core import ParameterSource

from kubedl.cli.commands.submit_job import SubmitCommand, command_for
from kubedl.cli.settings import GLOBAL
from kubedl.cli.submit import roles
from kubedl.cli.submit.flags import JobFlags
from kubedl.cli.submit.kind_schema import KindSchema, installed_kind, known_kinds
from kubedl.cli.submit.manifest import job_manifest
from kubedl.cli.submit.merging import Part, carry_over
from kubedl.client import Job
from kubedl.client.job import QUEUE_LABEL
from kubedl.client.scaling import resized

WORKERS, COMMAND, QUEUE, GANG = "workers", "command", "queue", "gang"
# What a job has if the flag is not given, replaced by something that nobody asks for: only then it shows that it was.
UNLIKELY: dict[str, Any] = {"image": "-", "retry": -1, "share_memory": "-"}
NOT_HERE = ("name", "wait", "timeout", "dry-run", "output", "from", "workers", "check", "config-file")
REMOVED = "removed"


def override(manifest: Part, words: Sequence[str]) -> None:
    """Change the manifest of a job by FLAG=VALUE; an empty value takes away what the flag gives."""
    pairs = [_pair(word) for word in words]
    for name, value in pairs:
        if name == WORKERS:
            _resize(manifest, value)
    given = [(name, value) for name, value in pairs if name != WORKERS]
    if not given:
        return
    kind = _kind(str(manifest["kind"]))
    parser = command_for(kind)
    counts, mounted = _counts(kind, Job.of(manifest)), _mounted(manifest)
    if any(name == QUEUE for name, _ in given):
        (manifest["metadata"].get("labels") or {}).pop(QUEUE_LABEL, None)  # it would count more
    for without, with_ in _described(parser, given, str(manifest["metadata"]["name"])):
        before, after = (job_manifest(kind, replace(one, **counts)) for one in (without, with_))
        _carry(manifest, before, after)
    policy = manifest["spec"].get("schedulingPolicy") or {}
    if "minAvailable" in policy and any(name == GANG for name, _ in given):
        policy["minAvailable"] = _total(manifest)
    if any(name == COMMAND for name, _ in given):
        _drop_arguments(manifest, kind)
    for role, volumes in mounted.items():
        _tidy(Job.of(manifest).roles[role]["template"]["spec"], volumes)


def _pair(word: str) -> tuple[str, str]:
    name, equals, value = word.removeprefix("--").partition("=")
    if not equals or not name:
        raise click.UsageError(f"--set {word[:100]} is not understood\nnext  --set FLAG=VALUE, such as memory=96Gi")
    return name, value


def _kind(name: str) -> KindSchema:
    word = name.lower().removesuffix("job")
    kind = known_kinds().get(word) or installed_kind(word)
    if kind is None:
        raise click.UsageError(f"the flags of {name} are not known here\nnext  -o yaml --dry-run, and kubedl apply")
    return kind


def _resize(manifest: Part, value: str) -> None:
    if not value.isdecimal() or not 1 <= int(value[:6]) <= 10_000:
        raise click.UsageError(f"--set workers={value[:50]} is not understood\nnext  1 to 10000")
    before, policy = _total(manifest), manifest["spec"].get("schedulingPolicy") or {}
    for field, change in resized(Job.of(manifest), int(value)).items():
        for role, part in change.items():
            manifest["spec"][field].setdefault(role, {}).update(deepcopy(part))
    if policy.get("minAvailable") == before:  # all of them start together
        policy["minAvailable"] = _total(manifest)


def _total(manifest: Part) -> int:
    return sum(int(one.get("replicas", 1)) for one in Job.of(manifest).roles.values())


def _counts(kind: KindSchema, job: Job) -> dict[str, Any]:
    """Return how many replicas of each role the job has, as flags say it; a role without any is described too."""
    found = {role.lower(): max(1, int(one.get("replicas", 1))) for role, one in job.roles.items()}
    workers = found.get(roles.WORKER.lower(), 0) + (1 if roles.leads(kind) else 0)
    return {"workers": workers, "counts": found}


def _described(
    parser: SubmitCommand, given: Sequence[tuple[str, str]], name: str
) -> Iterator[tuple[JobFlags, JobFlags]]:
    """Yield what the flags describe, without and with them; those that take something away the other way round."""
    base = _parse(parser, [], name)
    if words := [_word(parser, flag, value) for flag, value in given if value]:
        yield base, _parse(parser, words, name)
    for flag, value in given:
        if not value:
            yield _parse(parser, [_word(parser, flag, "1" if _is_number(parser, flag) else REMOVED)], name), base


def _parse(parser: SubmitCommand, words: list[str], name: str) -> JobFlags:
    command = [word.removeprefix(f"--{COMMAND}=") for word in words if word.startswith(f"--{COMMAND}=")]
    others = [word for word in words if not word.startswith(f"--{COMMAND}=")]
    ctx = parser.make_context("rerun", ["--name", name, "--image", "-", *others, "--", *command])
    values = {key: value for key, value in ctx.params.items() if key not in GLOBAL}
    unlikely = {
        key: value
        for key, value in UNLIKELY.items()
        if ctx.get_parameter_source(key) is not ParameterSource.COMMANDLINE
    }
    return replace(parser.flags(values), **unlikely)


def _word(parser: SubmitCommand, flag: str, value: str) -> str:
    """Return a flag as a word of `submit`."""
    if flag == COMMAND:
        return f"--{COMMAND}={value}"
    option = _option(parser, flag)
    if option.multiple and value == REMOVED:
        raise click.UsageError(f"--set {flag}= takes nothing away\nnext  --set {flag}={option.metavar or 'VALUE'}")
    if option.is_flag:
        if value.lower() not in ("true", REMOVED):
            raise click.UsageError(f"--set {flag}={value[:50]} is not understood\nnext  {flag}=true, or {flag}= for no")
        return f"--{flag}"
    return f"--{flag}={value}"


def _option(parser: SubmitCommand, flag: str) -> click.Option:
    known = {
        name: one
        for one in parser.params
        if isinstance(one, click.Option) and one.name not in GLOBAL
        for name in one.opts
        if name.startswith("--") and name[2:] not in NOT_HERE
    }
    if f"--{flag}" not in known:
        close = difflib.get_close_matches(f"--{flag}", known, n=2)
        step = " or ".join(f"--set {name[2:]}=VALUE" for name in close) or f"kubedl submit {parser.kind.word} --help"
        raise click.UsageError(f"--set {flag[:100]}: submit {parser.kind.word} has no such flag\nnext  {step}")
    return known[f"--{flag}"]


def _is_number(parser: SubmitCommand, flag: str) -> bool:
    return flag != COMMAND and not isinstance(_option(parser, flag).type, click.types.StringParamType)


def _carry(manifest: Part, before: Part, after: Part) -> None:
    """Carry over what differs; the roles of a job may be written in other letters than ours."""
    for part in ("labels", "annotations"):
        old, new = before["metadata"].get(part), after["metadata"].get(part)
        carry_over(manifest["metadata"], {part: old} if old else {}, {part: new} if new else {})
    own = {role.lower(): role for role in Job.of(manifest).roles}
    for one in (before, after):
        field = next(key for key in one["spec"] if key.endswith("ReplicaSpecs"))
        described = one["spec"][field].items()
        one["spec"][field] = {own[role.lower()]: value for role, value in described if role.lower() in own}
        _keep_apart(manifest["spec"][field], one["spec"][field])
    carry_over(manifest["spec"], before["spec"], after["spec"])


def _keep_apart(target: Part, described: Part) -> None:
    """Rename volumes that the job has under the same name for something else."""
    for role, one in described.items():
        spec, own = one["template"]["spec"], target[role]["template"]["spec"]
        taken = {volume["name"]: volume for volume in own.get("volumes") or ()}
        for volume in spec.get("volumes") or ():
            old = volume["name"]
            if old.startswith("data-") and old in taken and taken[old] != volume:
                volume["name"] = next(name for n in range(1000) if (name := f"data-{n}") not in taken)
                taken[volume["name"]] = volume
                for mount in spec["containers"][0].get("volumeMounts") or ():
                    mount["name"] = volume["name"] if mount["name"] == old else mount["name"]


def _drop_arguments(manifest: Part, kind: KindSchema) -> None:
    """Take away the arguments of the command that was replaced."""
    for role, one in Job.of(manifest).roles.items():
        if roles.runs_command(kind, role):
            for container in one["template"]["spec"]["containers"]:
                if container["name"] == kind.container:
                    container.pop("args", None)


def _mounted(manifest: Part) -> dict[str, set[str]]:
    """Return the volumes that each role mounts."""
    return {role: _volumes(one["template"]["spec"]) for role, one in Job.of(manifest).roles.items()}


def _volumes(spec: Part) -> set[str]:
    containers = [*spec["containers"], *(spec.get("initContainers") or ())]
    return {str(mount["name"]) for container in containers for mount in container.get("volumeMounts") or ()}


def _tidy(spec: Part, mounted: set[str]) -> None:
    """Take away volumes that nothing mounts any more, and let requests of devices be their limits, as they must."""
    unused = mounted - _volumes(spec)
    if unused and spec.get("volumes"):
        spec["volumes"] = [volume for volume in spec["volumes"] if volume["name"] not in unused]
    for container in spec["containers"]:
        wanted = container.get("resources") or {}
        for name in set(wanted.get("requests") or ()) & set(wanted.get("limits") or ()):
            if "/" in name:
                wanted["requests"][name] = wanted["limits"][name]
