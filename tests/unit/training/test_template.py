"""Templates that are none."""

from typing import Any

import pytest

from kubedl.kube.codec import RawObject
from kubedl.podspec.template import TemplateError
from kubedl.training.template import port, read

REQUIRED = "requiredDuringSchedulingIgnoredDuringExecution"
TERM = {"matchExpressions": 5}


def container(**fields: Any) -> dict[str, Any]:  # noqa: ANN401 - JSON
    """A template of one container."""
    return {"spec": {"containers": [{"name": "main", **fields}]}}


@pytest.mark.parametrize(
    "good",
    [
        container(),
        container(env=None, ports=None),
        container(env=[{"name": "A", "valueFrom": {"x": [1]}}], ports=[{"containerPort": 1, "new": {}}]),
        {"spec": {"containers": [], "dnsConfig": None, "new": 5}, "metadata": None},
        {"spec": {"containers": []}, "metadata": {"labels": None, "annotations": {"a": "b"}, "name": 5}},
    ],
)
def test_what_we_do_not_read_may_be_anything(good: dict[str, Any]) -> None:
    """Null is absence, as for the API server."""
    assert read("Worker", RawObject.of(good)) == good


@pytest.mark.parametrize(
    ("bad", "place"),
    [
        ({}, "spec"),
        ({"spec": None}, "$.spec"),
        ({"spec": "x"}, "$.spec"),
        ({"spec": {}}, "containers"),
        ({"spec": {"containers": None}}, "$.spec.containers"),
        ({"spec": {"containers": {"name": "x"}}}, "$.spec.containers"),
        ({"spec": {"containers": ["x"]}}, "$.spec.containers[0]"),
        ({"spec": {"containers": [{}]}}, "name"),
        ({"spec": {"containers": [{"name": 5}]}}, "$.spec.containers[0].name"),
        (container(env="x"), "$.spec.containers[0].env"),
        (container(env=["x"]), "$.spec.containers[0].env[0]"),
        (container(env=[{"name": []}]), "$.spec.containers[0].env[0].name"),
        (container(ports=[{"containerPort": "2222"}]), "$.spec.containers[0].ports[0].containerPort"),
        (container(ports=5), "$.spec.containers[0].ports"),
        ({"spec": {"containers": [], "dnsConfig": []}}, "$.spec.dnsConfig"),
        ({"spec": {"containers": [], "dnsConfig": {"searches": "x"}}}, "$.spec.dnsConfig.searches"),
        (
            {"spec": {"containers": [], "affinity": {"nodeAffinity": {REQUIRED: {"nodeSelectorTerms": [TERM]}}}}},
            "nodeSelectorTerms[0].matchExpressions",
        ),
        ({"spec": {"containers": []}, "metadata": []}, "$.metadata"),
        ({"spec": {"containers": []}, "metadata": {"labels": ["x"]}}, "$.metadata.labels"),
        ({"spec": {"containers": []}, "metadata": {"labels": {"x": 1}}}, "$.metadata.labels"),
    ],
)
def test_what_we_read_must_have_its_shape(bad: dict[str, Any], place: str) -> None:
    """And the message names the role and the place."""
    with pytest.raises(TemplateError) as caught:
        read("Worker", RawObject.of(bad))
    assert "the template of Worker" in str(caught.value)
    assert place in str(caught.value)


def test_a_port_without_a_number_is_none() -> None:
    """The API server will refuse it with better words."""
    template = RawObject.of(container(ports=[{"name": "p"}, {"name": "q", "containerPort": 7}]))
    assert port("Worker", template, "main", "p") is None
    assert port("Worker", template, "main", "q") == 7
    assert port("Worker", template, "other", "q") is None
