"""`kubedl get`: the page of a job."""

import yaml

from tests.unit.cli.conftest import Run, ago
from tests.unit.client.api_server import GROUP, ApiServer, ended, running

CONTAINER = {
    "name": "pytorch",
    "image": "team/torch:2.6",
    "command": ["sh", "-c", "torchrun train.py\n  --epochs 90"],
    "resources": {"requests": {"cpu": "16", "memory": "200Gi"}, "limits": {"nvidia.com/gpu": "8"}},
}
SPEC = {
    "backoffLimit": 3,
    "schedulingPolicy": {"queue": "team-a", "priorityClassName": "prod"},
    "modelVersion": {"modelName": "clip"},
    "pytorchReplicaSpecs": {
        "Master": {"replicas": 1, "template": {"spec": {"containers": [CONTAINER]}}},
        "Worker": {"replicas": 5, "template": {"spec": {"containers": [CONTAINER]}}},
    },
}
PAGE = """\
clip-ft  PyTorchJob in team  Running for 2h10m  5 of 6 ready  1 restart, 0 of 3 retries used
  what   worker-2 is starting
  image  team/torch:2.6                command  torchrun train.py --epochs 90
  wants  6 x 8 GPU, 16 CPU, 200Gi      queue    team-a, priority prod
  model  clip, when it is done

REPLICA   STATE    NODE    RESTARTS  AGE  WHAT
master-0  Running  node-0         0   1h
worker-2  Failed   node-2         0   1h  exit code 137 (OOMKilled)
worker-0  Running  node-0         0   1h  (3 more like this: --all)

2h11m  created
1h10m  Restarting: worker 2 ran out of memory
"""


def _job(api: ApiServer) -> None:
    condition = {"type": "Running", "status": "True", "lastTransitionTime": ago(hours=2, minutes=10, seconds=5)}
    status = {
        "state": "Running",
        "ready": "5/6",
        "message": "worker-2 is starting",
        "restarts": 1,
        "retries": 0,
        "conditions": [condition],
    }
    api.job("clip-ft", metadata={"creationTimestamp": ago(hours=2, minutes=11, seconds=5)}, spec=SPEC, status=status)
    for role, index in (("master", 0), *(("worker", index) for index in range(5))):
        bad = role == "worker" and index == 2
        path = api.pod("clip-ft", role, index, **(ended(137, reason="OOMKilled") if bad else running()))
        api.objects[path]["metadata"]["creationTimestamp"] = ago(hours=1, minutes=9)
    happened = {"involvedObject": {"uid": "uid-clip-ft"}, "lastTimestamp": ago(hours=1, minutes=10, seconds=5)}
    api.put(
        "/api/v1/namespaces/team/events/e1",
        {**happened, "reason": "Restarting", "message": "worker 2 ran out of memory"},
    )


def test_the_page(run: Run, api: ApiServer) -> None:
    _job(api)
    answer = run("get", "clip-ft")
    assert answer.code == 0
    assert answer.out == PAGE


def test_every_replica_has_a_row_if_asked(run: Run, api: ApiServer) -> None:
    _job(api)
    assert run("get", "clip-ft", "--all").out.count("worker-") == 6  # five rows and the message


def test_the_object_can_be_applied_again(run: Run, api: ApiServer) -> None:
    _job(api)
    found = yaml.safe_load(run("get", "pytorch/clip-ft", "-o", "yaml").out)
    assert found["metadata"] == {"name": "clip-ft", "namespace": "team"}
    assert found["spec"] == SPEC


def test_what_may_not_be_read_is_named_and_the_rest_is_shown(run: Run, api: ApiServer) -> None:
    _job(api)
    body = {"kind": "Status", "code": 403, "reason": "Forbidden", "message": "alice cannot list pods"}
    api.refusals["GET /api/v1/namespaces/team/pods"] = (403, body)
    answer = run("get", "clip-ft")
    assert answer.code == 0
    assert answer.out.startswith("clip-ft  PyTorchJob in team  Running")
    assert answer.err == "pods: not allowed (alice cannot list pods)\n"


def test_a_job_that_is_not_there(run: Run) -> None:
    answer = run("get", "clip-ft")
    assert (answer.code, answer.out) == (1, "")
    assert answer.err == (
        "error: there is no job called clip-ft in team\n"
        "  why   names are looked up in one namespace, in all kinds of jobs, and among their pods\n"
        "  next  kubedl list -A\n"
    )


def test_a_cluster_without_kubedl(run: Run, api: ApiServer) -> None:
    api.refusals[f"GET {GROUP}"] = (404, {"reason": "NotFound", "code": 404})
    answer = run("get", "x")
    assert answer.code == 1
    assert answer.err.startswith("error: this cluster has no KubeDL\n  why   ")
