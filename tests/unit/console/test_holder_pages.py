"""Who holds the GPUs: names only of what a person may list, and sums that stay right while pods come and go."""

import pytest

from kubedl.console.problems import RefusalError
from kubedl.console.wire_nodes import HolderList
from tests.unit.console.world import JOBS, World, caller

ADA = caller("ada")


async def held(world: World, who: str, by: str = "workload") -> HolderList:
    """What somebody is told."""
    return await world.pages.of_holders.holders(caller(who), by)


def rows(page: HolderList) -> list[tuple[str, str, str, str, int]]:
    """The rows as tuples."""
    return [(one.namespace, one.kind, one.name, one.user, one.gpus) for one in page.rows]


@pytest.fixture
def cluster(world: World) -> World:
    """Two jobs of Mei in two namespaces, and a pod of nobody."""
    for person in ("ada", "root", "pods-only"):
        world.reviewer.allow(person, "", "nodes")
    world.reviewer.allow("root", "", JOBS, "pods")
    world.reviewer.allow("pods-only", "nlp", "pods")
    world.put_node("a", gpus=16)
    mei = {"annotations": {"kubedl.io/user": "mei"}}
    for namespace, name, gpus in (("nlp", "bert", "2"), ("vision", "resnet", "3")):
        uid = world.put_whole_job(namespace, name, mei, {}, {"state": "Running"})
        for index in range(2):
            world.put_pod(namespace, f"{name}-worker-{index}", uid, "a", gpu=gpus)
    world.put_pod("nlp", "notebook-0", "", "a", gpu="1")
    world.put_pod("nlp", "too-early", "", gpu="8")
    world.put_pod("nlp", "only-cpu", "", "a", cpu="1")
    return world


async def test_pods_are_added_up_by_job_user_and_team(cluster: World) -> None:
    """What has no node holds nothing."""
    assert rows(await held(cluster, "root")) == [
        ("vision", "PyTorchJob", "resnet", "mei", 6),
        ("nlp", "PyTorchJob", "bert", "mei", 4),
        ("nlp", "", "notebook-0", "", 1),
    ]
    assert rows(await held(cluster, "root", "user")) == [("", "", "mei", "", 10), ("", "", "", "", 1)]
    assert rows(await held(cluster, "root", "team")) == [("vision", "", "", "", 6), ("nlp", "", "", "", 5)]


async def test_what_a_person_may_not_list_is_a_number(cluster: World) -> None:
    page = await held(cluster, "ada")
    assert rows(page) == [("nlp", "PyTorchJob", "bert", "mei", 4), ("nlp", "", "notebook-0", "", 1)]
    assert (page.hidden_gpus, page.held) == (6, 11)
    without_jobs = await held(cluster, "pods-only")
    assert rows(without_jobs) == [("nlp", "", "", "", 4), ("nlp", "", "notebook-0", "", 1)]
    assert rows(await held(cluster, "pods-only", "user")) == [("", "", "", "", 5)]
    with pytest.raises(RefusalError):
        await held(cluster, "ben")


async def test_sums_follow_the_pods(cluster: World) -> None:
    """A pod that ends, and one that gets an owner."""
    cluster.put_pod("nlp", "bert-worker-1", "uid-nlp-bert", "a", phase="Succeeded", gpu="2")
    cluster.put_pod("nlp", "notebook-0", "uid-nlp-bert", "a", gpu="1")
    assert rows(await held(cluster, "ada")) == [("nlp", "PyTorchJob", "bert", "mei", 3)]


async def test_other_groups_are_refused(cluster: World) -> None:
    with pytest.raises(RefusalError, match="no groups by node"):
        await held(cluster, "ada", "node")
