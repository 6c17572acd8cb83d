"""Poison objects: whatever the API server lets pass, planning raises nothing and a job costs only itself."""

import asyncio
from datetime import datetime, timedelta
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from harness.fakes.api_server import with_metadata
from kubedl.api.training import JobStatus
from kubedl.kube import codec
from kubedl.kube.types.core import PODS, Pod
from kubedl.training.job import Job, Replica
from kubedl.training.kind import Kind
from kubedl.training.kinds import all_kinds
from kubedl.training.observed import Observed, Settings
from kubedl.training.planner import plan
from tests.hypothesis_settings import tried
from tests.training_builders import NOW
from tests.unit.training import documents
from tests.unit.training.api_model import ApiModel
from tests.unit.training.operator_model import OperatorModel

KINDS = [pytest.param(kind, id=kind.kind) for kind in all_kinds()]
ROUNDS = 4


def read_pods(kind: Kind, data: st.DataObject) -> list[Pod]:
    """Pods as the cache would hold them: one of a name, each with a uid."""
    drawn = data.draw(st.lists(documents.pods(kind), max_size=4))
    found = [PODS.decoder.decode(codec.encode(document)) for document in drawn]
    return [with_metadata(pod, uid=f"pod-{place}") for place, pod in enumerate(found)]


def read_job(kind: Kind, data: st.DataObject) -> Any:  # noqa: ANN401 - a job of the kind
    """A job as the cache would hold it."""
    return kind.resource.decoder.decode(codec.encode(data.draw(documents.jobs(kind))))


@pytest.mark.parametrize("kind", KINDS)
@given(data=st.data(), since=st.datetimes(timezones=st.just(NOW.tzinfo)))
@tried(10)
def test_planning_raises_nothing(kind: Kind, data: st.DataObject, since: datetime) -> None:
    """And what it plans can be done: a status that can be written, moments that are yet to come."""
    pods = read_pods(kind, data)
    alive = {pod.metadata.name: pod for pod in pods}
    gone = [pod for pod in pods if pod not in alive.values()]
    observed = Observed(
        kind=kind,
        job=kind.job(read_job(kind, data)),
        pods=tuple(alive.values()),
        deleted=tuple(gone),
        has_service=data.draw(st.booleans()),
        lost_nodes={"node1": since},
        now=NOW,
        settings=Settings(),
    )
    decided = plan(observed)
    assert not (decided.creations and decided.deletions)
    assert decided.wake_at is None or decided.wake_at > NOW
    assert codec.decode(codec.encode(decided.status), JobStatus) == decided.status
    assert plan(observed) == decided, "equal snapshots give equal plans"


@pytest.mark.parametrize("kind", KINDS)
@given(data=st.data())
@tried(8)
def test_a_poisoned_job_comes_to_rest_and_costs_nobody_else(kind: Kind, data: st.DataObject) -> None:
    """Through rendering and writing: it is not tried for ever, no error is ours, and a neighbour gets its pods."""
    api = ApiModel(NOW)
    made = api.put(kind.resource, read_job(kind, data))
    for pod in read_pods(kind, data):
        if api.find(PODS, pod.metadata.key) is None:
            api.put(PODS, pod)
    operator = OperatorModel(api, kind, made.metadata.key, lambda *_: None)
    with asyncio.Runner() as runner:
        for _ in range(ROUNDS):
            operator.deliver_all()
            operator.reconcile(runner)
            api.now += timedelta(hours=1)
            end_what_leaves(api)
        assert operator.reason is None, f"it is tried for ever: {operator.reason}"
        neighbour = put_neighbour(api, kind)
        operator.deliver_all()
        runner.run(operator.controller.reconcile(neighbour.resource.metadata.key))
    wanted = {neighbour.pod_name(Replica(kind.roles[0].name, index)) for index in range(2)}
    assert wanted <= {pod.metadata.name for pod in api.all(PODS)}


def end_what_leaves(api: ApiModel) -> None:
    """As kubelets do."""
    for pod in api.all(PODS):
        if pod.metadata.deletion_timestamp is not None:
            api.drop(PODS, pod.metadata.key)


def put_neighbour(api: ApiModel, kind: Kind) -> Job:
    """A job that is well."""
    template = {"spec": {"containers": [{"name": kind.container, "image": "train:1"}]}}
    body = {
        "metadata": {"name": "neighbour", "namespace": "team", "uid": "job-2"},
        "spec": {kind.replicas_field: {kind.roles[0].name: {"replicas": 2, "template": template}}},
    }
    return kind.job(api.put(kind.resource, kind.resource.decoder.decode(codec.encode(body))))
