"""`kubedl rerun`: the same job again, or with flags of `submit` changed."""

import json
from typing import Any

import pytest
import yaml

from kubedl.cli.submit.nested import manifest_of_words
from kubedl.cli.submit.overrides import override
from tests.unit.cli.conftest import Run
from tests.unit.client.api_server import GROUP, ApiServer

DONE = {"state": "Failed", "conditions": [{"type": "Failed", "status": "True"}]}
JOB_NAME = "training.kubedl.io/job-name"


def _spec(**parts: Any) -> dict[str, Any]:  # noqa: ANN401 - parts of a spec
    spread = [{"topologyKey": "x", "labelSelector": {"matchLabels": {JOB_NAME: "bert"}}}]
    container = {
        "name": "pytorch",
        "image": "a",
        "command": ["python"],
        "args": ["train.py"],
        "env": [{"name": "A", "value": "1"}],
        "resources": {"limits": {"nvidia.com/gpu": "8"}, "requests": {"nvidia.com/gpu": "8", "memory": "1Gi"}},
        "volumeMounts": [{"name": "data-0", "mountPath": "/data"}, {"name": "kept", "mountPath": "/kept"}],
    }
    volumes = [{"name": name, "persistentVolumeClaim": {"claimName": name}} for name in ("data-0", "kept", "spare")]
    template = {"spec": {"containers": [container, {"name": "side", "image": "s"}], "volumes": volumes}}
    template["spec"]["topologySpreadConstraints"] = spread
    roles = {"Master": {"replicas": 1, "template": template}, "Worker": {"replicas": 3, "template": template}}
    return {"suspend": True, "backoffLimit": 5, "pytorchReplicaSpecs": roles, **parts}


def _made(api: ApiServer, name: str) -> dict[str, Any]:
    return api.objects[f"{GROUP}/namespaces/team/pytorchjobs/{name}"]


def test_again_under_the_next_free_name(run: Run, api: ApiServer) -> None:
    labels = {"team": "a", "kubedl.io/cron-name": "nightly"}
    owner = [{"kind": "Cron", "name": "nightly", "uid": "c", "controller": True}]
    api.job("bert", spec=_spec(), status=DONE, metadata={"labels": labels, "ownerReferences": owner})
    api.job("bert-r2")
    assert run("rerun", "bert").out == "pytorchjob/bert-r3 created in team\n"
    made = _made(api, "bert-r3")
    assert "suspend" not in made["spec"]
    assert (made["metadata"]["labels"], "ownerReferences" in made["metadata"]) == ({"team": "a"}, False)
    worker = made["spec"]["pytorchReplicaSpecs"]["Worker"]["template"]["spec"]
    assert worker["topologySpreadConstraints"][0]["labelSelector"]["matchLabels"] == {JOB_NAME: "bert-r3"}
    assert run("rerun", "bert-r3").out == "pytorchjob/bert-r4 created in team\n"
    assert run("rerun", "bert", "--name", "other", "-o", "name").out == "pytorchjob/other\n"
    assert run("rerun", "bert", "--name", "other").code == 1


def test_dry_run(run: Run, api: ApiServer) -> None:
    api.job("bert", spec=_spec(), status=DONE)
    shown = yaml.safe_load(run("rerun", "--dry-run", "bert", "--set", "image=b").out)
    assert (shown["metadata"]["name"], "status" in shown) == ("bert-r2", False)
    assert run("rerun", "bert", "--dry-run=server").out == "pytorchjob/bert-r2 would be created in team\n"
    assert len(api.objects) == 1


def test_in_its_place(run: Run, api: ApiServer) -> None:
    """The old job is deleted when the server has said that it takes the new one; its code is kept."""
    spec = _spec()
    spec["pytorchReplicaSpecs"]["Master"]["template"]["spec"]["volumes"].append(
        {"name": "kubedl-files", "configMap": {"name": "bert-files-1"}}
    )
    files = "/api/v1/namespaces/team/configmaps/bert-files-1"
    old = {"kind": "PyTorchJob", "name": "bert", "uid": "uid-bert"}
    api.put(files, {"metadata": {"ownerReferences": [old]}})
    api.job("bert", spec=spec, status={"state": "Running"}, metadata={"uid": "old"})
    refused = run("rerun", "bert", "--replace")
    assert (refused.code, refused.err) == (
        2,
        "error: bert has not ended, and would be deleted\n  next  add -y, or leave out --replace\n",
    )
    answer = run("rerun", "bert", "--replace", "-y", "--set", "retry=3")
    assert (answer.code, answer.out) == (0, "pytorchjob/bert created in team\n"), answer.err
    made = _made(api, "bert")
    assert (made["metadata"]["uid"], made["spec"]["backoffLimit"]) == ("uid-bert", 3)
    assert [one["uid"] for one in api.objects[files]["metadata"]["ownerReferences"]] == ["uid-bert"]
    owners = [call.body["metadata"]["ownerReferences"] for call in api.calls if call.path == files and call.body]
    assert owners[0] is None, "the ConfigMap would have been deleted with the old job"


