"""The client before a real API server: what unit tests assume about it is true."""

import asyncio
from collections.abc import AsyncIterator, Mapping
from contextlib import aclosing
from datetime import datetime
from pathlib import Path
from typing import Any

import pytest
import yaml

from kubedl.kube import credentials, watch
from kubedl.kube.client import Client
from kubedl.kube.errors import (
    AlreadyExistsError,
    ConflictError,
    ForbiddenError,
    GoneError,
    InvalidError,
    NotFoundError,
    TooManyRequestsError,
    UnauthorizedError,
    UnknownOutcomeError,
)
from kubedl.kube.types.core import EVENTS, LEASES, PODS, Lease
from kubedl.kube.types.meta import NOTHING, ObjectKey, ObjectMeta, ObjectT, Record, Resource
from kubedl.kube.watch import ListOptions, WatchEvent
from kubedl.runtime.events import EventRecorder, ObjectReference
from testbed.cluster import Cluster
from testbed.faultproxy import DropAfterCommit, FaultProxy, Freeze, Match
from testbed.faults import Faults
from testbed.pki import Identity, write_kubeconfig
from tests.builders import pod

DEADLINE = 30


class ConfigMap(Record, frozen=True):
    """Something small to write."""

    metadata: ObjectMeta = ObjectMeta()
    data: Mapping[str, str] = NOTHING


CONFIG_MAPS = Resource(ConfigMap, "ConfigMap", "configmaps")


class Counted:
    """How often each verb was called."""

    def __init__(self) -> None:
        self.verbs: list[str] = []

    def told(self, verb: str, *_: object) -> None:
        self.verbs.append(verb)


@pytest.fixture
def calls() -> Counted:
    return Counted()


@pytest.fixture
async def client(cluster: Cluster, calls: Counted) -> AsyncIterator[Client]:
    made = Client(credentials.load(str(cluster.kubeconfig)), on_request=calls.told)
    yield made
    await made.close()


@pytest.fixture
async def through(cluster: Cluster, proxy: FaultProxy, tmp_path: Path) -> AsyncIterator[Client]:
    """A client behind the fault proxy."""
    certificate, key = cluster.authority.files("admin")
    path = tmp_path / "kubeconfig"
    write_kubeconfig(path, proxy.url, cluster.authority.certificate.read_bytes(), certificate.read_bytes(), key)
    made = Client(credentials.load(str(path)))
    yield made
    await made.close()


async def test_an_object_is_made_read_changed_and_deleted(client: Client, namespace: str) -> None:
    key = ObjectKey(namespace, "a")
    made = await client.create(CONFIG_MAPS, namespace, {"metadata": {"name": "a"}, "data": {"x": "1", "y": "1"}})
    assert isinstance(made.metadata.creation_timestamp, datetime)
    assert await client.get(CONFIG_MAPS, key) == made
    changed = await client.patch(CONFIG_MAPS, key, {"data": {"x": "2", "y": None}})
    assert changed.data == {"x": "2"}
    assert int(changed.metadata.resource_version) > int(made.metadata.resource_version)
    with pytest.raises(AlreadyExistsError):
        await client.create(CONFIG_MAPS, namespace, {"metadata": {"name": "a"}})
    await client.delete(CONFIG_MAPS, key, made.metadata.uid)
    with pytest.raises(NotFoundError):
        await client.get(CONFIG_MAPS, key)


async def test_a_change_of_what_is_no_longer_so_is_refused(client: Client, namespace: str) -> None:
    """The version in a merge patch is a condition: what two candidates for a lease rely on."""
    key = ObjectKey(namespace, "a")
    made = await client.create(CONFIG_MAPS, namespace, {"metadata": {"name": "a"}})
    guard = {"resourceVersion": made.metadata.resource_version}
    outcomes = await asyncio.gather(
        *(client.patch(CONFIG_MAPS, key, {"metadata": guard, "data": {"x": str(n)}}) for n in range(8)),
        return_exceptions=True,
    )
    assert sorted(type(outcome).__name__ for outcome in outcomes) == ["ConfigMap", *["ConflictError"] * 7]


