"""Nodes: what is free is what the scheduler would say, and nobody sees it, or whose it is, without the right to."""

import pytest

from kubedl.console.problems import RefusalError
from tests.unit.console.test_stream import Viewer, following
from tests.unit.console.world import World, caller

pytestmark = pytest.mark.looptime  # frames wait for a quarter of a second
GIB = 1024**3
ADA, BEN = caller("ada"), caller("ben")


async def test_what_is_free_is_what_pods_that_have_not_ended_leave(world: World) -> None:
    """A pod without a node and one that has ended hold nothing; one of another program does."""
    world.reviewer.allow("ada", "", "nodes")
    world.put_node("a", gpus=8)
    world.put_node("b", gpus=8)
    uid = world.put_job("nlp", "bert")
    world.put_pod("nlp", "bert-worker-0", uid, "a", cpu="2", memory="16Gi", gpu="2")
    world.put_pod("kube-system", "dns", "", "b", cpu="500m", memory="1Gi")
    world.put_pod("nlp", "ended", uid, "a", "Succeeded", cpu="4", gpu="4")
    world.put_pod("nlp", "waits", uid, "", "Pending", cpu="4", gpu="4")
    found = await world.pages.of_nodes.capacity(ADA)
    assert (found.cpu.total, found.cpu.requested, found.cpu.free) == (16_000, 2500, 13_500)
    assert (found.memory.total, found.memory.requested) == (128 * GIB, 17 * GIB)
    assert (found.gpus.total, found.gpus.requested, found.gpus.free) == (16, 2, 14)
    assert (found.largest_block, found.largest_block_node) == (8, "b")


async def test_a_pod_that_ends_or_is_deleted_gives_back_what_it_held(world: World) -> None:
    world.reviewer.allow("ada", "", "nodes")
    world.put_node("a", gpus=8)
    uid = world.put_job("nlp", "bert")
    for name in ("first", "second"):
        world.put_pod("nlp", name, uid, "a", gpu="4")
    assert (await world.pages.of_nodes.capacity(ADA)).gpus.free == 0
    world.put_pod("nlp", "first", uid, "a", "Failed", gpu="4")
    assert (await world.pages.of_nodes.capacity(ADA)).gpus.free == 4
    world.stores.pods.remove(next(pod.metadata.key for pod in world.stores.pods if pod.metadata.name == "second"))
    assert (await world.pages.of_nodes.capacity(ADA)).gpus.free == 8


async def test_nodes_that_take_no_pods_have_nothing_free(world: World) -> None:
    """What they would have is said apart."""
    world.reviewer.allow("ada", "", "nodes")
    world.put_node("a", gpus=4)
    world.put_node("lost", ready="Unknown", gpus=8)
    world.put_node("cordoned", cordoned=True, gpus=2)
    found = await world.pages.of_nodes.capacity(ADA)
    assert (found.nodes, found.closed_nodes) == (3, 2)
    assert (found.gpus.total, found.gpus.free, found.gpus.closed) == (14, 4, 10)


async def test_nodes_with_more_requests_than_room_hide_nothing_of_others(world: World) -> None:
    """A node that shrank below what its pods hold leaves nothing free, and takes nothing from the sum."""
    world.reviewer.allow("ada", "", "nodes")
    world.put_node("a", gpus=8)
    world.put_node("shrunk", gpus=1)
    world.put_pod("nlp", "p", "", "shrunk", gpu="4")
    assert (await world.pages.of_nodes.capacity(ADA)).gpus.free == 8


async def test_without_the_right_to_list_nodes_nothing_is_said(world: World) -> None:
    """But which right it is, and how to give it."""
    world.put_node("secret-node", gpus=8)
    with pytest.raises(RefusalError) as refused:
        await world.pages.of_nodes.capacity(BEN)
    assert (refused.value.status, refused.value.why) == (403, "ben has no right to list nodes")
    assert "kubectl create clusterrole list-nodes --verb=list --resource=nodes" in refused.value.next_step


async def test_in_one_namespace_what_is_free_is_not_known(world: World) -> None:
    """Pods of others may hold it, so it is neither 0 nor all."""
    world.reviewer.allow("ada", "", "nodes")
    world.stores.namespace = "nlp"
    world.put_node("a", gpus=8)
    found = await world.pages.of_nodes.capacity(ADA)
    assert (found.gpus.total, found.gpus.requested, found.gpus.free) == (8, None, None)
    assert (found.largest_block_node, found.only_namespace) == ("", "nlp")


