"""`client.models`, `client.services` and `client.queues`: what they read, what they change, and what they refuse."""

import inspect
from typing import Any

import pytest

from kubedl.client import Conflict, Forbidden, Invalid, NotFound, TrainingClient
from kubedl.client.history_operations import History, HistoryOperations
from kubedl.client.models import ModelOperations, Models
from kubedl.client.objects import ObjectOperations, Objects
from kubedl.client.queues import QueueOperations, Queues
from kubedl.client.services import ANNOTATION, ServiceOperations, Services
from tests.unit.client.api_server import ApiServer

MODEL = "/apis/model.kubedl.io/v1alpha1"
FLOWERS = "/apis/serving.kubedl.io/v1alpha1/namespaces/team/inferences/flowers"
KUEUE = "/apis/kueue.x-k8s.io/v1beta2"
GPU = "nvidia.com/gpu"
NO = {"kind": "Status", "code": 403, "reason": "Forbidden", "message": 'User "alice" cannot list this'}


@pytest.mark.parametrize(
    ("plain", "operations"),
    [
        (Models, ModelOperations),
        (Services, ServiceOperations),
        (Queues, QueueOperations),
        (History, HistoryOperations),
        (Objects, ObjectOperations),
    ],
)
def test_both_clients_have_the_same(plain: type, operations: type) -> None:
    without, within = _public(plain), _public(operations)
    assert without.keys() == within.keys()
    for name, operation in within.items():
        assert inspect.signature(without[name]) == inspect.signature(operation), name
        assert inspect.getdoc(without[name]) == inspect.getdoc(operation), name


def _public(kind: type) -> dict[str, Any]:
    return {name: value for name, value in inspect.getmembers(kind, callable) if not name.startswith("_")}


@pytest.fixture
def trees(api: ApiServer) -> None:
    """A model with a version that is built and one that is not, in two namespaces."""
    place = f"{MODEL}/namespaces/team"
    latest = {"latestVersion": {"modelVersion": "trees-1"}, "versionCount": 2}
    api.put(f"{place}/models/trees", {"spec": {}, "status": latest})
    api.put(f"{place}/models/other", {"spec": {}})
    origin = {"jobName": "bert", "jobKind": "PyTorchJob", "codeRevision": "4f2a91c0"}
    built = {
        "image": "r/trees@sha256:1",
        "imageBuildPhase": "Succeeded",
        "size": 7,
        "finishTime": "2026-01-01T00:09:00Z",
    }
    first = {"metadata": {"creationTimestamp": "2026-01-01T00:00:00Z"}}
    api.put(
        f"{place}/modelversions/trees-1", {**first, "spec": {"modelName": "trees", "origin": origin}, "status": built}
    )
    second = {"metadata": {"creationTimestamp": "2026-01-02T00:00:00Z"}}
    going = {"imageBuildPhase": "Building", "progress": {"bytesDone": 41, "bytesTotal": 100}}
    api.put(f"{place}/modelversions/trees-2", {**second, "spec": {"modelName": "trees"}, "status": going})
    api.put(f"{MODEL}/namespaces/else/modelversions/trees-9", {"spec": {"modelName": "trees"}})
    api.put(FLOWERS, {"spec": {"predictors": [{"name": "main", "modelVersion": "trees-1"}]}})


@pytest.mark.usefixtures("trees")
def test_models_have_their_versions(client: TrainingClient) -> None:
    other, trees = client.models.list()
    assert (other.name, other.latest, list(other.versions), trees.name) == ("other", None, [], "trees")
    assert [one.name for one in trees.versions] == ["trees-2", "trees-1"]
    assert (trees.latest and trees.latest.name, trees.served_by) == ("trees-1", ("flowers",))
    going, built = trees.versions
    assert (built.image, built.is_built, built.size, built.job, built.revision) == (
        "r/trees@sha256:1",
        True,
        7,
        "bert",
        "4f2a91c0",
    )
    assert built.finished is not None
    assert (going.is_built, going.phase, going.progress, going.job) == (False, "Building", 0.41, "")
    assert client.models.get("trees").name == client.models.get("trees-2").name == "trees"
    assert [one.name for one in client.models.get("trees-2").versions] == ["trees-2", "trees-1"]
    assert client.models.get_version("trees-1").model == "trees"