async def test_a_change_meant_for_a_namesake_is_refused(client: Client, namespace: str) -> None:
    """Deleted and made again meanwhile: uid and version in the patch are those of the one that is gone."""
    key = ObjectKey(namespace, "a")
    old = await client.create(CONFIG_MAPS, namespace, {"metadata": {"name": "a"}})
    await client.delete(CONFIG_MAPS, key, old.metadata.uid)
    new = await client.create(CONFIG_MAPS, namespace, {"metadata": {"name": "a"}})
    guard = {"uid": old.metadata.uid, "resourceVersion": old.metadata.resource_version}
    with pytest.raises(ConflictError):
        await client.patch(CONFIG_MAPS, key, {"metadata": guard, "data": {"x": "1"}})
    # The uid alone is judged as a change of a field that never changes.
    with pytest.raises(InvalidError, match=r"metadata\.uid.*immutable"):
        await client.patch(CONFIG_MAPS, key, {"metadata": {"uid": old.metadata.uid}})
    assert await client.get(CONFIG_MAPS, key) == new


async def test_apply_owns_its_fields_and_no_others(client: Client, cluster: Cluster, namespace: str) -> None:
    key = ObjectKey(namespace, "applied")

    async def apply(data: dict[str, str]) -> ConfigMap:
        body = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "applied"}, "data": data}
        return await client.patch(CONFIG_MAPS, key, body, "apply")

    made = await apply({"ours": "1", "also": "1"})
    cluster.kubectl("-n", namespace, "patch", "configmap", "applied", "-p", '{"data": {"theirs": "1", "ours": "9"}}')
    changed = await apply({"ours": "1"})
    assert changed.data == {"ours": "1", "theirs": "1"}
    assert changed.metadata.uid == made.metadata.uid
    # Nothing to change is no write.
    assert (await apply({"ours": "1"})).metadata.resource_version == changed.metadata.resource_version


async def test_a_delete_of_another_uid_is_refused(client: Client, namespace: str) -> None:
    made = await client.create(CONFIG_MAPS, namespace, {"metadata": {"name": "a"}})
    with pytest.raises(ConflictError, match="the UID in the precondition"):
        await client.delete(CONFIG_MAPS, made.metadata.key, "00000000-0000-0000-0000-000000000000")
    assert await client.get(CONFIG_MAPS, made.metadata.key) == made


@pytest.mark.parametrize(("state", "grace"), [("pending", 0), ("finished", 0), ("finished", None), ("bound", 0)])
async def test_the_answer_to_a_pods_deletion_is_of_that_moment(
    client: Client, namespace: str, state: str, grace: int | None
) -> None:
    """Its version is that of the DELETED event: whoever has seen that version has seen the pod go."""
    made = await client.create(PODS, namespace, _pod("" if state == "pending" else "nowhere"))
    if state == "finished":
        made = await client.patch(PODS, made.metadata.key, {"status": {"phase": "Failed"}}, subresource="status")
    last = await client.delete(PODS, made.metadata.key, made.metadata.uid, grace_seconds=grace)
    assert last is not None
    gone = await _seen(client, PODS, ListOptions(namespace), made.metadata.resource_version, "DELETED")
    assert gone.metadata.name == "a"
    assert int(last.metadata.resource_version) > int(made.metadata.resource_version)
    assert last.metadata.resource_version == gone.metadata.resource_version


async def test_a_running_pods_deletion_is_a_change_first(client: Client, namespace: str) -> None:
    """A pod on a node goes when its kubelet says so; until then the answer's version is that of the change."""
    made = await client.create(PODS, namespace, _pod("nowhere"))
    last = await client.delete(PODS, made.metadata.key, made.metadata.uid)
    assert last is not None
    assert last.metadata.deletion_timestamp is not None
    assert await client.get(PODS, made.metadata.key) == last


async def test_a_refusal_says_which_field_and_why(client: Client, namespace: str) -> None:
    with pytest.raises(InvalidError, match=r"spec\.containers: Required value"):
        await client.create(PODS, namespace, {"metadata": {"name": "a"}, "spec": {"containers": []}})
    with pytest.raises(InvalidError, match="cannot unmarshal"):
        await client.create(PODS, namespace, {"metadata": {"name": 5}})


