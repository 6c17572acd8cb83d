"""What the installed kinds declare is fit for people: every refusal names a field, every field is explained."""

import graphlib
import json
import re
from collections.abc import Iterator

import pytest

from kubedl.api import cachebackend, cron, inference, model, scaling
from kubedl.api.cachebackend import CacheBackendSpec, CacheBackendStatus
from kubedl.api.cron import CronSpec, CronStatus
from kubedl.api.inference import InferenceSpec, InferenceStatus
from kubedl.api.model import ModelSpec, ModelStatus, ModelVersionSpec, ModelVersionStatus
from kubedl.api.replica_spec import ReplicaSpec
from kubedl.api.scaling import ScaleInSpec, ScaleInStatus, ScaleOutSpec, ScaleOutStatus
from kubedl.api.training import JobSpec, JobStatus
from kubedl.kube import codec
from kubedl.schema.crd import CustomResource
from kubedl.schema.structural import Schema, schema_of
from kubedl.training.kind import Kind
from kubedl.training.kinds import all_kinds
from proofs.defects.descriptions import unexplained
from tests.unit.schema.openapi import complaints

RESERVED = re.compile(
    r"self\.(as|break|const|continue|else|for|function|if|import|in|let|loop|namespace|package|return|var|void|while)\b"
)
ALL = [
    cachebackend.CUSTOM_RESOURCE,
    cron.CUSTOM_RESOURCE,
    *model.CUSTOM_RESOURCES,
    inference.CUSTOM_RESOURCE,
    *scaling.CUSTOM_RESOURCES,
    *(kind.custom_resource for kind in all_kinds()),
]


@pytest.mark.parametrize("custom", ALL, ids=lambda custom: custom.resource.kind)
def test_no_rule_has_a_field_that_is_a_reserved_word(custom: CustomResource) -> None:
    """Kubernetes before 1.33 rejects the CRD: such a field is written as `__namespace__`."""
    text = json.dumps(custom.definition())
    assert RESERVED.findall(text) == []
    assert RESERVED.findall("has(self.namespace)") == ["namespace"]


@pytest.mark.parametrize("kind", all_kinds(), ids=lambda kind: kind.kind)
def test_every_rule_blames_a_field(kind: Kind) -> None:
    """A rule at the root without a field is printed as `<nil>: Invalid value`."""
    rules = kind.custom_resource.rules
    assert [rule for rule in rules if not (rule.at or rule.field)] == []


@pytest.mark.parametrize(
    "custom",
    [
        cachebackend.CUSTOM_RESOURCE,
        cron.CUSTOM_RESOURCE,
        *model.CUSTOM_RESOURCES,
        inference.CUSTOM_RESOURCE,
        *scaling.CUSTOM_RESOURCES,
    ],
    ids=lambda custom: custom.resource.kind,
)
def test_every_rule_of_others_blames_a_field(custom: CustomResource) -> None:
    """As those of jobs do."""
    assert [rule for rule in custom.rules if not (rule.at or rule.field)] == []


@pytest.mark.parametrize("kind", all_kinds(), ids=lambda kind: kind.kind)
def test_the_order_of_a_kind_is_none_that_waits_for_ever(kind: Kind) -> None:
    """It names roles of the kind and has no circle; the rule about circles takes that for granted."""
    order = {role.name: {dependency.upstream for dependency in role.after} for role in kind.roles}
    assert set().union(*order.values()) <= order.keys()
    graphlib.TopologicalSorter(order).prepare()


@pytest.mark.parametrize("kind", all_kinds(), ids=lambda kind: kind.kind)
def test_what_makes_a_message_is_short(kind: Kind) -> None:
    """Every definition carries it, and so does every answer that shows the definition."""
    lengths = [len(rule.message_expression) for rule in kind.custom_resource.rules]
    assert max(lengths) <= 1200


@pytest.mark.parametrize(
    "struct",
    [
        JobSpec,
        JobStatus,
        ReplicaSpec,
        CronSpec,
        CronStatus,
        CacheBackendSpec,
        CacheBackendStatus,
        ModelSpec,
        ModelStatus,
        ModelVersionSpec,
        ModelVersionStatus,
        InferenceSpec,
        InferenceStatus,
        ScaleInSpec,
        ScaleInStatus,
        ScaleOutSpec,
        ScaleOutStatus,
    ],
)
def test_every_field_is_explained(struct: type) -> None:
    """`kubectl explain` has no empty lines."""
    assert list(unexplained(schema_of(struct, defaults=True))) == []


@pytest.mark.parametrize("custom", ALL, ids=lambda custom: custom.resource.kind)
def test_every_field_of_a_definition_is_explained(custom: CustomResource) -> None:
    """Also those of pod templates, and what the API server adds; it describes `metadata` itself."""
    [version] = custom.definition()["spec"]["versions"]
    assert [path for path in unexplained(version["schema"]["openAPIV3Schema"]) if path != ".metadata"] == []


@pytest.mark.parametrize("custom", ALL, ids=lambda custom: custom.resource.kind)
def test_a_field_that_is_always_refused_says_so(custom: CustomResource) -> None:
    """`kubectl explain` must not promise what admission rejects."""
    refused = [rule.field[1:] for rule in custom.rules if "is not supported yet" in rule.message]
    described = [
        (name, schema["description"]) for name, schema in _fields(custom.definition()["spec"]) if name in refused
    ]
    assert [name for name, words in described if "not supported" not in words.lower()] == []


@pytest.mark.parametrize("kind", all_kinds(), ids=lambda kind: kind.kind)
def test_a_job_with_every_role_has_the_right_shape(kind: Kind) -> None:
    """In the definition and in our structs: the role and container that the kind names are all a user must know."""
    template = {"spec": {"containers": [{"name": kind.container, "image": "train:1"}]}}
    roles = {role.name: {"replicas": 1, "template": template} for role in kind.roles}
    body = {"metadata": {"name": "job"}, "spec": {kind.replicas_field: roles}}
    assert complaints(_schema(kind), body) == []
    made = kind.resource.decoder.decode(codec.encode(body))
    assert list(kind.job(made).roles) == [role.name for role in kind.roles]


def _schema(kind: Kind) -> Schema:
    schema: Schema = kind.custom_resource.definition()["spec"]["versions"][0]["schema"]["openAPIV3Schema"]
    return schema


def _fields(schema: object) -> Iterator[tuple[str, Schema]]:
    """Every field with its schema, wherever it is."""
    if isinstance(schema, dict):
        properties = schema.get("properties", {})
        yield from ((name, field) for name, field in properties.items() if isinstance(field, dict))
        for inner in schema.values():
            yield from _fields(inner)
    elif isinstance(schema, list):
        for item in schema:
            yield from _fields(item)
