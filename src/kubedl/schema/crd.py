"""Renders a kind as a CustomResourceDefinition: names, schema, rules, columns and subresources.

The CRD is generated from the struct that objects are decoded into and this declaration; nothing is written by hand. The
API server handles `metadata`, `apiVersion` and `kind`.
"""

from collections.abc import Mapping
from copy import deepcopy
from dataclasses import dataclass
from typing import Any, Literal

from kubedl.kube.types.meta import Resource
from kubedl.schema.structural import NotStructuralError, Rule, Schema, schema_of_fields

__all__ = ["Column", "CustomResource", "Rule", "Scale"]

ColumnType = Literal["string", "integer", "number", "boolean", "date"]
OF_THE_SERVER: Mapping[str, Schema] = {
    "apiVersion": {"description": "The version of this schema: group/version.", "type": "string"},
    "kind": {"description": "The kind of this object.", "type": "string"},
    # The name is declared so that a rule can refer to it. The API server rejects a CRD that declares more of metadata.
    "metadata": {
        "type": "object",
        "properties": {"name": {"description": "The name of the object.", "type": "string"}},
    },
}


@dataclass(frozen=True)
class Column:
    """A column of `kubectl get`; with priority 1 or higher, only of `-o wide`."""

    name: str
    type: ColumnType
    path: str
    priority: int = 0
    description: str = ""

    def to_schema(self) -> Schema:
        """Render an entry of additionalPrinterColumns."""
        optional = {"description": self.description} if self.description else {}
        return {"name": self.name, "type": self.type, "jsonPath": self.path, "priority": self.priority, **optional}


@dataclass(frozen=True)
class Scale:
    """The paths of the scale subresource, for `kubectl scale` and autoscalers."""

    spec_path: str
    status_path: str
    selector_path: str = ""

    def to_schema(self) -> Schema:
        """Render the scale subresource."""
        optional = {"labelSelectorPath": self.selector_path} if self.selector_path else {}
        return {"specReplicasPath": self.spec_path, "statusReplicasPath": self.status_path, **optional}


@dataclass(frozen=True)
class CustomResource:
    """The declaration of one kind."""

    resource: Resource[Any]
    short_names: tuple[str, ...] = ()
    categories: tuple[str, ...] = ("kubedl",)
    columns: tuple[Column, ...] = ()
    rules: tuple[Rule, ...] = ()
    scale: Scale | None = None
    singular: str = ""

    def definition(self) -> dict[str, Any]:
        """Render the CustomResourceDefinition."""
        resource = self.resource
        return {
            "apiVersion": "apiextensions.k8s.io/v1",
            "kind": "CustomResourceDefinition",
            "metadata": {"name": resource.name},
            "spec": {
                "group": resource.group,
                "scope": "Namespaced" if resource.namespaced else "Cluster",
                "names": {
                    "kind": resource.kind,
                    "listKind": f"{resource.kind}List",
                    "plural": resource.plural,
                    "singular": self.singular or resource.kind.lower(),
                    **({"shortNames": list(self.short_names)} if self.short_names else {}),
                    **({"categories": list(self.categories)} if self.categories else {}),
                },
                "versions": [self._version()],
            },
        }

    def _version(self) -> Schema:
        schema = self._schema()
        subresources = {
            **({"status": {}} if "status" in schema["properties"] else {}),
            **({"scale": self.scale.to_schema()} if self.scale else {}),
        }
        return {
            "name": self.resource.version,
            "served": True,
            "storage": True,
            **({"subresources": subresources} if subresources else {}),
            **({"additionalPrinterColumns": [column.to_schema() for column in self.columns]} if self.columns else {}),
            "schema": {"openAPIV3Schema": schema},
        }

    def _schema(self) -> Schema:
        kind = self.resource.type
        fields = schema_of_fields(kind, with_defaults=frozenset({"spec"}))
        ours = {name: field for name, field in fields.items() if name not in OF_THE_SERVER}
        properties = {**deepcopy(dict(OF_THE_SERVER)), **{name: schema for name, (schema, _) in ours.items()}}
        schema: Schema = {"type": "object", "properties": properties}
        if text := kind.__dict__.get("__doc__"):
            schema["description"] = " ".join(text.strip().split("\n\n")[0].split())
        if required := [name for name, (_, required) in ours.items() if required]:
            schema["required"] = required
        for rule in self.rules:
            _attach(schema, rule)
        return schema


def _attach(schema: Schema, rule: Rule) -> None:
    place = schema
    for step in filter(None, rule.at.split(".")):
        below = place.get("additionalProperties") or place.get("items") if step == "*" else None
        below = below or place.get("properties", {}).get(step)
        if below is None:
            raise NotStructuralError(f"a rule is attached to {rule.at!r}, but the schema has no {step!r} there")
        place = below
    place.setdefault("x-kubernetes-validations", []).append(rule.to_schema())