async def test_without_rights_a_call_is_forbidden(cluster: Cluster, namespace: str) -> None:
    cluster.authority.issue(f"nobody-{namespace}", Identity("nobody"))
    nobody = Client(credentials.load(str(cluster.authority.kubeconfig(f"nobody-{namespace}"))))
    with pytest.raises(ForbiddenError, match="cannot get resource"):
        await nobody.get(CONFIG_MAPS, ObjectKey(namespace, "a"))
    await nobody.close()


async def test_a_replaced_token_is_used_when_the_old_one_is_refused(
    cluster: Cluster, client: Client, namespace: str, tmp_path: Path
) -> None:
    """The kubelet replaces tokens; nobody restarts the operator for it."""
    file = tmp_path / "token"
    file.write_text("of yesterday")
    config = yaml.safe_load(cluster.kubeconfig.read_text())
    config["users"][0]["user"] = {"tokenFile": str(file)}
    (tmp_path / "kubeconfig").write_text(yaml.safe_dump(config))
    account = Client(credentials.load(str(tmp_path / "kubeconfig")))
    with pytest.raises(UnauthorizedError):
        await account.get(CONFIG_MAPS, ObjectKey(namespace, "a"))
    cluster.kubectl("-n", namespace, "create", "serviceaccount", "robot")
    file.write_text(cluster.kubectl("-n", namespace, "create", "token", "robot"))
    with pytest.raises(ForbiddenError, match=f"system:serviceaccount:{namespace}:robot"):
        await account.get(CONFIG_MAPS, ObjectKey(namespace, "a"))
    await account.close()


async def test_a_long_list_is_read_in_pages(client: Client, calls: Counted, namespace: str) -> None:
    """1,200 objects are three pages, of one moment; the start of a watch brings the same without pages."""
    await _make_leases(client, namespace, 1200)
    calls.verbs.clear()
    version, steps = await watch.list_all(client, LEASES, ListOptions(namespace))
    assert calls.verbs == ["list"] * 3
    assert {step.metadata.name for step in steps} == {f"lease-{number}" for number in range(1200)}
    assert len(steps) == 1200
    assert int(version) >= max(int(step.metadata.resource_version) for step in steps)

    initial: list[WatchEvent[Lease]] = []
    async with aclosing(watch.watch(client, LEASES, ListOptions(namespace), None, DEADLINE)) as events:
        while not (initial and initial[-1].ends_initial_events):
            initial += await anext(events)
    assert {step.metadata.key: step.object for step in initial[:-1]} == {s.metadata.key: s.object for s in steps}
    assert int(initial[-1].metadata.resource_version) >= int(version)


async def test_only_what_has_the_label_is_seen(client: Client, namespace: str) -> None:
    for name, labels in (("a", {"team": "x"}), ("b", {"team": "y"}), ("c", {})):
        await client.create(CONFIG_MAPS, namespace, {"metadata": {"name": name, "labels": labels}})
    version, steps = await watch.list_all(client, CONFIG_MAPS, ListOptions(namespace, "team in (x,y)"))
    assert [step.metadata.name for step in steps] == ["a", "b"]
    await client.patch(CONFIG_MAPS, ObjectKey(namespace, "a"), {"metadata": {"labels": {"team": None}}})
    # Losing the label is being gone for whoever watches it.
    gone = await _seen(client, CONFIG_MAPS, ListOptions(namespace, "team in (x,y)"), version, "DELETED")
    assert gone.metadata.name == "a"


@pytest.mark.disruptive
async def test_after_compaction_an_old_version_is_gone(
    cluster: Cluster, client: Client, faults: Faults, namespace: str
) -> None:
    """The watch says so by a typed error, and the list that follows brings a version that works."""
    old, _ = await watch.list_all(client, CONFIG_MAPS, ListOptions(namespace))
    for number in range(3):
        await client.create(CONFIG_MAPS, namespace, {"metadata": {"name": f"later-{number}"}})
    faults.compact()
    faults.restart("kube-apiserver")
    with pytest.raises(GoneError):
        await _watch_to_its_end(client, namespace, old)
    version, steps = await watch.list_all(client, CONFIG_MAPS, ListOptions(namespace))
    assert [step.metadata.name for step in steps][-3:] == ["later-0", "later-1", "later-2"]
    await client.create(CONFIG_MAPS, namespace, {"metadata": {"name": "newest"}})
    assert (await _seen(client, CONFIG_MAPS, ListOptions(namespace), version, "ADDED")).metadata.name == "newest"


