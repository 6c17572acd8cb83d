"""What the reference says of the kinds of job, from their declarations: nothing of it is written by hand.

Environment variables are read from the pods of a sample job; rules are described by their docstrings.
"""

import inspect
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from devtools.tables import table
from kubedl.api.training import JobSpec
from kubedl.kube import codec
from kubedl.schema.structural import Schema, schema_of
from kubedl.training import pods
from kubedl.training.job import Job, Replica, Role
from kubedl.training.kind import Kind
from kubedl.training.kinds import all_kinds
from kubedl.training.observed import Settings

NAME, NAMESPACE = "sample", "team"
OURS = "kubedl."  # a kind that another package brings is on that package's pages
PARTS = ("description", "default")  # by which a field is told from one of the same name
HEAD = ("kind", "short name", "field of its roles", "container", "port", "restart scope", "cleaned at the end", "lines")


def describe_kinds() -> str:
    """Every kind of this repository."""
    kinds = [kind for kind in all_kinds() if type(kind).__module__.startswith(OURS)]
    rows = [_row(kind) for kind in kinds]
    return (
        "# Kinds of job\n\n"
        "[Run a training job](../how-to/run-a-training-job.md) describes what all jobs share. Defaults of a kind apply "
        "if a job does not set the field. Each kind has a page with its roles, environment variables, an example and "
        "every field. Lines are those of the module that declares the kind.\n\n"
        f"{table(HEAD, rows)}\n"
        "Other kinds: [Model](kinds/model.md), [ModelVersion](kinds/modelversion.md), "
        "[Inference](kinds/inference.md), [CacheBackend](kinds/cachebackend.md), [Cron](kinds/cron.md), "
        "[ScaleIn](kinds/scalein.md) and [ScaleOut](kinds/scaleout.md).\n"
    )


def _row(kind: Kind) -> tuple[str, ...]:
    lines = Path(inspect.getfile(type(kind))).read_text().count("\n")
    container = f"`{kind.container}`" + (" or any" if kind.any_container else "")
    return (
        f"[{kind.kind}](kinds/{kind.kind.lower()}.md)",
        ", ".join(f"`{name}`" for name in kind.short_names),
        f"`{kind.replicas_field}`",
        container,
        f"`{kind.port_name}` {kind.port}",
        kind.restart_scope(sample(kind)),
        kind.clean_pod_policy,
        str(lines),
    )


def describe_job(kind: Kind) -> str:
    """What a kind of job has that other kinds of object have not: roles, an end, variables."""
    alone = type(kind).restart_scope is Kind.restart_scope
    own = "".join(f"- `{name}`{_default(schema)}: {schema['description']}\n" for name, schema in _own_fields(kind))
    return (
        f"{_said(type(kind))} The main container is named `{kind.container}`"
        f"{', or has any other name' if kind.any_container else ''}. Its port, unless it has one named "
        f"`{kind.port_name}`, is {kind.port}.\n\n"
        f"## Roles\n\n"
        f"{table(('role', 'restart policy', 'waits for', 'replicas', 'a permanent failure'), _roles(kind))}\n"
        f"- When the job succeeds (`successPolicy`): {_said(kind.succeeded)}\n"
        f"- What restarts after a failure (`restartScope`): "
        f"{'That replica alone.' if alone else _said(kind.restart_scope)}\n"
        f"- Which pods are deleted at the end (`cleanPodPolicy`): `{kind.clean_pod_policy}`.\n\n"
        f"## Environment variables\n\n{_variables(kind)}\n"
        + (f"## Fields of this kind only\n\nOr with another default than in other kinds.\n\n{own}\n" if own else "")
    )


def _roles(kind: Kind) -> Iterator[tuple[str, ...]]:
    for role in kind.roles:
        waits = ", ".join(f"{one.upstream} {one.phase}" for one in role.after)
        yield (
            role.name,
            role.restart_policy,
            waits or "nothing",
            _bounds(role),
            "fails the job" if role.fatal else "is missed",
        )


def _bounds(role: Role) -> str:
    if role.required and role.at_most == 1:
        return "1"
    least = ["at least 1"] if role.required else []
    most = [f"at most {role.at_most}"] if role.at_most is not None else []
    return ", ".join([*least, *most])


def _own_fields(kind: Kind) -> Iterator[tuple[str, Schema]]:
    """What its spec has that others have not, or with another default."""
    common = schema_of(JobSpec, defaults=True)["properties"]
    version = kind.custom_resource.definition()["spec"]["versions"][0]
    spec = version["schema"]["openAPIV3Schema"]["properties"]["spec"]["properties"]
    known = dict(_flat(common))
    for name, schema in _flat(spec):
        same = {part: schema.get(part) for part in PARTS} == {part: known.get(name, {}).get(part) for part in PARTS}
        if name != kind.replicas_field and not same:
            yield name, schema


def _flat(fields: Mapping[str, Schema], above: str = "") -> Iterator[tuple[str, Schema]]:
    """Fields and those inside them, by their path; not those of maps."""
    for name, schema in fields.items():
        yield f"{above}{name}", schema
        yield from _flat(schema.get("properties", {}), f"{above}{name}.")


def _default(schema: Schema) -> str:
    return f" (default `{codec.encode(schema['default']).decode()}`)" if "default" in schema else ""


def _variables(kind: Kind) -> str:
    """The environment variables of pods, each with the value of the last replica that has it."""
    job = sample(kind)
    told: dict[str, tuple[str, list[str]]] = {}
    for replica in job.replicas():
        for name, value in _environment(kind, job, replica):
            roles = told.get(name, ("", []))[1]
            told[name] = value, [*roles, *([replica.role] if replica.role not in roles else [])]
    if not told:
        return "Its pods get no environment variables.\n"
    everywhere = len(job.roles)
    rows = [
        (f"`{name}`", value, "" if len(roles) == everywhere else ", ".join(roles))
        for name, (value, roles) in told.items()
    ]
    last = list(job.replicas())[-1]
    example = f"such as in `{job.pod_name(last)}`"
    if not any(only for _, _, only in rows):
        return table(("variable", example), [row[:2] for row in rows])
    return table(("variable", example, "only in"), rows)


def _environment(kind: Kind, job: Job, replica: Replica) -> Iterator[tuple[str, str]]:
    made = pods.render(kind, job, replica, 0, scope=kind.restart_scope(job), settings=Settings())
    [main] = made["spec"]["containers"]
    for variable in main["env"]:
        source: Any = variable.get("valueFrom")
        yield variable["name"], f"the pod's `{source['fieldRef']['fieldPath']}`" if source else f"`{variable['value']}`"


def sample(kind: Kind) -> Job:
    """A job with every role, and two workers, or two of the last role where the kind allows so many."""
    template = {"spec": {"containers": [{"name": kind.container, "image": "train"}]}}
    roles = {role.name: {"replicas": 1, "template": template} for role in kind.roles}
    last = next((role for role in kind.roles if role.name == "Worker"), kind.roles[-1])
    roles[last.name] = {"replicas": min(2, last.at_most or 2), "template": template}
    body = {"metadata": {"name": NAME, "namespace": NAMESPACE, "uid": "1"}, "spec": {kind.replicas_field: roles}}
    return kind.job(kind.resource.decoder.decode(codec.encode(body)))


def _said(described: object) -> str:
    """The first paragraph of its docstring."""
    return " ".join((inspect.getdoc(described) or "").split("\n\n")[0].split())
