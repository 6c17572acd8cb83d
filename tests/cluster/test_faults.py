"""Every fault of the library really happens, and is over when it is undone."""

import time

import pytest

from testbed import processes
from testbed.api import Api, ApiError
from testbed.cluster import Cluster
from testbed.errors import TestbedError
from testbed.faults import Faults
from testbed.waiting import until

pytestmark = pytest.mark.disruptive


def test_a_frozen_api_server_times_a_client_out(cluster: Cluster, faults: Faults) -> None:
    """The connection is accepted and nobody answers: the worst kind of dead server."""
    files = cluster.authority.files("admin")
    impatient = Api(cluster.instance.server, cluster.authority.certificate, *files, timeout=2)
    with faults.frozen("kube-apiserver"):
        began = time.monotonic()
        with pytest.raises(TimeoutError):
            impatient.get("/version")
        assert time.monotonic() - began >= 2
    assert cluster.api.get("/version")["gitVersion"].startswith("v1.36")


def test_a_killed_component_is_gone_until_started(cluster: Cluster, faults: Faults) -> None:
    """Kill ends exactly one process and start brings a new one."""
    before = processes.one(cluster.instance.index, "kube-scheduler").pid
    with faults.dead("kube-scheduler"):
        with pytest.raises(TestbedError, match="kube-scheduler is not running"):
            processes.one(cluster.instance.index, "kube-scheduler")
        assert cluster.api.healthy()
    assert processes.one(cluster.instance.index, "kube-scheduler").pid != before


def test_two_parts_can_be_dead_at_once(cluster: Cluster, faults: Faults) -> None:
    """Starting one does not wait for what is dead on purpose."""
    with faults.dead("kube-scheduler"):
        faults.restart("kube-apiserver")
    faults.kill("kube-apiserver")
    with faults.dead("etcd"):
        pass
    faults.start("kube-apiserver")
    assert cluster.api.healthy()


def test_what_cannot_be_started_is_not_killed(faults: Faults) -> None:
    """The message lists what there is."""
    with pytest.raises(TestbedError, match="no component that can be killed and started; there are: etcd"):
        faults.kill("node1/holder")


def test_a_restarted_api_server_keeps_its_objects(cluster: Cluster, faults: Faults, namespace: str) -> None:
    """A restart breaks connections, not data."""
    path = f"/api/v1/namespaces/{namespace}/configmaps"
    cluster.api.create(path, {"metadata": {"name": "kept"}})
    faults.restart("kube-apiserver")
    assert cluster.api.exists(f"{path}/kept")


def test_after_compaction_an_old_watch_is_gone(cluster: Cluster, faults: Faults, namespace: str) -> None:
    """410 Gone is what makes a client list again; the watch cache is emptied by a restart."""
    path = f"/api/v1/namespaces/{namespace}/configmaps"
    old = cluster.api.create(path, {"metadata": {"name": "first"}})["metadata"]["resourceVersion"]
    for number in range(3):
        cluster.api.create(path, {"metadata": {"name": f"later-{number}"}})
    revision = faults.compact()
    assert revision > int(old)
    faults.restart("kube-apiserver")
    place = f"{path}?watch=true&resourceVersion={old}&timeoutSeconds=1"
    # A server that has only just started may say first that its cache is not there yet.
    until("a watch from the old version to be refused with 410", lambda: _is_gone(cluster.api, place), deadline=90)


def test_without_etcd_no_write_succeeds(cluster: Cluster, faults: Faults, namespace: str) -> None:
    """A dead etcd is seen as an error or a timeout, and writes work again after its return."""
    path = f"/api/v1/namespaces/{namespace}/configmaps"
    files = cluster.authority.files("admin")
    impatient = Api(cluster.instance.server, cluster.authority.certificate, *files, timeout=3)
    with faults.dead("etcd"), pytest.raises((ApiError, OSError)):
        impatient.create(path, {"metadata": {"name": "lost"}})
    until("writes to work again", lambda: _written(cluster.api, path), deadline=90)


def _is_gone(api: Api, path: str) -> bool:
    """Whether a watch is told so; what it is told instead is shown when the wait is over."""
    try:
        answer = str(api.get(path))
    except ApiError as error:
        answer = str(error)
    if "410" not in answer:
        raise TimeoutError(answer)
    return True


def _written(api: Api, path: str) -> bool:
    try:
        api.create(path, {"metadata": {"generateName": "found-"}})
    except ApiError:
        return False
    return True
