"""MarsJob: MARS_*, the memory of its workers, and that only schedulers matter."""

from typing import Any

import msgspec
import pytest

from kubedl.podspec.template import TemplateError
from kubedl.training.kinds.mars import Mars, MemoryPolicy
from tests.training_builders import JobBuilder, decide
from tests.training_builders import pod as one
from tests.unit.training.kinds.pod_env import environment, is_done, order, pod

JOB = JobBuilder(Mars(), "frame")


def template(**container: object) -> dict[str, Any]:
    """One whose container has more than a name."""
    made = JOB.template()
    made["spec"]["containers"][0] |= container
    return made


BIG = template(resources={"requests": {"cpu": "1500m", "memory": "4Gi", "ephemeral-storage": "10G"}})
WHOLE = JOB.role("Scheduler").role("WebService").workers(2, template=BIG)


def tuned(**policy: object) -> JobBuilder:
    """With a policy for the workers' memory."""
    return WHOLE.with_spec(workerMemoryTuningPolicy=policy)


def test_a_scheduler_is_told_of_the_cluster() -> None:
    """Exactly so; workers come and go, so nobody is told of them."""
    found = environment(WHOLE, "Scheduler")
    assert msgspec.json.decode(found.pop("MARS_CLUSTER_DETAIL")) == {
        "cluster": {
            "scheduler": ["frame-scheduler-0.frame.team.svc:11111"],
            "webservice": ["frame-webservice-0.frame.team.svc:11111"],
        },
        "task": {"type": "scheduler", "index": 0},
    }
    assert found == {
        "MARS_CPU_TOTAL": "0",
        "MARS_MEMORY_TOTAL": "0",
        "MARS_CPU_USE_PROCESS_STAT": "1",
        "MARS_MEM_USE_CGROUP_STAT": "1",
        "MARS_BIND_PORT": "11111",
        "MARS_K8S_GROUP_LABELS": "job-name",
    }


def test_a_worker_is_told_what_it_has() -> None:
    """Requests before limits, processors rounded up, memory in bytes; and where shared memory is."""
    found = environment(WHOLE, "Worker", 1)
    detail = msgspec.json.decode(found["MARS_CLUSTER_DETAIL"])
    assert detail["task"] == {"type": "worker", "index": 1, "resources": {"cpu_procs": 2, "phy_mem": 4 * 2**30}}
    wanted = ("MARS_CPU_TOTAL", "MARS_MEMORY_TOTAL", "MARS_PLASMA_DIRS", "MARS_LOCK_FREE_FILEIO")
    assert [found.get(name) for name in wanted] == ["2", str(4 * 2**30), MemoryPolicy().plasma_store, "1"]
    assert "MARS_CACHE_MEM_SIZE" not in found


def test_what_only_kubernetes_knows_is_referred_to() -> None:
    """Unless the user says it."""
    job = JOB.role("Scheduler", template=template(env=[{"name": "MARS_CONTAINER_IP", "value": "10.0.0.1"}]))
    [container] = pod(job, "Scheduler")["spec"]["containers"]
    found = {variable["name"]: variable for variable in container["env"]}
    assert found["MARS_CONTAINER_IP"] == {"name": "MARS_CONTAINER_IP", "value": "10.0.0.1"}
    paths = {name: found[name]["valueFrom"]["fieldRef"]["fieldPath"] for name in found if "valueFrom" in found[name]}
    assert paths == {"MARS_K8S_POD_NAME": "metadata.name", "MARS_K8S_POD_NAMESPACE": "metadata.namespace"}


@pytest.mark.parametrize(
    ("policy", "expected"),
    [
        ({"workerCacheSize": "1Gi"}, 2**30),
        ({"workerCacheSize": 1000}, 1000),
        ({"workerCachePercentage": 50}, 2**31),
        ({"workerCachePercentage": 200}, 2**32),
        ({"workerCachePercentage": 50, "workerCacheSize": "1k"}, 1000),
    ],
)
def test_a_cache_is_memory_where_shared_memory_is(policy: dict[str, object], expected: int) -> None:
    """By size or by share; the size outranks."""
    job = tuned(plasmaStore="/plasma", **policy)
    assert environment(job, "Worker")["MARS_CACHE_MEM_SIZE"] == str(expected)
    spec = pod(job, "Worker")["spec"]
    directory = {"medium": "Memory", "sizeLimit": str(expected)}
    assert spec["volumes"] == [{"name": "mars-shared-cache", "emptyDir": directory}]
    assert spec["containers"][0]["volumeMounts"] == [{"name": "mars-shared-cache", "mountPath": "/plasma"}]