async def test_a_change_of_what_is_free_reaches_those_who_may_list_nodes(world: World) -> None:
    """A change of a pod that moves nothing does not, and others hear of none."""
    world.reviewer.allow("ada", "", "nodes")
    ada, ben = Viewer(world, "ada"), Viewer(world, "ben")
    async with ada.stream(await ada.cursor()) as for_ada, ben.stream(await ben.cursor()) as for_ben:
        await anext(for_ada)
        await anext(for_ben)
        world.put_node("a", gpus=8)
        assert (await following(for_ada)).data["touched"] == ["nodes"]
        world.put_pod("kube-system", "dns", "", "a", cpu="1")
        assert (await following(for_ada)).data["touched"] == ["nodes"]
        head = world.feed.journal.head
        world.put_pod("kube-system", "dns", "", "a", cpu="1")
        world.put_node("a", gpus=8)
        assert world.feed.journal.head == head
        world.put_job("vision", "resnet")
        assert (await following(for_ben)).data["touched"] == []


async def test_pods_and_jobs_on_a_node_are_named_only_to_those_who_may_list_them(world: World) -> None:
    """The others hold GPUs without a name."""
    for person in ("ada", "ben", "eve"):
        world.reviewer.allow(person, "", "nodes")
    world.reviewer.allow("eve", "nlp", "pods")
    world.put_node("a", gpus=8)
    world.put_pod("nlp", "bert-worker-0", world.put_job("nlp", "bert"), "a", gpu="4")
    world.put_pod("vision", "resnet-worker-0", world.put_job("vision", "resnet"), "a", gpu="2")
    seen = {}
    for person in ("ada", "ben", "eve"):
        page = await world.pages.of_nodes.node(caller(person), "a")
        [row] = (await world.pages.of_nodes.nodes(caller(person), "", "")).rows
        assert page.node == row
        seen[person] = [(one.pod, one.kind, one.job, one.gpus) for one in row.holders], row.hidden_gpus
        assert [pod.name for pod in page.pods] == [one.pod for one in row.holders]
        assert page.hidden_pods == 1
    assert seen["ada"] == ([("bert-worker-0", "PyTorchJob", "bert", 4)], 2)
    assert seen["ben"] == ([("resnet-worker-0", "PyTorchJob", "resnet", 2)], 4)
    assert seen["eve"] == ([("bert-worker-0", "", "", 4)], 2)


async def test_pods_of_a_foreign_kind_of_the_same_name_have_no_job_here(world: World) -> None:
    """Kubeflow has a PyTorchJob too."""
    world.reviewer.allow("ada", "", "nodes")
    world.put_node("a", gpus=8)
    world.put_pod("nlp", "p", "uid-nlp-bert", "a", gpu="1", version="kubeflow.org/v1")
    [row] = (await world.pages.of_nodes.nodes(ADA, "", "")).rows
    assert [(one.pod, one.kind) for one in row.holders] == [("p", "")]


async def test_nodes_come_in_pages_by_name(world: World) -> None:
    """Each once, and a search counts what matches."""
    world.reviewer.allow("ada", "", "nodes")
    for number in range(250):
        world.put_node(f"n{number:03}")
    seen: list[str] = []
    sizes: list[int] = []
    after = ""
    while not sizes or after:
        page = await world.pages.of_nodes.nodes(ADA, "", after)
        seen += [row.name for row in page.rows]
        after = page.after
        sizes.append(len(page.rows))
        assert page.total == 250
    assert (sizes, seen) == ([100, 100, 50], [f"n{number:03}" for number in range(250)])
    assert (await world.pages.of_nodes.nodes(ADA, "n00", "")).total == 10


@pytest.mark.parametrize("there", [True, False])
async def test_a_node_that_one_may_not_see_is_refused_whether_it_exists_or_not(world: World, *, there: bool) -> None:
    if there:
        world.put_node("a")
    with pytest.raises(RefusalError) as refused:
        await world.pages.of_nodes.node(BEN, "a")
    assert refused.value.status == 403
    world.reviewer.allow("ada", "", "nodes")
    if not there:
        with pytest.raises(RefusalError, match="no node a"):
            await world.pages.of_nodes.node(ADA, "a")


async def test_the_pods_of_a_node_are_bounded_and_the_largest_stay(world: World) -> None:
    world.reviewer.allow("ada", "", "nodes")
    world.put_node("a", gpus=8)
    for number in range(501):
        world.put_pod("nlp", f"small-{number}", "", "a", cpu="10m")
    world.put_pod("nlp", "large", "", "a", gpu="8")
    page = await world.pages.of_nodes.node(ADA, "a")
    assert (page.pods[0].name, len(page.pods), page.more_pods) == ("large", 500, 2)
