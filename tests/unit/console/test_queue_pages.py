"""Queues of Kueue: quota, who waits in which order, and nothing of namespaces that a person may not list."""

from typing import Any

import pytest

from kubedl.console.queue_kinds import CLUSTER_QUEUES, LOCAL_QUEUES, WORKLOADS
from tests.unit.console.test_stream import Viewer, following
from tests.unit.console.world import World, caller

pytestmark = pytest.mark.looptime  # frames wait for a quarter of a second
ADA = caller("ada")
KUEUE = (LOCAL_QUEUES.name, WORKLOADS.name)


def put_queues(world: World) -> None:
    """One ClusterQueue of 16 GPUs, and a queue in each of two namespaces."""
    flavor = {"name": "a100", "resources": [{"name": "nvidia.com/gpu", "nominalQuota": "16"}]}
    used = {"name": "a100", "resources": [{"name": "nvidia.com/gpu", "total": "12", "borrowed": "4"}]}
    world.put(
        CLUSTER_QUEUES,
        "",
        "team",
        spec={"cohortName": "all", "resourceGroups": [{"flavors": [flavor]}]},
        status={"flavorsUsage": [used], "pendingWorkloads": 3, "admittedWorkloads": 2},
    )
    for namespace in ("nlp", "vision"):
        world.put(LOCAL_QUEUES, namespace, "gpus", spec={"clusterQueue": "team"})


def put_workload(world: World, namespace: str, name: str, created: str, priority: int = 0, **status: Any) -> None:  # noqa: ANN401
    """A Workload of a job, by default one that waits."""
    owner = {"apiVersion": "training.kubedl.io/v1alpha1", "kind": "PyTorchJob", "name": name, "uid": f"uid-{name}"}
    requests = {"cpu": "2", "nvidia.com/gpu": "8"}
    template = {"spec": {"containers": [{"resources": {"requests": requests}}]}}
    world.put(
        WORKLOADS,
        namespace,
        f"w-{name}",
        metadata={"creationTimestamp": created, "ownerReferences": [{**owner, "controller": True}]},
        spec={"queueName": "gpus", "priority": priority, "podSets": [{"count": 2, "template": template}]},
        status=status,
    )


async def test_quota_is_shown_with_what_is_used_and_borrowed(world: World) -> None:
    put_queues(world)
    world.reviewer.allow("ada", "", CLUSTER_QUEUES.name)
    [queue] = (await world.pages.of_queues.queues(ADA)).cluster_queues
    [quota] = queue.quotas
    assert (quota.flavor, quota.resource, quota.nominal, quota.used, quota.borrowed) == (
        "a100",
        "nvidia.com/gpu",
        16,
        12,
        4,
    )
    assert (queue.cohort, queue.waiting, queue.admitted, queue.problem) == ("all", 3, 2, "")


async def test_of_what_kueue_has_not_said_nothing_is_a_figure(world: World) -> None:
    """It is stopped, or has not seen the queues yet; what it wrote before is no longer believed to be nothing."""
    put_queues(world)
    world.reviewer.allow("ada", "", CLUSTER_QUEUES.name, *KUEUE)
    flavor = {"name": "a100", "resources": [{"name": "nvidia.com/gpu", "nominalQuota": "16"}]}
    world.put(CLUSTER_QUEUES, "", "team", spec={"resourceGroups": [{"flavors": [flavor]}]})
    answer = await world.pages.of_queues.queues(ADA)
    [queue], [local, _] = answer.cluster_queues, answer.local_queues
    assert (queue.waiting, queue.admitted, local.waiting, local.admitted) == (None, None, None, None)
    [quota] = queue.quotas
    assert (quota.nominal, quota.used, quota.borrowed) == (16, None, None)


