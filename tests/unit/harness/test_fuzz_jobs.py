"""Random jobs: drawn by their dice alone, most of them allowed, none of them ever running."""

import random
from functools import cache
from typing import Any

import pytest

from harness.experiments.fuzz_jobs import NOWHERE, UNKNOWN_TO_US, random_job, spec_schema
from harness.experiments.schema_fuzz import Drawing, spoil
from kubedl.kube import codec
from kubedl.training.kind import Kind
from kubedl.training.kinds import all_kinds
from tests.unit.schema.openapi import complaints

KINDS = [pytest.param(kind, id=kind.kind) for kind in all_kinds()]
MANY = 300


def drawn(kind: Kind) -> list[dict[str, Any]]:
    return [random_job(kind, "odd", random.Random(number)) for number in range(MANY)]  # noqa: S311 - repeatable


@cache
def jobs(kind: Kind) -> list[dict[str, Any]]:
    """Drawn once for all tests; nobody changes them."""
    return drawn(kind)


@cache
def allowed(kind: Kind) -> list[dict[str, Any]]:
    """Those that the schema allows."""
    return [job for job in jobs(kind) if not complaints(spec_schema(kind), job["spec"])]


@pytest.mark.parametrize("kind", KINDS)
def test_most_are_what_the_schema_allows_and_some_are_not(kind: Kind) -> None:
    """Rules that only the API server judges refuse more of them."""
    assert MANY / 2 < len(allowed(kind)) < MANY


@pytest.mark.parametrize("kind", KINDS)
def test_what_the_schema_allows_can_be_read(kind: Kind) -> None:
    """By the operator: what the API server takes and its decoder does not would never be heard of."""
    for job in allowed(kind):
        assert kind.resource.decoder.decode(codec.encode(job)).metadata.name == job["metadata"]["name"]


@pytest.mark.parametrize("kind", KINDS)
def test_the_same_dice_draw_the_same_job(kind: Kind) -> None:
    """So a job that did harm can be had again."""
    assert drawn(kind) == jobs(kind)


@pytest.mark.parametrize("kind", KINDS)
def test_every_field_of_the_kind_is_drawn_some_time(kind: Kind) -> None:
    """Or nobody would notice what it does."""
    fields = {field for job in jobs(kind) for field in job["spec"]}
    assert spec_schema(kind)["properties"].keys() <= fields


@pytest.mark.parametrize("kind", KINDS)
def test_no_pod_can_run(kind: Kind) -> None:
    """Wherever a template could become a pod, it waits for ever, however it was spoilt."""
    seen = 0
    for job in allowed(kind):
        for role in job["spec"][kind.replicas_field].values():
            assert role["template"]["spec"]["schedulingGates"] == [{"name": NOWHERE}]
            assert role["template"]["spec"]["nodeSelector"] == {NOWHERE: ""}
            assert role.get("replicas", 1) < 10
            seen += 1
    assert seen > MANY / 2


def test_what_is_drawn_keeps_every_bound() -> None:
    """Without hints, from a schema alone."""
    schema = {
        "type": "object",
        "required": ["name"],
        "properties": {
            "name": {"type": "string", "minLength": 2, "maxLength": 5},
            "size": {"type": "integer", "minimum": 3, "maximum": 4},
            "mode": {"type": "string", "enum": ["a", "b"]},
            "items": {"type": "array", "minItems": 1, "maxItems": 2, "items": {"type": "boolean"}},
            "labels": {"type": "object", "additionalProperties": {"type": "string"}},
        },
    }
    documents = [Drawing(random.Random(seed), {}).value(schema) for seed in range(MANY)]  # noqa: S311 - repeatable
    assert [complaints(schema, document) for document in documents] == [[]] * MANY
    assert len({str(document) for document in documents}) > MANY / 2


def test_something_is_always_spoilt() -> None:
    """Whatever the document."""
    for seed in range(MANY):
        document = {"a": 1, "b": [{"c": {}}]}
        spoil(document, random.Random(seed), UNKNOWN_TO_US)  # noqa: S311 - repeatable
        assert document != {"a": 1, "b": [{"c": {}}]}
