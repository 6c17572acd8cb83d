"""A store finds what it was given, tells each change once, and remembers what is gone until it is told not to."""

from collections.abc import Iterable

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kubedl.kube.types.core import Pod
from kubedl.kube.types.meta import NOTHING, ObjectKey, ObjectMeta, OwnerReference
from kubedl.runtime.store import BY_OWNER, OwnerKey, Store

Told = list[tuple[str, str]]


def pod(name: str, uid: str = "", version: int = 1, group: str = "") -> Pod:
    labels = {"group": group} if group else NOTHING
    return Pod(
        metadata=ObjectMeta(name=name, namespace="team", uid=uid or name, resource_version=str(version), labels=labels)
    )


def group(found: Pod) -> str | None:
    return found.metadata.labels.get("group")


@pytest.fixture
def store() -> Store[Pod]:
    return Store({"group": group}, remember="group")


@pytest.fixture
def told(store: Store[Pod]) -> Told:
    told: Told = []

    def name(found: Pod | None) -> str:
        return f"{found.metadata.uid}@{found.metadata.resource_version}" if found else ""

    store.subscribe(lambda old, new: told.append((name(old), name(new))))
    return told


def uids(found: Iterable[Pod]) -> list[str]:
    return sorted(found.metadata.uid for found in found)


def test_each_change_is_told_with_before_and_after(store: Store[Pod], told: Told) -> None:
    store.put(pod("a"))
    store.put(pod("a", version=2))
    store.put(pod("a", version=2))
    store.remove(ObjectKey("team", "a"))
    store.remove(ObjectKey("team", "a"))
    assert told == [("", "a@1"), ("a@1", "a@2"), ("a@2", "")]
    assert len(store) == 0
    assert store.get(ObjectKey("team", "a")) is None


def test_an_index_follows_its_object(store: Store[Pod]) -> None:
    store.put(pod("a", group="x"))
    store.put(pod("b", group="x"))
    store.put(pod("c"))
    assert uids(store.by_index("group", "x")) == ["a", "b"]
    store.put(pod("a", version=2, group="y"))
    store.put(pod("b", version=2))
    assert uids(store.by_index("group", "x")) == []
    assert uids(store.by_index("group", "y")) == ["a"]
    [found] = store.by_index("group", "y")
    assert found.metadata.resource_version == "2"
    store.remove(ObjectKey("team", "a"))
    assert uids(store.by_index("group", "y")) == []


def test_an_object_made_again_under_its_name_is_another(store: Store[Pod], told: Told) -> None:
    store.put(pod("a", uid="first", group="x"))
    store.put(pod("a", uid="second", group="y"))
    assert told == [("", "first@1"), ("first@1", ""), ("", "second@1")]
    assert uids(store.by_index("group", "x")) == []
    assert uids(store.by_index("group", "y")) == ["second"]
    assert uids(store.tombstones("x")) == ["first"]


def test_the_end_of_one_is_not_the_end_of_its_successor(store: Store[Pod], told: Told) -> None:
    store.put(pod("a", uid="second"))
    store.remove(ObjectKey("team", "a"), pod("a", uid="first"))
    assert uids(store) == ["second"]
    assert told == [("", "second@1")]


def test_what_is_not_in_a_list_was_deleted(store: Store[Pod], told: Told) -> None:
    for name in ("a", "b", "c"):
        store.put(pod(name, group="x"))
    told.clear()
    store.replace([pod("b", group="x"), pod("c", version=2, group="x"), pod("d", group="x")])
    assert sorted(told) == [("", "d@1"), ("a@1", ""), ("c@1", "c@2")]
    assert uids(store.by_index("group", "x")) == uids(store) == ["b", "c", "d"]
    assert uids(store.tombstones("x")) == ["a"]
    store.replace([])
    assert len(store) == 0


def test_what_is_gone_is_kept_in_its_last_state_until_it_is_forgotten(store: Store[Pod]) -> None:
    for name in ("a", "b", "c"):
        store.put(pod(name, group="x"))
        store.remove(ObjectKey("team", name), pod(name, version=9, group="x"))
    assert {found.metadata.resource_version for found in store.tombstones("x")} == {"9"}
    store.drop_tombstones("x", ["a", "never heard of"])
    assert uids(store.tombstones("x")) == ["b", "c"]
    store.drop_tombstones("x", [])
    assert uids(store.tombstones("x")) == ["b", "c"]
    store.drop_tombstones("x")
    assert store.tombstones("x") == []
    store.drop_tombstones("x", ["b"])


def test_what_belongs_to_nobody_is_not_remembered(store: Store[Pod]) -> None:
    store.put(pod("a"))
    store.remove(ObjectKey("team", "a"))
    assert store.tombstones(None) == []


