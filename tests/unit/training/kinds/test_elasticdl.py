"""ElasticDLJob: its master is found by name, talks to the API server, and decides."""

import pytest

from kubedl.training.kinds.elasticdl import ElasticDL
from tests.training_builders import JobBuilder
from tests.unit.training.kinds.pod_env import environment, is_done, order, pod

JOB = JobBuilder(ElasticDL(), "mnist").master()


def test_the_master_is_named_as_elasticdl_expects() -> None:
    """Its host name too, and the others find it as any replica."""
    made = pod(JOB, "Master")
    assert (made["metadata"]["name"], made["spec"]["hostname"]) == ("elasticdl-mnist-master",) * 2
    assert made["metadata"]["labels"]["replica-type"] == "master"


def test_it_is_told_nothing() -> None:
    """Its command line has everything."""
    assert environment(JOB, "Master") == {}


@pytest.mark.parametrize(
    ("spec", "expected"),
    [
        ({}, True),
        ({"automountServiceAccountToken": None}, True),
        ({"serviceAccountName": "elasticdl"}, True),
        ({"automountServiceAccountToken": False}, False),
    ],
)
def test_it_may_talk_to_the_api_server(spec: dict[str, object], expected: bool) -> None:
    """Other kinds get no token; a user who wants none here is heard."""
    template = JOB.template()
    template["spec"] |= spec
    assert pod(JOB.master(template=template), "Master")["spec"]["automountServiceAccountToken"] is expected


def test_its_container_may_have_any_name() -> None:
    """ElasticDL's own tool names it after the pod; no rule asks for another."""
    rules = [rule.at for rule in JOB.kind.custom_resource.rules]
    assert "spec.elasticdlReplicaSpecs.*.template.spec.containers" not in rules


@pytest.mark.parametrize(
    ("names", "main"),
    [(["elasticdl-mnist-master", "proxy"], "elasticdl-mnist-master"), (["proxy", "elasticdl"], "elasticdl")],
)
def test_its_main_container_is_the_first_if_none_has_the_name(names: list[str], main: str) -> None:
    """The one whose restarts count, and that gets the port."""
    template = {"spec": {"containers": [{"name": name} for name in names]}}
    job = JOB.master(template=template)
    assert job.kind.job(job.build()).container == main
    ports = {one["name"]: "ports" in one for one in pod(job, "Master")["spec"]["containers"]}
    assert ports == {name: name == main for name in names}


@pytest.mark.parametrize(("finished", "expected"), [(set(), False), ({0}, True)])
def test_the_master_decides(finished: set[int], expected: bool) -> None:
    """There is nobody else."""
    assert expected == is_done(JOB, Master=finished)


def test_defaults() -> None:
    """One master, whose kill is retried."""
    assert order(JOB) == {"Master": ("ExitCode", [])}
    messages = [rule.message for rule in JOB.kind.custom_resource.rules]
    assert {f"a job of this kind has at {bound} one Master" for bound in ("least", "most")} <= set(messages)
    assert any("the name of the job may have 46" in message for message in messages)
