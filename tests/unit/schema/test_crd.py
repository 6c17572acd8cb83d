"""A declaration becomes a CustomResourceDefinition."""

from typing import Annotated

import pytest
from msgspec import Meta

from kubedl.kube.types.meta import ObjectMeta, Record, Resource
from kubedl.schema.crd import Column, CustomResource, Rule, Scale
from kubedl.schema.structural import NotStructuralError, Schema


class Part(Record, frozen=True):
    """A part."""

    size: int = 1


class GadgetSpec(Record, frozen=True):
    """What a gadget is."""

    parts: Annotated[dict[str, Part], Meta(max_length=3)]
    names: Annotated[tuple[str, ...], Meta(max_length=3)] = ()


class GadgetStatus(Record, frozen=True):
    """How a gadget is."""

    ready: int = 0


class Gadget(Record, frozen=True):
    """A gadget.

    Not shown.
    """

    spec: GadgetSpec
    api_version: str = "test/v1"
    kind: str = "Gadget"
    metadata: ObjectMeta = ObjectMeta()
    status: GadgetStatus = GadgetStatus()


class Plain(Record, frozen=True):
    """Has no status."""

    metadata: ObjectMeta = ObjectMeta()
    spec: GadgetSpec | None = None


GADGETS = Resource(Gadget, "Gadget", "gadgets", "v1alpha1", "test.kubedl.io")


def test_names_and_scope() -> None:
    """As `kubectl` needs them."""
    made = CustomResource(GADGETS, short_names=("gd",)).definition()
    assert made["metadata"] == {"name": "gadgets.test.kubedl.io"}
    assert made["spec"]["scope"] == "Namespaced"
    assert made["spec"]["names"] == {
        "kind": "Gadget",
        "listKind": "GadgetList",
        "plural": "gadgets",
        "singular": "gadget",
        "shortNames": ["gd"],
        "categories": ["kubedl"],
    }


def test_the_schema_leaves_metadata_to_the_server() -> None:
    """Declaring more of it than its name is refused by the API server."""
    schema = _schema(CustomResource(GADGETS))
    assert list(schema["properties"]) == ["apiVersion", "kind", "metadata", "spec", "status"]
    assert schema["required"] == ["spec"]
    assert schema["description"] == "A gadget."
    named = {"description": "The name of the object.", "type": "string"}
    assert schema["properties"]["metadata"] == {"type": "object", "properties": {"name": named}}


def test_only_the_spec_has_defaults() -> None:
    """The status is ours to write."""
    properties = _schema(CustomResource(GADGETS))["properties"]
    assert properties["spec"]["properties"]["parts"]["additionalProperties"]["properties"]["size"]["default"] == 1
    assert "default" not in properties["status"]["properties"]["ready"]


def test_subresources() -> None:
    """Status where there is one, scale where it is declared."""
    scale = Scale(".spec.parts.wheel.size", ".status.ready", ".status.selector")
    assert _version(CustomResource(GADGETS, scale=scale))["subresources"] == {
        "status": {},
        "scale": {
            "specReplicasPath": ".spec.parts.wheel.size",
            "statusReplicasPath": ".status.ready",
            "labelSelectorPath": ".status.selector",
        },
    }
    assert "subresources" not in _version(CustomResource(Resource(Plain, "Plain", "plains", group="test.kubedl.io")))


def test_columns() -> None:
    """In the order declared."""
    columns = (Column("State", "string", ".status.state"), Column("Ready", "integer", ".status.ready", 1, "How many."))
    assert _version(CustomResource(GADGETS, columns=columns))["additionalPrinterColumns"] == [
        {"name": "State", "type": "string", "jsonPath": ".status.state", "priority": 0},
        {"name": "Ready", "type": "integer", "jsonPath": ".status.ready", "priority": 1, "description": "How many."},
    ]


@pytest.mark.parametrize(
    ("place", "steps"),
    [
        ("", []),
        ("spec", ["properties", "spec"]),
        ("spec.parts.*", ["properties", "spec", "properties", "parts", "additionalProperties"]),
        ("spec.names.*", ["properties", "spec", "properties", "names", "items"]),
    ],
)
def test_a_rule_stands_where_it_is_attached(place: str, steps: list[str]) -> None:
    """So that `self` is that value, and an error names its path."""
    node = _schema(CustomResource(GADGETS, rules=(Rule("true", "never", at=place), Rule("1 < 2", "no", at=place))))
    for step in steps:
        node = node[step]
    assert [rule["rule"] for rule in node["x-kubernetes-validations"]] == ["true", "1 < 2"]


@pytest.mark.parametrize("place", ["spec.prats", "spec.*", "spec.parts.wheel"])
def test_a_rule_without_a_place_is_refused(place: str) -> None:
    """A typing error would otherwise drop the rule in silence."""
    with pytest.raises(NotStructuralError, match="but the schema has no"):
        CustomResource(GADGETS, rules=(Rule("true", "never", at=place),)).definition()


def test_rules_of_one_kind_do_not_leak_into_another() -> None:
    """Two kinds share structs, and the second is generated after the first."""
    CustomResource(GADGETS, rules=(Rule("true", "never", at="spec.parts.*"), Rule("true", "never"))).definition()
    assert "x-kubernetes-validations" not in str(CustomResource(GADGETS).definition())


def _version(custom: CustomResource) -> Schema:
    (version,) = custom.definition()["spec"]["versions"]
    made: Schema = version
    return made


def _schema(custom: CustomResource) -> Schema:
    schema: Schema = _version(custom)["schema"]["openAPIV3Schema"]
    return schema
