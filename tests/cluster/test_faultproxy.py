"""The fault proxy before a real API server: each fault is seen by a real client and in the cluster."""

import itertools
import json
import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from testbed import tools
from testbed.api import Api, ApiError, Object
from testbed.cluster import Cluster
from testbed.faultproxy import (
    AnswerAfterCommit,
    AnswerInstead,
    DropEvents,
    FaultProxy,
    Freeze,
    KillClient,
    Match,
    MatchEvents,
    ReorderEvents,
    SendGone,
)
from testbed.http import NO_PROXIES

# A client that writes ConfigMaps one after another, as a controller would, until it is killed.
WRITER = """
import sys
from pathlib import Path
from testbed.api import Api
server, authority, certificate, key, path = sys.argv[1:]
api = Api(server, Path(authority), Path(certificate), Path(key))
for number in range(1, 10):
    api.create(path, {"metadata": {"name": f"write-{number}"}})
    print("answered", number, flush=True)
"""


@pytest.fixture
def through(cluster: Cluster, proxy: FaultProxy) -> Api:
    """The API as seen through the proxy."""
    return Api(proxy.url, cluster.authority.certificate, *cluster.authority.files("admin"))


@pytest.fixture
def path(namespace: str) -> str:
    """Where this test's ConfigMaps are."""
    return f"/api/v1/namespaces/{namespace}/configmaps"


def test_an_error_after_the_commit_leaves_the_object(
    cluster: Cluster, proxy: FaultProxy, through: Api, path: str
) -> None:
    """The client is told 504, and yet the object is there: the write that every controller must recognise."""
    rule = proxy.inject(Match(verb="create", resource="configmaps"), AnswerAfterCommit(504))
    with pytest.raises(ApiError) as answer:
        through.create(path, {"metadata": {"name": "committed"}})
    assert answer.value.status == 504
    assert rule.fired == 1
    assert cluster.api.exists(f"{path}/committed")


@pytest.mark.parametrize("status", [429, 410, 500])
def test_the_nth_call_is_answered_instead(
    cluster: Cluster, proxy: FaultProxy, through: Api, path: str, status: int
) -> None:
    """Only the second write is refused, and it never reaches the cluster."""
    proxy.inject(Match(verb="create", resource="configmaps", nth=2), AnswerInstead(status))
    through.create(path, {"metadata": {"name": "first"}})
    with pytest.raises(ApiError) as answer:
        through.create(path, {"metadata": {"name": "second"}})
    assert answer.value.status == status
    through.create(path, {"metadata": {"name": "third"}})
    assert [_exists(cluster, path, name) for name in ("first", "second", "third")] == [True, False, True]


@pytest.mark.parametrize(("after_commit", "left"), [(False, 2), (True, 3)])
def test_the_client_is_killed_on_its_third_write(
    cluster: Cluster, proxy: FaultProxy, path: str, *, after_commit: bool, left: int
) -> None:
    """Before or after the commit: the two states from which a controller must recover."""
    proxy.inject(Match(verb="write", resource="configmaps", nth=3), KillClient(after_commit=after_commit))
    files = (cluster.authority.certificate, *cluster.authority.files("admin"))
    command = [sys.executable, "-c", WRITER, proxy.url, *map(str, files), path]
    root = Path(__file__).parents[2]
    done = subprocess.run(command, cwd=root, capture_output=True, text=True, timeout=60, check=False)
    assert done.returncode == -signal.SIGKILL
    assert done.stdout == "answered 1\nanswered 2\n"
    assert sum(_exists(cluster, path, f"write-{number}") for number in range(1, 10)) == left


def test_a_frozen_connection_times_the_client_out(cluster: Cluster, proxy: FaultProxy, through: Api, path: str) -> None:
    """No answer and no FIN; only the client's own deadline ends it."""
    impatient = Api(proxy.url, cluster.authority.certificate, *cluster.authority.files("admin"), timeout=5)
    proxy.inject(Match(verb="list", resource="configmaps"), Freeze())
    with pytest.raises(TimeoutError):
        impatient.list(path)
    assert through.list(path) is not None


def test_watch_events_are_dropped_and_reordered(cluster: Cluster, proxy: FaultProxy, path: str) -> None:
    """A watch through the proxy lacks what was dropped and has the rest in another order."""
    version = _list_version(cluster, path)
    for name in ("a", "b", "c", "d"):
        cluster.api.create(path, {"metadata": {"name": name}})
    proxy.inject(MatchEvents(type="ADDED", resource="configmaps", name="b"), DropEvents())
    assert _watched(cluster, proxy, path, version, 3) == ["ADDED a", "ADDED c", "ADDED d"]
    proxy.clear()
    proxy.inject(MatchEvents(type="ADDED", resource="configmaps", times=None), ReorderEvents(window=2))
    assert _watched(cluster, proxy, path, version, 4) == ["ADDED b", "ADDED a", "ADDED d", "ADDED c"]


def test_a_watch_is_told_that_its_version_is_gone(cluster: Cluster, proxy: FaultProxy, path: str) -> None:
    """An ERROR event with 410, as the API server sends it after a compaction."""
    proxy.inject(Match(verb="watch", resource="configmaps"), SendGone())
    assert _watched(cluster, proxy, path, _list_version(cluster, path), 1) == ["ERROR 410"]


def _exists(cluster: Cluster, path: str, name: str) -> bool:
    return cluster.api.exists(f"{path}/{name}")


def _list_version(cluster: Cluster, path: str) -> str:
    version: str = cluster.api.get(path)["metadata"]["resourceVersion"]
    return version


def _watched(cluster: Cluster, proxy: FaultProxy, path: str, version: str, count: int) -> list[str]:
    """The first so many events of one watch, through kubectl's own transport; fewer if they do not come in time."""
    query = f"{path}?watch=true&resourceVersion={version}&timeoutSeconds=60"
    where = (f"--kubeconfig={cluster.kubeconfig}", "--server", proxy.url)
    command = [str(tools.binary("kubectl")), *where, "get", "--raw", query]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True, env={**os.environ, **NO_PROXIES}) as watching:
        assert watching.stdout is not None
        try:
            return [_told(json.loads(line)) for line in itertools.islice(watching.stdout, count)]
        finally:
            watching.kill()


def _told(event: Object) -> str:
    body = event["object"]
    return f"{event['type']} {body['code'] if event['type'] == 'ERROR' else body['metadata']['name']}"
