"""Every write is safe to repeat, hits what was meant and nothing else, and closes the gate."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from harness.fakes.api_server import merged
from kubedl.kube import codec
from kubedl.kube.errors import ConflictError, NotFoundError, UnknownOutcomeError
from kubedl.kube.types.core import PODS, Pod, PodStatus
from kubedl.kube.types.meta import ObjectMeta
from kubedl.runtime.expectations import Expectations
from kubedl.runtime.store import Store
from kubedl.runtime.writer import NameConflictError, Writer, merge_patch
from tests.hypothesis_settings import tried
from tests.unit.runtime.fake_server import NAMESPACE, Server
from tests.unit.runtime.fake_watch import Body

pytestmark = pytest.mark.looptime(noop_cycles=0)

OWNER = Pod(metadata=ObjectMeta(name="job", namespace=NAMESPACE, uid="uid-of-job"))


@pytest.fixture
def expectations(store: Store[Pod]) -> Expectations:
    return Expectations({PODS: store})


@pytest.fixture
def writer(server: Server, expectations: Expectations) -> Writer:
    return Writer(server.client, expectations)


def replica(owner_uid: str = "uid-of-job", **meta: object) -> Body:
    """A pod to be made, owned by that object."""
    owner = {"apiVersion": "v1", "kind": "Job", "name": "job", "uid": owner_uid, "controller": True}
    return {"metadata": {"name": "job-worker-0", "ownerReferences": [owner], **meta}}


def existing(server: Server, name: str = "a") -> Pod:
    """What the server has, as a cache would hold it."""
    return codec.decode(codec.encode(server.state()[name].body), Pod)


async def test_a_create_closes_the_gate_of_its_owner(
    server: Server, store: Store[Pod], expectations: Expectations, writer: Writer
) -> None:
    made = await writer.create(OWNER, PODS, replica())
    assert server.readable()["job-worker-0"] == (made.metadata.uid, made.metadata.resource_version)
    assert expectations.pending(OWNER.metadata.key)
    store.version = server.version
    assert not expectations.pending(OWNER.metadata.key)


async def test_a_create_that_was_done_but_not_answered_is_recognised(
    server: Server, expectations: Expectations, writer: Writer
) -> None:
    """The caller tries again from the start, perhaps from a cache that does not show the object yet."""
    server.after_commit.append(UnknownOutcomeError(504, "Timeout", "the server did not say"))
    with pytest.raises(UnknownOutcomeError):
        await writer.create(OWNER, PODS, replica())
    assert not expectations.pending(OWNER.metadata.key)
    made = await writer.create(OWNER, PODS, replica())
    assert server.readable()["job-worker-0"] == (made.metadata.uid, made.metadata.resource_version)
    assert expectations.pending(OWNER.metadata.key)
    assert [event.type for event in server.history if event.name == "job-worker-0"] == ["ADDED"]


@pytest.mark.parametrize(
    "theirs",
    [
        replica("uid-of-an-earlier-job-of-that-name"),
        replica(ownerReferences=[]),
        replica(ownerReferences=[{"apiVersion": "v1", "kind": "Job", "name": "job", "uid": "uid-of-job"}]),
    ],
    ids=["another owner", "no owner", "an owner that does not control it"],
)
async def test_what_belongs_to_others_is_never_adopted(
    server: Server, expectations: Expectations, writer: Writer, theirs: Body
) -> None:
    server.put("job-worker-0", **theirs)
    before = server.version
    with pytest.raises(NameConflictError, match="Pod job-worker-0 exists and does not belong to this object"):
        await writer.create(OWNER, PODS, replica())
    assert server.version == before
    assert not expectations.pending(OWNER.metadata.key)


async def test_what_a_cache_does_not_show_is_asked_of_the_server(server: Server, writer: Writer) -> None:
    await writer.confirm_deleted(OWNER, PODS, "job-worker-0")
    server.put("job-worker-0", **replica("another"))
    await writer.confirm_deleted(OWNER, PODS, "job-worker-0")


async def test_what_a_cache_has_yet_to_see_is_waited_for(
    server: Server, store: Store[Pod], expectations: Expectations, writer: Writer
) -> None:
    server.put("job-worker-0", **replica())
    with pytest.raises(ConflictError, match="but is not in the cache yet"):
        await writer.confirm_deleted(OWNER, PODS, "job-worker-0")
    assert expectations.pending(OWNER.metadata.key)
    store.version = server.version
    assert not expectations.pending(OWNER.metadata.key)


async def test_what_vanished_before_it_was_looked_at_is_tried_again_later(server: Server, writer: Writer) -> None:
    class Vanishing(Server):
        async def get(self, *_: Any) -> Any:  # noqa: ANN401
            raise NotFoundError(404, "NotFound", "just gone")

    vanishing = Vanishing(history=server.history)
    vanishing.put("job-worker-0", **replica())
    with pytest.raises(NotFoundError):
        await Writer(vanishing.client, Expectations({})).create(OWNER, PODS, replica())


async def test_a_delete_names_the_uid(server: Server, expectations: Expectations, writer: Writer) -> None:
    target = existing(server)
    await writer.delete(OWNER, PODS, target, grace_seconds=0)
    assert "a" not in server.state()
    [call] = server.called("delete")
    assert call.detail == {"name": "a", "uid": target.metadata.uid, "grace": 0}
    assert expectations.pending(OWNER.metadata.key)


async def test_a_delete_may_wait_for_dependents(server: Server, writer: Writer) -> None:
    await writer.delete(OWNER, PODS, existing(server), propagation="Foreground")
    [call] = server.called("delete")
    assert call.detail["propagation"] == "Foreground"


async def test_a_delete_does_not_hit_a_successor(server: Server, expectations: Expectations, writer: Writer) -> None:
    target = existing(server)
    server.remove("a")
    server.put("a")
    await writer.delete(OWNER, PODS, target)
    assert "a" in server.state()
    assert not expectations.pending(OWNER.metadata.key)


async def test_a_delete_of_what_is_gone_is_well(server: Server, expectations: Expectations, writer: Writer) -> None:
    target = existing(server)
    server.remove("a")
    await writer.delete(OWNER, PODS, target)
    assert not expectations.pending(OWNER.metadata.key)


async def test_a_delete_that_was_not_answered_is_told(server: Server, writer: Writer) -> None:
    server.after_commit.append(UnknownOutcomeError(504, "Timeout", "the server did not say"))
    with pytest.raises(UnknownOutcomeError):
        await writer.delete(OWNER, PODS, existing(server))


async def test_a_status_is_written_over_the_state_that_it_was_made_from(
    server: Server, expectations: Expectations, writer: Writer
) -> None:
    server.put("a", status={"phase": "Pending", "reason": "Waiting"})
    target = existing(server)
    made = await writer.patch_status(PODS, target, {"phase": "Running", "reason": None})
    assert (made.status.phase, made.status.reason) == ("Running", "")
    [call] = server.called("patch")
    assert (call.detail["how"], call.detail["subresource"]) == ("merge", "status")
    assert set(call.detail["body"]) == {"metadata", "status"}
    assert expectations.pending(target.metadata.key)


@pytest.mark.parametrize("recreated", [False, True], ids=["changed", "made again"])
async def test_a_status_of_an_older_state_is_refused(
    server: Server, expectations: Expectations, writer: Writer, recreated: bool
) -> None:
    target = existing(server)
    if recreated:
        server.remove("a")
    server.put("a")
    before = server.version
    with pytest.raises(ConflictError):
        await writer.patch_status(PODS, target, {"phase": "Running"})
    assert server.version == before
    assert not expectations.pending(target.metadata.key)


async def test_an_object_of_another_life_is_refused_even_at_the_same_version(server: Server, writer: Writer) -> None:
    """A backup of etcd that was restored can bring back versions, but no uids."""
    target = existing(server)
    server.put("a", metadata={"uid": "another"})
    server.history[-1].body["metadata"]["resourceVersion"] = target.metadata.resource_version
    with pytest.raises(ConflictError):
        await writer.patch_status(PODS, target, {"phase": "Running"})


# Merge patches.

VALUES = st.recursive(
    st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(max_size=3),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from("abc"), inner, max_size=3),
    max_leaves=10,
)
DOCUMENTS = st.dictionaries(st.sampled_from("abc"), VALUES)


@tried(daily=100)
@given(DOCUMENTS, DOCUMENTS)
def test_the_changes_turn_the_old_into_the_new(old: dict[str, Any], new: dict[str, Any]) -> None:
    """And they survive the way to the server."""
    changes = merge_patch(old, new)
    assert merged(old, codec.plain(changes)) == new
    assert merge_patch(new, new) == {}
    assert bool(changes) == (old != new)


@pytest.mark.parametrize(
    ("old", "new", "expected"),
    [
        ({"a": 1, "b": 2}, {"b": 2, "c": 3}, {"a": None, "c": 3}),
        ({"a": {"b": 1, "c": 2}}, {"a": {"b": 1, "c": 3}}, {"a": {"c": 3}}),
        ({"a": {"b": 1}}, {"a": {}}, {"a": {"b": None}}),
        ({"a": {"b": 1}}, {"a": [1]}, {"a": [1]}),
        ({"a": [1, 2]}, {"a": [2]}, {"a": [2]}),
        ({}, {"a": {}}, {"a": {}}),
    ],
)
def test_the_changes_are_no_more_than_needed(old: Body, new: Body, expected: Body) -> None:
    assert merge_patch(old, new) == expected


async def test_a_status_is_written_only_where_it_differs(server: Server, writer: Writer) -> None:
    """What is gone becomes null, what is equal is left out."""
    server.put("a", status={"phase": "Pending", "reason": "Unschedulable"})
    found, before = existing(server), server.version
    assert not await writer.write_status(PODS, found, found.status)
    assert server.version == before
    assert await writer.write_status(PODS, found, PodStatus(phase="Running"))
    assert server.calls[-1].detail["body"]["status"] == {"phase": "Running", "reason": None}