async def _watch_to_its_end(client: Client, namespace: str, version: str) -> None:
    """A server that has only just started may say first that its cache is not there yet."""
    async with asyncio.timeout(90):
        while True:
            try:
                async for _ in watch.watch(client, CONFIG_MAPS, ListOptions(namespace), version, DEADLINE):
                    pass
            except TooManyRequestsError:
                continue
            return


async def test_a_deletion_whose_answer_was_lost_is_not_sent_again(
    client: Client, through: Client, proxy: FaultProxy, namespace: str
) -> None:
    made = await client.create(CONFIG_MAPS, namespace, {"metadata": {"name": "a"}})
    await through.get(CONFIG_MAPS, made.metadata.key)  # a connection that is reused
    proxy.inject(Match(verb="delete", resource="configmaps"), DropAfterCommit())
    with pytest.raises(UnknownOutcomeError):
        await through.delete(CONFIG_MAPS, made.metadata.key, made.metadata.uid)
    assert [call.verb for call in proxy.calls].count("delete") == 1
    with pytest.raises(NotFoundError):
        await client.get(CONFIG_MAPS, made.metadata.key)


async def test_a_watch_that_hangs_is_noticed(through: Client, proxy: FaultProxy, namespace: str) -> None:
    """No FIN, no bytes: as after a load balancer forgot the connection."""
    proxy.inject(Match(verb="watch", resource="configmaps"), Freeze())
    with pytest.raises(UnknownOutcomeError, match="watch of configmaps"):
        async for _ in watch.watch(through, CONFIG_MAPS, ListOptions(namespace), None, silence=1):
            pass


async def test_a_watch_of_events_ends_before_it_counts_as_silent(client: Client, namespace: str) -> None:
    """The API server has no cache of events, and sends no bookmarks of them: nothing happens, and nothing fails."""
    async for _ in watch.watch(client, EVENTS, ListOptions(namespace), None, silence=30):
        pass


async def test_events_are_what_describe_shows(client: Client, cluster: Cluster, namespace: str) -> None:
    """Through the real validation, with the count of a restarted recorder going on."""
    made = await client.create(CONFIG_MAPS, namespace, {"metadata": {"name": "a"}})
    about = ObjectReference("v1", "ConfigMap", namespace, "a", made.metadata.uid)
    for expected in (2, 4):
        recorder = EventRecorder(client, instance="operator-0")
        sending = asyncio.ensure_future(recorder.run())
        for _ in range(2):
            recorder.event(about, "Warning", "TooLate", "the train has left")
        async with aclosing(watch.watch(client, EVENTS, ListOptions(namespace), None, DEADLINE)) as events:
            while expected not in {step.object.count for step in await anext(events) if step.object is not None}:
                pass
        sending.cancel()
    described = cluster.kubectl("-n", namespace, "describe", "configmap", "a")
    assert "(x4 over" in described
    assert "the train has left" in described


def _pod(node: str) -> dict[str, Any]:
    body = pod("a", "none").build()
    return body | {"spec": body["spec"] | {"nodeName": node}}


async def _seen(
    client: Client, resource: Resource[ObjectT], scope: ListOptions, version: str, kind: str
) -> WatchEvent[ObjectT]:
    """The first step of that kind after a version."""
    async with aclosing(watch.watch(client, resource, scope, version, DEADLINE)) as events:
        while True:
            for step in await anext(events):
                if step.type == kind:
                    return step


async def _make_leases(client: Client, namespace: str, count: int) -> None:
    numbers = iter(range(count))

    async def make() -> None:
        for number in numbers:
            await client.create(LEASES, namespace, {"metadata": {"name": f"lease-{number}"}})

    await asyncio.gather(*(make() for _ in range(16)))