@pytest.mark.usefixtures("trees")
def test_models_that_are_not_there(client: TrainingClient, api: ApiServer) -> None:
    with pytest.raises(NotFound, match="there is no model and no version called roses in team"):
        client.models.get("roses")
    client.models.delete_version("trees-1")
    with pytest.raises(NotFound):
        client.models.delete_version("trees-1")
    api.delete(f"{MODEL}/namespaces/team/models/trees")
    assert client.models.get("trees-2").name == "trees"  # a version outlives its model


@pytest.mark.usefixtures("trees")
def test_who_serves_a_model_is_not_known_to_those_who_may_not_read_it(client: TrainingClient, api: ApiServer) -> None:
    api.refusals["GET /apis/serving.kubedl.io/v1alpha1/namespaces/team/inferences"] = (403, NO)
    assert client.models.get("trees").served_by is None
    assert [one.served_by for one in client.models.list()] == [None, None]


def _flowers(api: ApiServer, **rollout: str) -> None:
    ready = {"type": "Ready", "status": "False", "reason": "PodsNotReady", "message": "none of 3 is ready"}
    known = {"name": "trees", "replicas": 3, "readyReplicas": 0, "trafficPercent": 95, "rollout": rollout}
    spec = {"framework": "MLServer", "predictors": [{"name": "trees", "trafficWeight": 95}, {"name": "forest"}]}
    status = {"conditions": [ready], "inferenceEndpoint": "http://flowers", "predictorStatuses": [known]}
    api.put(FLOWERS, {"spec": spec, "status": status})


def test_services_have_their_predictors(client: TrainingClient, api: ApiServer) -> None:
    _flowers(api, phase="Stepping", candidate="trees-8", message="step 1 of 3")
    (found,) = client.services.list()
    assert (found.name, found.is_ready, found.message) == ("flowers", False, "none of 3 is ready")
    assert (found.framework, found.endpoint) == ("MLServer", "http://flowers")
    trees, forest = found.predictors
    assert (trees.weight, trees.percent, trees.replicas, trees.ready) == (95, 95, 3, 0)
    assert (trees.rollout.candidate, trees.rollout.is_active) == ("trees-8", True)
    assert (forest.weight, forest.percent, forest.replicas, forest.rollout.is_active) == (100, None, 1, False)
    assert client.services.get("flowers").name == "flowers"
    with pytest.raises(NotFound):
        client.services.get("roses")


def test_traffic_and_servers_are_changed_for_the_state_that_was_read(client: TrainingClient, api: ApiServer) -> None:
    _flowers(api)
    version = api.objects[FLOWERS]["metadata"]["resourceVersion"]
    assert [one.weight for one in client.services.set_traffic("flowers", {"trees": 70}).predictors] == [70, 100]
    assert api.calls[-1].body["metadata"] == {"resourceVersion": version}
    assert [one.replicas for one in client.services.scale("flowers", replicas=4, predictor="forest").predictors] == [
        3,
        4,
    ]
    for wrong in ({"roses": 1}, {"trees": -1}, {"trees": 1_000_001}):
        with pytest.raises(Invalid):
            client.services.set_traffic("flowers", wrong)
    for predictor in (None, "roses"):
        with pytest.raises(Invalid):
            client.services.scale("flowers", replicas=1, predictor=predictor)
        with pytest.raises(Invalid):
            client.services.set_version("flowers", "v9", predictor=predictor)
    after = client.services.set_version("flowers", "v9", predictor="forest").spec["predictors"]
    assert [one.get("modelVersion") for one in after][1] == "v9" != after[0].get("modelVersion")
    changed = {"kind": "Status", "code": 409, "reason": "Conflict", "message": "the object has been modified"}
    api.refusals[f"PATCH {FLOWERS}"] = (409, changed)
    with pytest.raises(Conflict):
        client.services.set_traffic("flowers", {"trees": 1})


@pytest.mark.parametrize("word", ["next", "promote", "abort", "retry"])
def test_words_to_a_rollout(client: TrainingClient, api: ApiServer, word: str) -> None:
    _flowers(api, phase="Stable")
    with pytest.raises(Invalid, match="nothing to"):
        getattr(client.services, word)("flowers")
    assert ANNOTATION not in (api.objects[FLOWERS]["metadata"].get("annotations") or {})
    _flowers(api, phase="RolledBack", rejected="v2") if word == "retry" else _flowers(api, phase="Stepping")
    getattr(client.services, word)("flowers")
    assert api.objects[FLOWERS]["metadata"]["annotations"][ANNOTATION] == word
    getattr(client.services, word)("flowers", predictor="trees")
    assert api.objects[FLOWERS]["metadata"]["annotations"][ANNOTATION] == f"{word}:trees"
    with pytest.raises(Invalid, match="no predictor called roses"):
        getattr(client.services, word)("flowers", predictor="roses")
    client.services.delete("flowers")
    assert FLOWERS not in api.objects


