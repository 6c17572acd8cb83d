"""JSON documents that a struct's decoder accepts, as wild as its schema lets them be.

What the schema leaves open (a pod template, labels, a status that somebody edited) may be anything; numbers that only
cost time are kept small.
"""

from datetime import UTC, timedelta, timezone
from functools import cache
from typing import Any

from hypothesis import strategies as st
from msgspec import inspect

from kubedl.api.training import ReplicaStatus
from kubedl.kube.codec import RawObject, encode, plain
from kubedl.kube.types.core import Pod
from kubedl.training import labels
from kubedl.training.job import Replica
from kubedl.training.kind import Kind

Json = Any
Documents = st.SearchStrategy[Json]

WORDS = st.sampled_from(["", "x", "0", "1", "Worker", "worker", "Never", "A" * 70, "é\n", "-1", "9" * 5_000, "0-3,x"])
ANYTHING: Documents = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**63), 2**63 - 1) | st.floats(allow_nan=False) | WORDS,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(WORDS, inner, max_size=3),
    max_leaves=6,
)
MOMENTS = st.datetimes(timezones=st.sampled_from([UTC, timezone(timedelta(hours=-7))])).map(plain)
SEVERAL = 3
MODEL = {"modelName": "m", "imageRepo": "hub/m", "storage": {"localStorage": {"path": "/m", "nodeName": "node1"}}}
ANNOTATIONS = ("kubedl.io/git-sync-config", "kubedl.io/tensorboard-config")
CONFIGS = WORDS | st.dictionaries(
    st.sampled_from(["source", "destPath", "logDir", "image", "x"]),
    st.just("https://git.example.org/model.git") | ANYTHING,
    max_size=3,
).map(lambda config: encode(config).decode())


def accepted_by(kind: type[Any], **known: Documents) -> Documents:
    """What the decoder of a type accepts; fields that are named here, anywhere in it, are drawn from these."""
    return _of(inspect.type_info(kind), known)


def _of(info: inspect.Type, known: dict[str, Documents]) -> Documents:  # noqa: PLR0911 - a case each
    match info:
        case inspect.Metadata(type=inner):
            return _of(inner, known)
        case inspect.StructType(fields=fields):
            names = [one.encode_name for one in fields]
            drawn = {one.encode_name: _of(one.type, known) for one in fields if one.encode_name not in known}
            drawn |= {name: documents for name, documents in known.items() if name in names}
            must = {one.encode_name for one in fields if one.required}
            return st.fixed_dictionaries(
                {name: drawn[name] for name in drawn if name in must},
                optional={name: drawn[name] for name in drawn if name not in must},
            )
        case inspect.UnionType(types=types):
            return st.one_of([_of(member, known) for member in types])
        case inspect.LiteralType(values=values):
            return st.sampled_from(values)
        case inspect.VarTupleType(item_type=item, min_length=least):
            return st.lists(_of(item, known), min_size=least or 0, max_size=SEVERAL)
        case inspect.DictType(value_type=item, min_length=least):
            return st.dictionaries(WORDS, _of(item, known), min_size=least or 0, max_size=SEVERAL)
        case inspect.CustomType(cls=cls) if cls is RawObject:
            return st.dictionaries(WORDS, ANYTHING, max_size=SEVERAL)
        case inspect.StrType(min_length=least, max_length=most):
            return WORDS.filter(lambda word: (least or 0) <= len(word) <= (most or len(word)))
        case inspect.IntType(ge=least, le=most):
            return st.integers(int(-(2**63) if least is None else least), int(2**63 - 1 if most is None else most))
        case _:
            return SIMPLE[type(info)]


SIMPLE: dict[type, Documents] = {
    inspect.NoneType: st.none(),
    inspect.BoolType: st.booleans(),
    inspect.DateTimeType: MOMENTS,
    inspect.AnyType: ANYTHING,
}


