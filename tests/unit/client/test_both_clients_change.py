"""What changes and follows objects of a cluster, with both clients: apply, run again, prune, check, watch, logs."""

from datetime import timedelta
from typing import Any

import pytest

from kubedl.client import Conflict, JobSelection, NotFound, TrainingClient
from kubedl.client.rerunning import copy_of, names_after, renamed
from tests.unit.client.api_server import ApiServer, running

GROUP = "/apis/training.kubedl.io/v1alpha1/namespaces/team"
INFERENCES = "/apis/serving.kubedl.io/v1alpha1/namespaces/team/inferences"
ENDED = {"state": "Succeeded", "completionTime": "2026-01-01T00:00:00Z", "conditions": []}
SPEC = {"pytorchReplicaSpecs": {"Master": {"replicas": 1, "template": {"spec": {"containers": [{"name": "pytorch"}]}}}}}


def _manifest(name: str = "bert", **spec: Any) -> dict[str, Any]:  # noqa: ANN401 - fields of a job
    spec = {**SPEC, **spec}
    return {
        "apiVersion": "training.kubedl.io/v1alpha1",
        "kind": "PyTorchJob",
        "metadata": {"name": name},
        "spec": spec,
    }


def test_apply(api: ApiServer, client: TrainingClient) -> None:
    assert client.apply(_manifest()).result == "created"
    assert client.apply(_manifest()).result == "unchanged"
    assert [one.field for one in client.apply(_manifest(queue="a")).changes] == ["spec.queue"]
    causes = [{"reason": "FieldManagerConflict", "field": ".spec.queue", "message": 'conflict with "kubectl"'}]
    refusal = {"kind": "Status", "code": 409, "reason": "Conflict", "message": "c", "details": {"causes": causes}}
    api.refusals[f"PATCH {GROUP}/pytorchjobs/bert"] = (409, refusal)
    with pytest.raises(Conflict, match="others have set these fields"):
        client.apply(_manifest())


def test_a_job_runs_again(api: ApiServer, client: TrainingClient) -> None:
    api.job("bert", spec=SPEC, status=ENDED)
    api.job("bert-r2", spec=SPEC)
    job = client.get_job("bert")
    again = client.create_free_job(renamed(copy_of(job), name) for name in names_after("bert"))
    assert again.name == "bert-r3"
    assert client.replace_job(job, copy_of(job)).name == "bert"
    assert [call.method for call in api.calls if call.path == f"{GROUP}/pytorchjobs/bert"].count("DELETE") == 1
    assert api.objects[f"{GROUP}/pytorchjobs/bert"].get("status") is None


def test_another_job_of_the_same_name_is_not_replaced(api: ApiServer, client: TrainingClient) -> None:
    """Somebody may have made one while a person was asked."""
    path = api.job("bert", spec=SPEC, metadata={"uid": "first"})
    job = client.get_job("bert")
    api.delete(path)
    api.job("bert", spec=SPEC, metadata={"uid": "second"})
    with pytest.raises(Conflict, match="is not changed"):
        client.replace_job(job, copy_of(job))
    assert api.objects[path]["metadata"]["uid"] == "second"


def test_prune(api: ApiServer, client: TrainingClient) -> None:
    path = api.job("old", status={**ENDED, "conditions": [{"type": "Succeeded", "status": "True"}]})
    api.job("runs", status={"state": "Running"})
    found = client.prunable(older_than=timedelta(days=1))
    assert [str(one) for one in found] == ["pytorchjob/old"]
    assert client.prune(found[0])
    assert path not in api.objects
    assert not client.prune(found[0])


def test_check(api: ApiServer, client: TrainingClient) -> None:
    status = {"allocatable": {"cpu": "4", "pods": "9"}, "conditions": [{"type": "Ready", "status": "True"}]}
    api.put("/api/v1/nodes/n1", {"metadata": {}, "spec": {}, "status": status})
    assert client.check_job(_manifest()).answer == "yes"
    assert f"{GROUP}/pytorchjobs/bert" not in api.objects


def test_lists(api: ApiServer, client: TrainingClient) -> None:
    api.job("bert", status={"state": "Running"})
    api.job("clip", "tfjobs", status={"state": "Queuing"})
    assert client.kind("tf").kind == "TFJob"
    assert [job.name for job in client.select_jobs(JobSelection("team", states=("running",)))] == ["bert"]
    api.pod("bert", "master", 0, **running())
    pod = api.objects["/api/v1/namespaces/team/pods/bert-master-0"]
    pod["spec"]["nodeName"] = "n1"
    assert client.get_nodes_of_jobs() == {"uid-bert": ["n1"]}


def test_a_watch_that_is_left_leaves_nothing(api: ApiServer, client: TrainingClient) -> None:
    """The face of the event loop fails if a task is left."""
    path = api.job("bert", status={"state": "Queuing"})
    batches = client.watch_jobs(JobSelection("team"))
    assert [(one.type, one.job.name) for one in next(batches)] == [("ADDED", "bert")]
    api.put(path, {**api.objects[path], "status": {"state": "Running"}})
    assert [(one.type, one.job.state) for one in next(batches)] == [("MODIFIED", "Running")]
    batches.close()  # type: ignore[attr-defined]


def test_a_job_is_followed_with_its_pods(api: ApiServer, client: TrainingClient) -> None:
    path = api.job("bert", status={"state": "Queuing"})
    states = client.follow_job("bert", tick=0.05)
    assert next(state for state in states if state.job is not None and state.job.state == "Queuing")
    api.pod("bert", "master", 0, **running())
    assert next(state for state in states if state.pods)
    api.delete(path)
    assert next(state for state in states if state.job is None)
    states.close()  # type: ignore[attr-defined]
    api.job("clip", status={"state": "Queuing"})
    assert [*client.follow_job("clip", timeout=0.5)][-1].pods == []


def test_logs_of_a_service(api: ApiServer, client: TrainingClient) -> None:
    service = {"metadata": {"uid": "u1"}, "spec": {"predictors": [{"name": "main"}, {"name": "other"}]}}
    api.put(f"{INFERENCES}/flowers", service)
    with pytest.raises(NotFound, match="no servers yet"):
        list(client.service_logs("flowers"))
    for predictor in ("other", "main"):
        labels = {
            "serving.kubedl.io/inference": "flowers",
            "serving.kubedl.io/inference-uid": "u1",
            "serving.kubedl.io/predictor": predictor,
        }
        name = f"flowers-{predictor}-7d-a"
        value = {"metadata": {"labels": labels}, "spec": {"containers": [{"name": "c"}]}, "status": running()}
        api.put(f"/api/v1/namespaces/team/pods/{name}", value)
        api.logs[name] = [f"2026-01-01T00:00:00Z hello from {predictor}\n"]
    assert client.service_logs("flowers").by_pod() == {
        "main-a": "hello from main\n",
        "other-a": "hello from other\n",
    }
    assert list(client.service_logs("flowers", "other")) == ["hello from other"]
    with pytest.raises(NotFound, match="no predictor called x"):
        list(client.service_logs("flowers", "x"))