def test_what_comes_back_is_not_among_the_deleted(store: Store[Pod]) -> None:
    """It could not be read for a while, or had lost the label that we look for; it did not go."""
    store.put(pod("a", group="x"))
    store.remove(ObjectKey("team", "a"))
    store.put(pod("a", version=2, group="x"))
    assert store.tombstones("x") == []


def test_a_reader_may_change_the_store_while_it_reads(store: Store[Pod]) -> None:
    for name in ("a", "b"):
        store.put(pod(name, group="x"))
    for found in store.by_index("group", "x"):
        store.remove(found.metadata.key)
    for found in store.tombstones("x"):
        store.drop_tombstones("x", [found.metadata.uid])
    assert len(store) == 0


PODS = st.builds(
    pod, st.sampled_from("abc"), st.sampled_from(["1", "2"]), st.integers(1, 3), st.sampled_from(["x", "y", ""])
)
LISTS = st.lists(PODS, unique_by=lambda found: found.metadata.name)


@given(st.lists(PODS.map(lambda found: (True, found)) | PODS.map(lambda found: (False, found)) | LISTS))
def test_an_index_is_what_one_would_find_by_looking_at_everything(work: list[object]) -> None:
    store: Store[Pod] = Store({"group": group})
    for item in work:
        if isinstance(item, list):
            store.replace(item)
        elif isinstance(item, tuple):
            put, found = item
            store.put(found) if put else store.remove(found.metadata.key, found)
        for value in ("x", "y"):
            expected = {found.metadata.key: found for found in store if group(found) == value}
            assert {found.metadata.key: found for found in store.by_index("group", value)} == expected


def test_an_owner_has_what_is_in_its_own_namespace_and_nothing_else() -> None:
    """Anybody can write any uid into a reference of his own objects."""

    def owned(namespace: str, name: str, uid: str) -> Pod:
        reference = OwnerReference(api_version="v1", kind="Job", name="mnist", uid=uid, controller=True)
        meta = ObjectMeta(name=name, namespace=namespace, uid=f"{namespace}-{name}", owner_references=(reference,))
        return Pod(metadata=meta)

    store: Store[Pod] = Store(remember=BY_OWNER)
    job = Pod(metadata=ObjectMeta(name="mnist", namespace="team", uid="u"))
    for found in (owned("team", "a", "u"), owned("team", "b", "other"), owned("evil", "a", "u"), pod("c")):
        store.put(found)
    assert uids(store.owned_by(job)) == ["team-a"]
    for key in [one.metadata.key for one in store]:
        store.remove(key)
    assert uids(store.tombstones(OwnerKey.of_owner(job))) == ["team-a"]
    store.drop_tombstones(OwnerKey.of_owner(job))
    assert uids(store.tombstones(OwnerKey("evil", "u"))) == ["evil-a"]


def test_a_subscriber_of_one_kind_of_owner_is_told_of_its_objects_alone() -> None:
    """Also of one that changes its owner: who had it must know."""

    def owned(version: int, *kinds: str) -> Pod:
        owners = tuple(
            OwnerReference(api_version="v1", kind=kind, name="a", uid=kind, controller=True) for kind in kinds
        )
        return Pod(
            metadata=ObjectMeta(
                name="a", namespace="team", uid="a", resource_version=str(version), owner_references=owners
            )
        )

    store: Store[Pod] = Store()
    calls: list[str] = []

    def subscribe(kind: str) -> None:
        store.subscribe(lambda old, new: calls.append(f"{kind or 'all'} {bool(old)} {bool(new)}"), kind)

    for kind in ("", "TFJob", "MPIJob"):
        subscribe(kind)
    store.put(owned(1))
    store.put(owned(2, "TFJob"))
    store.put(owned(3, "MPIJob"))
    store.remove(ObjectKey("team", "a"))
    assert [call for call in calls if call.startswith("all")] == [
        "all False True",
        "all True True",
        "all True True",
        "all True False",
    ]
    assert [call for call in calls if call.startswith("TFJob")] == ["TFJob True True", "TFJob True True"]
    assert [call for call in calls if call.startswith("MPIJob")] == ["MPIJob True True", "MPIJob True False"]


def test_the_index_of_owners_cannot_be_replaced() -> None:
    """One that forgets the namespace would let neighbours decide."""
    with pytest.raises(ValueError, match="is built in"):
        Store({BY_OWNER: group})


def test_what_is_remembered_has_a_bound(monkeypatch: pytest.MonkeyPatch) -> None:
    """Nobody draws conclusions on a standby, so nobody tells its store to forget."""
    monkeypatch.setattr("kubedl.runtime.store.MOST_REMEMBERED", 10)
    store: Store[Pod] = Store({"group": group}, remember="group")
    for number in range(30):
        store.put(pod(f"p{number}", group=f"g{number % 3}"))
        store.remove(ObjectKey("team", f"p{number}"))
    left = [found.metadata.name for index in range(3) for found in store.tombstones(f"g{index}")]
    assert sorted(left) == sorted(f"p{number}" for number in range(20, 30))