def templates(kind: Kind) -> Documents:
    """Pod templates: good ones, ones that are wrong in some place, and objects that are none at all."""
    variable = st.fixed_dictionaries({}, optional={"name": WORDS | ANYTHING, "value": ANYTHING})
    port = st.fixed_dictionaries(
        {},
        optional={"name": st.sampled_from([kind.port_name, "x"]), "containerPort": st.just(9) | ANYTHING},
    )
    amounts = st.dictionaries(st.sampled_from(["cpu", "memory"]), st.sampled_from(["500m", "16Gi", 2, "x"]) | ANYTHING)
    resources = st.fixed_dictionaries({}, optional={"requests": amounts | ANYTHING, "limits": amounts | ANYTHING})
    container = st.fixed_dictionaries(
        {"name": st.sampled_from([kind.container, "proxy"])},
        optional={
            "env": st.lists(variable, max_size=2) | ANYTHING,
            "ports": st.lists(port, max_size=2) | ANYTHING,
            "resources": resources | ANYTHING,
            "volumeMounts": ANYTHING,
            "command": ANYTHING,
            "readinessProbe": ANYTHING,
        },
    )
    spec = st.fixed_dictionaries(
        {"containers": st.lists(container | ANYTHING, max_size=2) | st.lists(container, min_size=1, max_size=2)},
        optional={
            "dnsConfig": ANYTHING,
            "serviceAccountName": ANYTHING,
            "priorityClassName": ANYTHING,
            "volumes": ANYTHING,
            "new": ANYTHING,
        },
    )
    metadata = st.fixed_dictionaries({}, optional={"labels": ANYTHING, "annotations": ANYTHING})
    return st.fixed_dictionaries({"spec": spec}, optional={"metadata": metadata | st.none()}) | st.dictionaries(
        WORDS, ANYTHING, max_size=SEVERAL
    )


@cache
def jobs(kind: Kind) -> Documents:
    """Jobs of a kind, with a status that anybody may have edited."""
    roles = [role.name for role in kind.roles]
    own = {"template": templates(kind), "replicas": st.integers(0, SEVERAL), "upstream": st.sampled_from([*roles, "x"])}
    replicas = accepted_by(_role_type(kind), **own)
    specs = st.dictionaries(st.sampled_from([*roles, roles[0].lower(), "x"]), replicas, min_size=1, max_size=2)
    statuses = st.dictionaries(st.sampled_from([*roles, "x"]), accepted_by(ReplicaStatus), max_size=SEVERAL)
    metadata = st.fixed_dictionaries(
        {name: st.just(text) for name, text in (("name", "poison"), ("namespace", "team"), ("uid", "job-1"))},
        optional={
            "annotations": st.dictionaries(WORDS, WORDS, max_size=2)
            | st.dictionaries(st.sampled_from(ANNOTATIONS), CONFIGS, max_size=2),
            "generation": st.integers(0, 9),
        },
    )
    conditions = st.sampled_from(["Created", "Running", "Restarting", "Suspended", "Failed", "Blocked", "x"])
    # A job with a cache waits for it, and one whose model cannot be had fails: they would show nothing else.
    known = {kind.replicas_field: specs, "replicaStatuses": statuses, "type": conditions, "cacheBackend": st.none()}
    known["modelVersion"] = st.none() | st.just(MODEL)
    return _with(metadata, accepted_by(kind.type, **known))


@cache
def pods(kind: Kind) -> Documents:
    """Pods of that job, in any state, with labels that anybody may have edited."""
    body = {"metadata": {"name": "poison"}, "spec": {kind.replicas_field: {kind.roles[0].name: {"template": {}}}}}
    view = kind.job(kind.resource.decoder.decode(encode(body)))
    role = st.sampled_from([role.name for role in kind.roles])
    name = st.tuples(role, st.integers(0, SEVERAL)).map(lambda parts: view.pod_name(Replica(*parts)))
    owner = {"apiVersion": "x", "kind": kind.kind, "name": "poison", "uid": "job-1", "controller": True}
    edited = st.dictionaries(st.sampled_from([labels.ATTEMPT, labels.REPLICA_INDEX, "x"]), WORDS, max_size=2)
    metadata = st.fixed_dictionaries(
        {"name": name, "namespace": st.just("team"), "ownerReferences": st.just([owner])},
        optional={
            "labels": edited,
            "deletionTimestamp": MOMENTS,
            "creationTimestamp": MOMENTS,
            "deletionGracePeriodSeconds": st.sampled_from([0, 30, 2**31]),
        },
    )
    phase = st.sampled_from(["Pending", "Running", "Succeeded", "Failed", "Unknown", ""])
    words = {"message": WORDS | st.just("é" * 40_000), "reason": WORDS | st.sampled_from(["Evicted", "OutOfcpu"])}
    return _with(metadata, accepted_by(Pod, phase=phase, nodeName=st.sampled_from(["", "node1", "node2"]), **words))


def _with(metadata: Documents, documents: Documents) -> Documents:
    return st.tuples(documents, metadata).map(lambda parts: {**parts[0], "metadata": parts[1]})


def _role_type(kind: Kind) -> type[Any]:
    info = inspect.type_info(kind.type)
    assert isinstance(info, inspect.StructType)
    spec = next(field.type for field in info.fields if field.encode_name == "spec")
    assert isinstance(spec, inspect.StructType)
    roles = next(field.type for field in spec.fields if field.encode_name == kind.replicas_field)
    while isinstance(roles, inspect.Metadata):
        roles = roles.type
    assert isinstance(roles, inspect.DictType)
    assert isinstance(roles.value_type, inspect.StructType)
    return roles.value_type.cls