async def test_who_waits_is_in_order_and_others_count(world: World) -> None:
    """Priority, then time; a Workload of a hidden namespace takes a place and shows nothing."""
    put_queues(world)
    world.reviewer.allow("ada", "nlp", *KUEUE)
    put_workload(world, "nlp", "late", "2026-11-18T11:00:00Z")
    put_workload(world, "nlp", "early", "2026-11-18T09:00:00Z")
    put_workload(world, "vision", "secret", "2026-11-18T10:00:00Z")
    put_workload(world, "nlp", "urgent", "2026-11-18T11:30:00Z", 100)
    admitted = [{"type": "Admitted", "status": "True"}]
    put_workload(world, "nlp", "runs", "2026-11-18T08:00:00Z", conditions=admitted)
    answer = await world.pages.of_queues.queues(ADA)
    assert [(row.position, row.name) for row in answer.waiting] == [(1, "urgent"), (2, "early"), (4, "late")]
    assert (answer.waiting[0].gpus, answer.waiting[0].cpu_millis, answer.waiting[0].kind) == (16, 4000, "PyTorchJob")
    assert [(one.namespace, one.name) for one in answer.local_queues] == [("nlp", "gpus")]
    assert not answer.cluster_queues
    assert {one.resource for one in answer.missing} == {CLUSTER_QUEUES.name, *KUEUE}
    assert "secret" not in repr(answer)


async def test_who_may_not_list_a_queue_is_not_told_whose_it_is(world: World) -> None:
    """A Workload names its LocalQueue; that one names the ClusterQueue."""
    put_queues(world)
    world.reviewer.allow("ada", "nlp", WORKLOADS.name)
    put_workload(world, "nlp", "a", "2026-11-18T11:00:00Z")
    [row] = (await world.pages.of_queues.queues(ADA)).waiting
    assert (row.queue, row.cluster_queue) == ("gpus", "")
    world.reviewer.allow("ada", "nlp", LOCAL_QUEUES.name)
    world.clock.now += 10
    [row] = (await world.pages.of_queues.queues(ADA)).waiting
    assert row.cluster_queue == "team"


async def test_the_reason_of_kueue_is_shown(world: World) -> None:
    put_queues(world)
    world.reviewer.allow("ada", "", *KUEUE)
    reason = {"type": "QuotaReserved", "status": "False", "message": "insufficient unused quota"}
    put_workload(world, "nlp", "a", "2026-11-18T11:00:00Z", conditions=[reason])
    [row] = (await world.pages.of_queues.queues(ADA)).waiting
    assert row.message == "insufficient unused quota"


async def test_a_stopped_queue_says_so(world: World) -> None:
    world.reviewer.allow("ada", "", CLUSTER_QUEUES.name)
    world.put(CLUSTER_QUEUES, "", "team", spec={"stopPolicy": "Hold"})
    [queue] = (await world.pages.of_queues.queues(ADA)).cluster_queues
    assert queue.problem == "stopped: nothing in it is admitted"


async def test_without_kueue_the_answer_says_that_it_is_not_installed(world: World) -> None:
    """Which is not the same as having no queues."""
    assert (await world.pages.of_queues.queues(ADA)).installed
    world.stores.absent = lambda name: name == LOCAL_QUEUES.name
    assert not (await world.pages.of_queues.queues(ADA)).installed


async def test_lists_are_bounded_and_say_so(world: World) -> None:
    put_queues(world)
    world.reviewer.allow("ada", "", *KUEUE)
    for number in range(503):
        put_workload(world, "nlp", f"j{number:03}", "2026-11-18T11:00:00Z")
    answer = await world.pages.of_queues.queues(ADA)
    assert (len(answer.waiting), answer.more_waiting) == (500, 3)


async def test_a_kind_that_this_console_may_not_list_is_named(world: World) -> None:
    """With a kubeconfig of little rights, what is not followed is missing, not empty."""
    world.reviewer.allow("ada", "", *KUEUE)
    world.stores.unfollowed = frozenset({WORKLOADS.name})
    assert WORKLOADS.name in {one.resource for one in (await world.pages.of_queues.queues(ADA)).missing}


async def test_changes_reach_those_who_may_list_them(world: World) -> None:
    """In their namespace; a new version with the same content is none."""
    world.reviewer.allow("ada", "nlp", *KUEUE)
    viewer = Viewer(world, "ada")
    async with viewer.stream(await viewer.cursor()) as events:
        await anext(events)
        put_workload(world, "vision", "secret", "2026-11-18T10:00:00Z")
        put_workload(world, "nlp", "a", "2026-11-18T10:00:00Z")
        assert (await following(events)).data["touched"] == ["queues"]
        head = world.feed.journal.head
        put_workload(world, "nlp", "a", "2026-11-18T10:00:00Z")
        assert world.feed.journal.head == head
        put_workload(world, "vision", "other", "2026-11-18T10:00:00Z")
        world.put_job("nlp", "bert")
        assert (await following(events)).data["touched"] == []
