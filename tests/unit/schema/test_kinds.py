"""What the installed kinds declare is fit for people: every refusal names a field, every field is explained."""

import graphlib
from collections.abc import Iterator

import pytest

from kubedl.api.training import JobSpec, JobStatus, ReplicaSpec
from kubedl.schema.structural import Schema, schema_of
from kubedl.training.kind import Kind
from kubedl.training.kinds import all_kinds


@pytest.mark.parametrize("kind", all_kinds(), ids=lambda kind: kind.kind)
def test_every_rule_blames_a_field(kind: Kind) -> None:
    """A rule at the root without a field is printed as `<nil>: Invalid value`."""
    rules = kind.custom_resource.rules
    assert [rule for rule in rules if not (rule.at or rule.field)] == []


@pytest.mark.parametrize("kind", all_kinds(), ids=lambda kind: kind.kind)
def test_the_order_of_a_kind_is_none_that_waits_for_ever(kind: Kind) -> None:
    """It names roles of the kind and has no circle; the rule about circles takes that for granted."""
    order = {role.name: {dependency.upstream for dependency in role.after} for role in kind.roles}
    assert set().union(*order.values()) <= order.keys()
    graphlib.TopologicalSorter(order).prepare()


@pytest.mark.parametrize("struct", [JobSpec, JobStatus, ReplicaSpec])
def test_every_field_is_explained(struct: type) -> None:
    """`kubectl explain` has no empty lines."""
    assert list(_unexplained(schema_of(struct, defaults=True))) == []


def _unexplained(schema: Schema, path: str = "") -> Iterator[str]:
    if schema.get("x-kubernetes-preserve-unknown-fields"):
        return  # explained by Kubernetes
    for name, field in schema.get("properties", {}).items():
        if "description" not in field:
            yield f"{path}.{name}"
        for inner in (field, field.get("items", {}), field.get("additionalProperties", {})):
            yield from _unexplained(inner, f"{path}.{name}")
