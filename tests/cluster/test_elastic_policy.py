"""What the API server makes of Kubeflow's `elasticPolicy`: what is understood is taken, the rest refused."""

from typing import Any

import pytest

from testbed.api import ApiError
from testbed.cluster import Cluster
from tests.cluster.test_elastic import group, job, write  # noqa: F401 - a fixture
from tests.cluster.test_schema import TRY, installed, jobs, quiet_jobs  # noqa: F401 - fixtures

Object = dict[str, Any]

BOUNDS = {"minReplicas": 1, "maxReplicas": 4}
# As in the examples of training-operator, with every field that is understood.
FULL: Object = {
    **BOUNDS,
    "rdzvBackend": "c10d",
    "rdzvPort": 29400,
    "rdzvHost": "bert-worker-0",
    "rdzvId": "mine",
    "rdzvConf": [{"key": "last_call_timeout", "value": "30"}],
    "maxRestarts": 100,
    "nProcPerNode": 2,
    "metrics": [],
}
METRIC = {"type": "Resource", "resource": {"name": "cpu", "target": {"type": "Utilization", "averageUtilization": 80}}}


def policy(workers: int = 2, *, spec: Object | None = None, bounds: Object | None = None, **fields: object) -> Object:
    """A job with this policy instead of `elastic`."""
    made = job(workers, **(spec or {}), elasticPolicy={**(BOUNDS if bounds is None else bounds), **fields})
    del made["spec"]["elastic"]
    return made


def led(made: Object, replicas: int = 1) -> Object:
    """The same with a Master."""
    roles = made["spec"]["pytorchReplicaSpecs"]
    roles["Master"] = {**roles["Worker"], "replicas": replicas}
    return made


ALONE: Object = {"bounds": {"maxReplicas": 1}, "standalone": True}
REFUSED: dict[str, tuple[Object, str]] = {
    "with elastic too": (job(elasticPolicy=BOUNDS), "elastic and elasticPolicy both say how the job is resized"),
    "too large": (policy(5), "a job with elasticPolicy has a role Worker with minReplicas to maxReplicas replicas"),
    "too small": (policy(1, bounds={"minReplicas": 2, "maxReplicas": 4}), "if one of them is not set, it is the other"),
    "another size than the only bound": (policy(2, bounds={"maxReplicas": 3}), "if one of them is not set"),
    "a size above the only bound": (policy(4, bounds={"minReplicas": 3}), "if one of them is not set"),
    "nobody": (policy(0, bounds={}), "if one of them is not set"),
    "turned around": (policy(3, bounds={"minReplicas": 3, "maxReplicas": 2}), "minReplicas may not be greater than"),
    "etcd": (policy(rdzvBackend="etcd"), "etcd is not supported, since the first replica keeps the rendezvous"),
    "etcd-v2": (policy(rdzvBackend="etcd-v2"), "use c10d, or remove the field"),
    "another backend": (policy(rdzvBackend="static"), 'Unsupported value: "static"'),
    "a store elsewhere": (policy(rdzvHost="etcd"), "remove rdzvHost, or set it to its name, which is bert-worker-0"),
    "a host that does not lead": (led(policy(rdzvHost="bert-worker-0")), "which is bert-master-0"),
    "another keeper": (policy(rdzvConf=[{"key": "is_host", "value": "1"}]), "is_host and store_type cannot be chosen"),
    "another store": (policy(rdzvConf=[{"key": "store_type", "value": "file"}]), "cannot be chosen; remove them"),
    "two settings in one": (policy(rdzvConf=[{"key": "a", "value": "1,b=2"}]), "should match"),
    "a setting without a name": (policy(rdzvConf=[{"key": "a=b", "value": "1"}]), "should match"),
    "a setting twice": (policy(rdzvConf=[{"key": "a", "value": "1"}, {"key": "a", "value": "2"}]), "Duplicate value"),
    "metrics": (policy(metrics=[METRIC]), "create a HorizontalPodAutoscaler with these metrics for the job"),
    "standalone for two": (policy(2, bounds={"maxReplicas": 2}, standalone=True), "others would never meet"),
    "standalone that grows": (policy(1, standalone=True), "standalone is for jobs that have one replica"),
    "standalone with a Master": (led(policy(1, **ALONE)), "standalone is for jobs that have one replica"),
    "standalone with a port": (policy(1, **ALONE, rdzvPort=1), "with standalone torchrun chooses rdzvPort"),
    "standalone with an id": (policy(1, **ALONE, rdzvId="a"), "with standalone torchrun chooses rdzvPort"),
    "two numbers of processes": (policy(spec={"nprocPerNode": 4}, nProcPerNode=2), "is another number; set it once"),
    "restarted alone": (policy(spec={"restartScope": "Replica"}), "spec.restartScope: Forbidden: an elastic job has"),
    "on the host network": (policy(spec={"networkMode": "Host"}), "an elastic job cannot use the host network"),
    "a gang": (policy(spec={"schedulingPolicy": {"minAvailable": 2}}), "an elastic job cannot be a gang"),
    "a field of later versions": (policy(step=2), 'unknown field "spec.elasticPolicy.step"'),
}
ACCEPTED: dict[str, Object] = {
    "every field": policy(**FULL),
    "the same number of processes twice": policy(spec={"nprocPerNode": 2}, nProcPerNode=2),
    "no bounds": policy(3, bounds={}),
    "the largest size only": policy(3, bounds={"maxReplicas": 3}),
    "the smallest size only": policy(3, bounds={"minReplicas": 3}),
    "a Master that leads": led(policy(rdzvHost="bert-master-0")),
    "a Master that nobody is": led(policy(rdzvHost="bert-worker-0"), 0),
    "standalone": policy(1, **ALONE),
    "standalone that is off": policy(2, standalone=False, rdzvPort=29400),
}