def test_a_job_is_kept_if_the_new_one_is_refused(run: Run, api: ApiServer) -> None:
    api.job("bert", spec=_spec(), status=DONE)
    status = {"kind": "Status", "reason": "Invalid", "code": 422, "message": "no"}
    api.refusals[f"POST {GROUP}/namespaces/team/pytorchjobs"] = (422, status)
    assert run("rerun", "bert", "--replace").code == 1
    assert run("rerun", "bert", "--replace", "--wait").code == 126
    assert list(api.objects) == [f"{GROUP}/namespaces/team/pytorchjobs/bert"]


def _changed(*words: str, **parts: Any) -> dict[str, Any]:  # noqa: ANN401 - parts of a spec
    job = {"apiVersion": GROUP[6:], "kind": "PyTorchJob", "metadata": {"name": "bert"}, "spec": _spec(**parts)}
    own: dict[str, Any] = json.loads(json.dumps(job))  # no part is shared
    override(own, words)
    return own


def _worker(job: dict[str, Any]) -> dict[str, Any]:
    spec: dict[str, Any] = job["spec"]["pytorchReplicaSpecs"]["Worker"]["template"]["spec"]
    return spec


class TestOverrides:
    """Only what a flag says changes."""

    def test_nothing_else_changes(self) -> None:
        before, after = _changed(), _changed("memory=96Gi")
        resources = _worker(after)["containers"][0]["resources"]
        assert resources == {
            "limits": {"nvidia.com/gpu": "8", "memory": "96Gi"},
            "requests": {"nvidia.com/gpu": "8", "memory": "96Gi"},
        }
        for job in (before, after):
            for role in job["spec"]["pytorchReplicaSpecs"].values():
                role["template"]["spec"]["containers"][0].pop("resources")
        assert before == after

    def test_devices_are_requested_as_they_are_limited(self) -> None:
        resources = _worker(_changed("gpus=4"))["containers"][0]["resources"]
        assert resources["limits"]["nvidia.com/gpu"] == resources["requests"]["nvidia.com/gpu"] == "4"

    def test_one_role(self) -> None:
        job = _changed("worker-image=b")
        images = [
            role["template"]["spec"]["containers"][0]["image"] for role in job["spec"]["pytorchReplicaSpecs"].values()
        ]
        assert images == ["a", "b"]

    def test_values_that_are_defaults_of_submit(self) -> None:
        """The job has other ones."""
        job = _changed("retry=3", "share-memory=2Gi", "image=c")
        assert job["spec"]["backoffLimit"] == 3
        assert {"name": "shm", "emptyDir": {"medium": "Memory", "sizeLimit": "2Gi"}} in _worker(job)["volumes"]
        assert [one["image"] for one in _worker(job)["containers"]] == ["c", "s"]

    def test_a_command_replaces_arguments_too(self) -> None:
        container = _worker(_changed("command=python other.py"))["containers"][0]
        assert (container["command"], "args" in container) == (["sh", "-c", "python other.py"], False)

    def test_variables_and_tolerations_are_added(self) -> None:
        job = _changed("env=A=2", "env=B=x=y", "toleration=all", tolerations=[])
        assert _worker(job)["containers"][0]["env"] == [{"name": "A", "value": "2"}, {"name": "B", "value": "x=y"}]
        assert _worker(job)["tolerations"] == [{"operator": "Exists"}]

    def test_a_claim_in_the_place_of_another(self) -> None:
        """The old volume leaves; a volume that the job has under the same name is another one."""
        spec = _worker(_changed("data=new:/data"))
        claims = {one["name"]: one["persistentVolumeClaim"]["claimName"] for one in spec["volumes"]}
        mounts = {one["mountPath"]: claims[one["name"]] for one in spec["containers"][0]["volumeMounts"]}
        assert mounts == {"/data": "new", "/kept": "kept"}
        assert set(claims.values()) == {"new", "kept", "spare"}

    def test_a_queue_is_changed_and_taken_away(self) -> None:
        policy = {"queue": "a", "minAvailable": 4}
        assert _changed("queue=b", schedulingPolicy=dict(policy))["spec"]["schedulingPolicy"]["queue"] == "b"
        job = _changed("queue=", schedulingPolicy=dict(policy))
        assert job["spec"]["schedulingPolicy"] == {"minAvailable": 4}

    def test_workers(self) -> None:
        """The master counts, and a gang has as many as there are."""
        job = _changed("workers=2", schedulingPolicy={"minAvailable": 4})
        assert job["spec"]["pytorchReplicaSpecs"]["Worker"]["replicas"] == 1
        assert job["spec"]["schedulingPolicy"]["minAvailable"] == 2

    def test_a_role_without_replicas_changes_too(self) -> None:
        """It may get some later."""
        job = _changed("workers=1", "image=b", "gang=true")
        assert job["spec"]["pytorchReplicaSpecs"]["Worker"]["replicas"] == 0
        assert _worker(job)["containers"][0]["image"] == "b"
        assert job["spec"]["schedulingPolicy"] == {"minAvailable": 1}

    def test_a_worker_more_is_a_copy_of_the_master(self) -> None:
        job = _changed()
        del job["spec"]["pytorchReplicaSpecs"]["Worker"]
        override(job, ["workers=3", "worker-image=b"])
        roles = job["spec"]["pytorchReplicaSpecs"]
        assert roles["Worker"]["replicas"] == 2
        images = [role["template"]["spec"]["containers"][0]["image"] for role in roles.values()]
        assert images == ["a", "b"]

    def test_a_job_without_a_master_gets_none(self) -> None:
        job = _changed()
        del job["spec"]["pytorchReplicaSpecs"]["Master"]
        override(job, ["memory=1Gi"])
        assert list(job["spec"]["pytorchReplicaSpecs"]) == ["Worker"]

    def test_restricted(self) -> None:
        assert _worker(_changed("restricted=true"))["securityContext"]["runAsNonRoot"] is True