def _queues(api: ApiServer) -> None:
    api.put(f"{KUEUE}/namespaces/team/localqueues/team-a", {"spec": {"clusterQueue": "all"}})
    resources = [{"name": GPU, "nominalQuota": "40"}, {"name": "memory", "nominalQuota": "1Gi"}]
    more = [{"name": GPU, "nominalQuota": "8"}]
    flavors = [{"name": "a100", "resources": resources}, {"name": "h100", "resources": more}]
    used = {"flavorsUsage": [{"name": "a100", "resources": [{"name": GPU, "total": "42"}]}]}
    api.put(f"{KUEUE}/clusterqueues/all", {"spec": {"resourceGroups": [{"flavors": flavors}]}, "status": used})
    _workload(api, "runs", "2026-01-01T00:00:00Z", Admitted="True")
    _workload(api, "over", "2026-01-01T00:00:00Z", Admitted="True", Finished="True")
    _workload(api, "later", "2026-01-01T02:00:00Z")
    _workload(api, "sooner", "2026-01-01T01:00:00Z")
    _workload(api, "urgent", "2026-01-01T03:00:00Z", priority=10)
    _workload(api, "elsewhere", "2026-01-01T00:00:00Z", queue="team-b")


def _workload(
    api: ApiServer, name: str, created: str, *, queue: str = "team-a", priority: int = 0, **is_true: str
) -> None:
    container = {"name": "c", "resources": {"limits": {GPU: "8"}, "requests": {"cpu": "500m"}}}
    first = {"name": "i", "resources": {"requests": {"cpu": "2"}}}  # before the others: it asks for more than they do
    template = {"spec": {"containers": [container], "initContainers": [first]}}
    owner = {"kind": "PyTorchJob", "name": name, "apiVersion": "training.kubedl.io/v1alpha1", "uid": name}
    conditions = [{"type": kind, "status": status} for kind, status in is_true.items()]
    waits = {"type": "QuotaReserved", "status": "False", "message": "insufficient unused quota"}
    value = {
        "metadata": {"creationTimestamp": created, "ownerReferences": [owner]},
        "spec": {"queueName": queue, "priority": priority, "podSets": [{"count": 4, "template": template}]},
        "status": {"conditions": [*conditions, *([] if is_true else [waits])]},
    }
    api.put(f"{KUEUE}/namespaces/team/workloads/{name}", value)


def test_a_queue_has_its_jobs_in_line(client: TrainingClient, api: ApiServer) -> None:
    """Those that run, then by priority, then by time; those that have ended and those of other queues not."""
    _queues(api)
    (found,) = client.queues.list()
    assert (found.name, found.cluster_queue, found.is_active, found.running, found.waiting) == (
        "team-a",
        "all",
        True,
        1,
        3,
    )
    assert (found.quota, found.used, found.hidden) == ({GPU: 48.0, "memory": 2.0**30}, {GPU: 42.0}, "")
    assert found.waiting_since is not None
    assert found.waiting_since.hour == 1
    line = [(one.place, one.job.partition("/")[2]) for one in client.queues.get("team-a").jobs]
    assert line == [(None, "runs"), (1, "urgent"), (2, "sooner"), (3, "later")]
    urgent = found.jobs[1]
    assert (urgent.wants, urgent.message, urgent.priority) == ({GPU: 32.0, "cpu": 8.0}, "insufficient unused quota", 10)
    assert found.jobs[0].message == ""
    with pytest.raises(NotFound):
        client.queues.get("team-c")


def test_quota_that_may_not_be_read(client: TrainingClient, api: ApiServer) -> None:
    _queues(api)
    api.refusals[f"GET {KUEUE}/clusterqueues"] = (403, NO)
    (found,) = client.queues.list()
    assert (found.quota, found.used, found.waiting) == (None, None, 3)
    assert "cannot list this" in found.hidden
    api.refusals[f"GET {KUEUE}/namespaces/team/workloads"] = (403, NO)
    with pytest.raises(Forbidden):
        client.queues.list()


def test_a_cluster_without_queues(client: TrainingClient) -> None:
    assert client.queues.list() == ()