@pytest.mark.parametrize("case", REFUSED)
def test_a_refusal_says_what_to_do(cluster: Cluster, group: str, case: str) -> None:  # noqa: F811
    made, text = REFUSED[case]
    with pytest.raises(ApiError) as refused:
        cluster.api.create(f"{group}/pytorchjobs?{TRY}", made)
    assert text in str(refused.value)


@pytest.mark.parametrize("case", ACCEPTED)
def test_what_is_understood_is_taken(cluster: Cluster, group: str, case: str) -> None:  # noqa: F811
    made = ACCEPTED[case]
    found = cluster.api.create(f"{group}/pytorchjobs?{TRY}", made)["spec"]["elasticPolicy"]
    assert found | made["spec"]["elasticPolicy"] == found


def test_a_running_job_is_resized_within_its_bounds(cluster: Cluster, group: str) -> None:  # noqa: F811
    """And the policy changes only while it is suspended."""
    path = f"{group}/pytorchjobs/bert"
    cluster.api.create(f"{group}/pytorchjobs", policy(2))
    write(cluster, path, pytorchReplicaSpecs={"Worker": {"replicas": 4}})
    with pytest.raises(ApiError, match="minReplicas to maxReplicas replicas"):
        write(cluster, path, pytorchReplicaSpecs={"Worker": {"replicas": 5}})
    for change in ({"elasticPolicy": {"maxReplicas": 5}}, {"elasticPolicy": None}):
        with pytest.raises(ApiError, match=r"spec\.elasticPolicy: Forbidden: running pods know these bounds"):
            write(cluster, path, **change)
    write(
        cluster, path, suspend=True, elasticPolicy={"maxReplicas": 5}, pytorchReplicaSpecs={"Worker": {"replicas": 5}}
    )


def test_without_bounds_the_size_is_fixed(cluster: Cluster, group: str) -> None:  # noqa: F811
    path = f"{group}/pytorchjobs/bert"
    cluster.api.create(f"{group}/pytorchjobs", policy(3, bounds={}))
    with pytest.raises(ApiError, match="running pods know their number: suspend the job to resize it"):
        write(cluster, path, pytorchReplicaSpecs={"Worker": {"replicas": 4}})
    write(cluster, path, suspend=True, pytorchReplicaSpecs={"Worker": {"replicas": 4}})