@pytest.mark.parametrize(
    ("word", "what", "step"),
    [
        ("memory", "--set memory is not understood", "--set FLAG=VALUE"),
        ("memry=1", "--set memry: submit pytorch has no such flag", "--set memory=VALUE"),
        ("wait=true", "--set wait: submit pytorch has no such flag", "--set "),
        ("workers=many", "--set workers=many is not understood", "1 to 10000"),
        ("restricted=perhaps", "--set restricted=perhaps is not understood", "restricted=true"),
        ("env=", "--set env= takes nothing away", "--set env=NAME=VALUE"),
    ],
)
def test_mistakes(run: Run, api: ApiServer, word: str, what: str, step: str) -> None:
    api.job("bert", spec=_spec(), status=DONE)
    answer = run("rerun", "bert", "--set", word)
    assert (answer.code, answer.out) == (2, "")
    assert answer.err.startswith(f"error: {what}\n  next  {step}")
    assert len(api.objects) == 1


def test_it_is_waited_for(run: Run, api: ApiServer) -> None:
    api.job("bert", spec=_spec(), status=DONE)
    answer = run("rerun", "bert", "--wait", "--timeout", "0")
    assert (answer.code, answer.out) == (124, "pytorchjob/bert-r2 created in team\n")


def test_flags_that_exclude_or_need_one_another(run: Run) -> None:
    assert run("rerun", "bert", "--replace", "--name", "x").code == 2
    assert run("rerun", "bert", "--timeout", "1m").code == 2
    assert run("rerun", "nothing").err.startswith("error: there is no job called nothing in team\n")


CHANGES = (
    *("image=b", "memory=96Gi", "cpu=3", "gpus=4", "gpus=0", "env=A=B", "data=c:/d:ro", "data-dir=/h:/p", "queue=q"),
    *("priority=high", "retry=3", "retry=9", "running-timeout=60", "selector=a=b", "toleration=k=v:NoSchedule"),
    *("scheduler=s", "service-account=a", "restricted=true", "share-memory=0", "share-memory=8Gi", "host-ipc=true"),
    *("label=x=y", "annotation=x=y", "working-dir=/w", "image-pull-secret=s", "image-pull-policy=Always"),
    *("ttl-after-finished=5", "clean-task-policy=All", "device=x/y=2", "rdma=r/x:2", "worker-image=w", "gang=true"),
)


@pytest.mark.parametrize("kind", ["pytorch", "tf", "mpi", "jax", "xgboost", "xdl", "mars", "elasticdl"])
def test_a_changed_job_is_that_of_submit_with_the_flag(kind: str) -> None:
    """Of every kind; whatever the flag, of those whose roles differ most."""
    words = ["submit", kind, "--image", "a", *([] if kind == "elasticdl" else ["--workers", "2"])]
    before = manifest_of_words([*words, "--", "run"], "j")
    for change in CHANGES if kind in ("pytorch", "mpi") else CHANGES[::6]:
        if change.startswith("worker-") and "Worker" not in next(iter(_roles(before))):
            continue
        flag, _, value = change.partition("=")
        word = f"--{flag}" if value == "true" else f"--{flag}={value}"
        changed = json.loads(json.dumps(before))
        override(changed, [change])
        assert _sorted(changed) == _sorted(manifest_of_words([*words, word, "--", "run"], "j")), change


def _roles(job: dict[str, Any]) -> list[dict[str, Any]]:
    return [value for name, value in job["spec"].items() if name.endswith("ReplicaSpecs")]


def _sorted(value: Any) -> Any:  # noqa: ANN401 - JSON
    """Lists in some order: a changed one may have its items in another."""
    if isinstance(value, dict):
        return {name: _sorted(one) for name, one in value.items()}
    return sorted((_sorted(one) for one in value), key=str) if isinstance(value, list) else value