def test_what_does_not_fit_goes_to_disk() -> None:
    """The disk that was asked for is divided; a place where the user mounts something is the user's."""
    mine = template(resources={"limits": {"ephemeral-storage": "10G"}}, volumeMounts=[{"name": "m", "mountPath": "/b"}])
    job = tuned(spillDirs=["/a", "/b"], lockFreeFileIO=False).workers(1, template=mine)
    found = environment(job, "Worker")
    assert (found["MARS_SPILL_DIRS"], found["MARS_LOCK_FREE_FILEIO"]) == ("/a,/b", "0")
    spec = pod(job, "Worker")["spec"]
    assert spec["volumes"] == [{"name": "mars-empty-dir-0", "emptyDir": {"sizeLimit": "5000000000"}}]
    mounts = [{"name": "m", "mountPath": "/b"}, {"name": "mars-empty-dir-0", "mountPath": "/a"}]
    assert spec["containers"][0]["volumeMounts"] == mounts
    assert "volumes" not in pod(job, "Scheduler")["spec"]


@pytest.mark.parametrize(
    ("job", "what"),
    [
        (tuned(workerCacheSize="much"), "workerCacheSize: 'much' is not a quantity"),
        (WHOLE.workers(1, template=template(resources={"limits": {"cpu": "a few"}})), "the template of Worker"),
        (tuned(spillDirs=["/a"]).workers(1, template=template(volumeMounts={"a": 1})), "volumeMounts"),
    ],
)
def test_what_cannot_be_read_is_refused(job: JobBuilder, what: str) -> None:
    """With its place."""
    with pytest.raises(TemplateError, match=what):
        pod(job, "Worker")


@pytest.mark.parametrize(
    ("job", "finished", "expected"),
    [
        (WHOLE, {}, False),
        (WHOLE, {"Worker": {0, 1}, "WebService": {0}}, False),
        (WHOLE, {"Scheduler": {0}}, True),
        (WHOLE.role("Scheduler", 2), {"Scheduler": {1}}, False),
        (WHOLE.role("Scheduler", 2), {"Scheduler": {0, 1}}, True),
        (JOB.workers(1), {"Worker": {0}}, False),
    ],
)
def test_all_schedulers_decide(job: JobBuilder, finished: dict[str, set[int]], expected: bool) -> None:
    """Workers and web services serve until they are told to end."""
    assert expected == is_done(job, **finished)


def test_only_a_schedulers_failure_fails_the_job() -> None:
    """A worker that fails for good is missed, no more."""
    alive = [one(WHOLE, "Scheduler").running(), one(WHOLE, "WebService").running(), one(WHOLE, "Worker", 1).running()]
    missed = decide(WHOLE, *alive, one(WHOLE, "Worker", 0).failed(1))
    assert (missed.status.state, missed.creations, missed.deletions) == ("Running", (), ())
    failed = decide(WHOLE, one(WHOLE, "Scheduler").failed(137), *alive[1:], one(WHOLE, "Worker", 0).running())
    assert (failed.status.state, failed.status.reason) == ("Failed", "ReplicaFailed")


def test_defaults() -> None:
    """Schedulers first; they are never replaced, web services always, workers when it may help."""
    assert order(WHOLE) == {
        "Scheduler": ("Never", []),
        "WebService": ("Always", ["Scheduler"]),
        "Worker": ("ExitCode", ["Scheduler"]),
    }
    assert JOB.kind.clean_pod_policy == "Running"  # nobody but us ends its workers
    assert "a job of this kind has at least one Scheduler" in [rule.message for rule in JOB.kind.custom_resource.rules]
