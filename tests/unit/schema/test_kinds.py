"""What the installed kinds declare is fit for people: every refusal names a field, every field is explained."""

import graphlib
from collections.abc import Iterator

import pytest

from kubedl.api import cache, inference, model
from kubedl.api.cache import CacheBackendSpec, CacheBackendStatus
from kubedl.api.inference import InferenceSpec, InferenceStatus
from kubedl.api.model import ModelSpec, ModelStatus, ModelVersionSpec, ModelVersionStatus
from kubedl.api.training import JobSpec, JobStatus, ReplicaSpec
from kubedl.schema.crd import CustomResource
from kubedl.schema.structural import Schema, schema_of
from kubedl.training.kind import Kind
from kubedl.training.kinds import all_kinds
from kubedl.wire import codec
from tests.unit.schema.openapi import complaints


@pytest.mark.parametrize("kind", all_kinds(), ids=lambda kind: kind.kind)
def test_every_rule_blames_a_field(kind: Kind) -> None:
    """A rule at the root without a field is printed as `<nil>: Invalid value`."""
    rules = kind.custom_resource.rules
    assert [rule for rule in rules if not (rule.at or rule.field)] == []


@pytest.mark.parametrize(
    "custom",
    [cache.CUSTOM_RESOURCE, *model.CUSTOM_RESOURCES, inference.CUSTOM_RESOURCE],
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


@pytest.mark.parametrize(
    "struct",
    [
        JobSpec,
        JobStatus,
        ReplicaSpec,
        CacheBackendSpec,
        CacheBackendStatus,
        ModelSpec,
        ModelStatus,
        ModelVersionSpec,
        ModelVersionStatus,
        InferenceSpec,
        InferenceStatus,
    ],
)
def test_every_field_is_explained(struct: type) -> None:
    """`kubectl explain` has no empty lines."""
    assert list(_unexplained(schema_of(struct, defaults=True))) == []


@pytest.mark.parametrize("kind", all_kinds(), ids=lambda kind: kind.kind)
def test_every_field_of_a_kinds_own_is_explained(kind: Kind) -> None:
    """Those of its roles are, once for all kinds; see above."""
    spec = _schema(kind)["properties"]["spec"]
    own = {name: field for name, field in spec["properties"].items() if name != kind.replicas_field}
    assert list(_unexplained({"properties": own})) == []


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


def _unexplained(schema: Schema, path: str = "") -> Iterator[str]:
    if schema.get("x-kubernetes-preserve-unknown-fields"):
        return  # explained by Kubernetes
    for name, field in schema.get("properties", {}).items():
        if "description" not in field:
            yield f"{path}.{name}"
        for inner in (field, field.get("items", {}), field.get("additionalProperties", {})):
            yield from _unexplained(inner, f"{path}.{name}")
