"""What pods of a job that asks for checkpoints are given, and where they are not sent."""

from typing import Any

import pytest

from kubedl.podspec.template import TemplateError
from kubedl.training import pods
from kubedl.training.elastic.avoidance import REQUIRED, avoid
from kubedl.training.elastic.checkpoint_token import digest
from kubedl.training.job import Replica
from kubedl.training.observed import Settings
from tests.training_builders import JobBuilder, torch_job

KEY = b"k" * 32


def job(**checkpoint: object) -> JobBuilder:
    return torch_job("bert").workers(2).with_spec(elastic={"maxReplicas": 4, "checkpoint": checkpoint})


def rendered(builder: JobBuilder, key: bytes = KEY) -> dict[str, Any]:
    """The pod of the first worker."""
    seen = builder.kind.job(builder.build())
    settings = Settings(checkpoint_key=key)
    return pods.render(builder.kind, seen, Replica("Worker", 0), 0, scope="Job", settings=settings)


def variables(pod: dict[str, Any]) -> dict[str, str]:
    return {one["name"]: one["value"] for one in pod["spec"]["containers"][0]["env"]}


def test_pods_know_the_port_and_how_the_operator_proves_itself() -> None:
    given = variables(rendered(job(port=4321)))
    assert given["KUBEDL_CHECKPOINT_PORT"] == "4321"
    assert given["KUBEDL_CHECKPOINT_DIGEST"] == digest(KEY, "uid-bert")
    assert variables(rendered(job()))["KUBEDL_CHECKPOINT_PORT"] == "29500"


def test_a_variable_of_the_template_has_precedence() -> None:
    container = {"name": "pytorch", "image": "x", "env": [{"name": "KUBEDL_CHECKPOINT_PORT", "value": "1"}]}
    builder = job()
    template = {"spec": {"containers": [container]}}
    assert variables(rendered(builder.workers(2, template=template)))["KUBEDL_CHECKPOINT_PORT"] == "1"


def test_a_job_that_does_not_ask_for_it_gets_nothing() -> None:
    builder = torch_job("bert").workers(2).with_spec(elastic={"maxReplicas": 4})
    assert "KUBEDL_CHECKPOINT_DIGEST" not in variables(rendered(builder, b""))


def test_an_operator_without_a_key_says_what_to_do() -> None:
    with pytest.raises(TemplateError, match="--checkpoint-key-file"):
        rendered(job(), b"")


def test_the_port_is_not_that_of_the_rendezvous() -> None:
    with pytest.raises(TemplateError, match="23456, where replicas meet"):
        rendered(job(port=23456))


def test_settings_do_not_show_the_key() -> None:
    assert "kkkk" not in repr(Settings(checkpoint_key=KEY))


AWAY = [{"key": "metadata.name", "operator": "NotIn", "values": [node]} for node in ("a", "b")]


def test_new_pods_keep_away_from_nodes_that_will_be_taken() -> None:
    """In every alternative that the template has."""
    pod: dict[str, Any] = {"spec": {}}
    avoid(pod, ["b", "a"])
    assert pod["spec"]["affinity"] == {"nodeAffinity": {REQUIRED: {"nodeSelectorTerms": [{"matchFields": AWAY}]}}}
    terms: list[dict[str, Any]] = [
        {"matchExpressions": [{"key": "gpu", "operator": "Exists"}]},
        {"matchFields": [AWAY[0]]},
    ]
    given = {"podAffinity": {"x": 1}, "nodeAffinity": {"y": 2, REQUIRED: {"nodeSelectorTerms": terms}}}
    pod = {"spec": {"affinity": given}}
    avoid(pod, ["b"])
    affinity = pod["spec"]["affinity"]
    assert (affinity["podAffinity"], affinity["nodeAffinity"]["y"]) == ({"x": 1}, 2)
    assert affinity["nodeAffinity"][REQUIRED]["nodeSelectorTerms"] == [
        {**terms[0], "matchFields": [AWAY[1]]},
        {"matchFields": [AWAY[0], AWAY[1]]},
    ]
    assert terms[0].keys() == {"matchExpressions"}


def test_an_alternative_that_no_node_satisfies_stays_one() -> None:
    """To Kubernetes an empty one matches nothing; with a node to avoid it would match all others."""
    terms: list[dict[str, Any]] = [{}, {"matchExpressions": []}, {"matchFields": [AWAY[0]]}]
    pod: dict[str, Any] = {"spec": {"affinity": {"nodeAffinity": {REQUIRED: {"nodeSelectorTerms": terms}}}}}
    avoid(pod, ["b"])
    found = pod["spec"]["affinity"]["nodeAffinity"][REQUIRED]["nodeSelectorTerms"]
    assert found == [{}, {"matchExpressions": []}, {"matchFields": [AWAY[0], AWAY[1]]}]


def test_a_pod_that_names_its_node_is_left_alone() -> None:
    """Its kubelet would refuse it."""
    pod = {"spec": {"nodeName": "a"}}
    avoid(pod, ["a"])
    assert pod == {"spec": {"nodeName": "a"}}
