"""What the API server makes of `elastic`: sizes within their bounds, and refusals that say what to do."""

from typing import Any

import pytest

from harness.fakes.api_server import merged
from kubedl.api.training import VERSION
from kubedl.training.kinds import all_kinds
from testbed.api import ApiError
from testbed.cluster import Cluster
from tests.cluster.test_schema import TRY, UNSERVED, installed, jobs, quiet_jobs  # noqa: F401 - fixtures

Object = dict[str, Any]

BOUNDS = {"minReplicas": 1, "maxReplicas": 4}


@pytest.fixture
def group(quiet_jobs: str) -> str:  # noqa: F811
    """The path of a namespace in the group that no operator serves."""
    return quiet_jobs.removesuffix("/tfjobs")


def job(workers: int = 2, **spec: object) -> Object:
    """A PyTorchJob that can be resized, unless it is told otherwise."""
    template = {"spec": {"containers": [{"name": "pytorch", "image": "none"}]}}
    roles = {"Worker": {"replicas": workers, "template": template}}
    return {
        "apiVersion": f"{UNSERVED}/{VERSION}",
        "kind": "PyTorchJob",
        "metadata": {"name": "bert"},
        "spec": {"pytorchReplicaSpecs": roles, "elastic": BOUNDS, **spec},
    }


REFUSED: dict[str, tuple[Object, str]] = {
    "too large": (job(5), "a role Worker with minReplicas to maxReplicas replicas, which are 1 to 4"),
    "too small": (job(1, elastic={"minReplicas": 2, "maxReplicas": 4}), "which are 2 to 4"),
    "turned around": (job(2, elastic={"minReplicas": 3, "maxReplicas": 2}), "minReplicas may not be greater than"),
    "none at all": (job(1, elastic={"minReplicas": 0, "maxReplicas": 2}), "should be greater than or equal to 1"),
    "no largest size": (job(2, elastic={"minReplicas": 1}), "maxReplicas: Required value"),
    "a field of later versions": (job(2, elastic={**BOUNDS, "step": 2}), 'unknown field "spec.elastic.step"'),
    "a port of the system": (job(elastic={**BOUNDS, "checkpoint": {"port": 80}}), "greater than or equal to 1024"),
    "no patience": (job(elastic={**BOUNDS, "checkpoint": {"timeoutSeconds": 0}}), "greater than or equal to 1"),
    "endless patience": (job(elastic={**BOUNDS, "checkpoint": {"timeoutSeconds": 3601}}), "less than or equal to 3600"),
    "another way to ask": (job(elastic={**BOUNDS, "checkpoint": {"how": "Signal"}}), 'unknown field "spec.elastic.che'),
    "restarted alone": (job(restartScope="Replica"), "spec.restartScope: Forbidden: an elastic job has restartScope"),
    "on the host network": (job(networkMode="Host"), "spec.networkMode: Forbidden: an elastic job cannot use the host"),
    "another way to resize": (job(elastic={**BOUNDS, "resize": "Slowly"}), 'Unsupported value: "Slowly"'),
    "a gang": (job(schedulingPolicy={"minAvailable": 2}), "an elastic job cannot be a gang"),
    "a gang by its scheduler": (job(schedulingPolicy={"gangScheduler": "volcano"}), "an elastic job cannot be a gang"),
}


@pytest.mark.parametrize("case", REFUSED)
def test_a_refusal_says_what_to_do(cluster: Cluster, group: str, case: str) -> None:
    made, text = REFUSED[case]
    with pytest.raises(ApiError) as refused:
        cluster.api.create(f"{group}/pytorchjobs?{TRY}", made)
    assert text in str(refused.value)


@pytest.mark.parametrize("mode", [None, "Restart", "InPlace"])
def test_a_jax_job_can_only_restart(cluster: Cluster, group: str, mode: str | None) -> None:
    made = job(2, elastic={**BOUNDS, **({"resize": mode} if mode else {})})
    roles = {"Worker": {"replicas": 2, "template": {"spec": {"containers": [{"name": "jax", "image": "none"}]}}}}
    made = {**made, "kind": "JAXJob", "spec": {"jaxReplicaSpecs": roles, "elastic": made["spec"]["elastic"]}}
    if mode != "InPlace":
        assert cluster.api.create(f"{group}/jaxjobs?{TRY}", made)["spec"]["elastic"].get("resize") == mode
        return
    with pytest.raises(ApiError, match="the replicas of a JAXJob cannot stay while it is resized: use Restart"):
        cluster.api.create(f"{group}/jaxjobs?{TRY}", made)


def test_the_smallest_size_is_one_by_default(cluster: Cluster, group: str) -> None:
    made = cluster.api.create(f"{group}/pytorchjobs?{TRY}", job(1, elastic={"maxReplicas": 2}))
    assert made["spec"]["elastic"] == {"minReplicas": 1, "maxReplicas": 2}


def test_a_checkpoint_has_a_port_and_a_minute_and_a_half_by_default(cluster: Cluster, group: str) -> None:
    made = cluster.api.create(f"{group}/pytorchjobs?{TRY}", job(elastic={**BOUNDS, "checkpoint": {}}))
    assert made["spec"]["elastic"]["checkpoint"] == {"port": 29500, "timeoutSeconds": 90}
    plain = cluster.api.create(f"{group}/pytorchjobs?{TRY}", job())
    assert "checkpoint" not in plain["spec"]["elastic"]


def test_reclaims_in_the_status_are_bounded(cluster: Cluster, group: str) -> None:
    path = f"{group}/pytorchjobs/bert"
    made = cluster.api.create(f"{group}/pytorchjobs", job())
    reclaim = {"source": "x", "phase": "Noticed", "seenAt": "2026-01-01T12:00:00Z"}
    made["status"] = {"elastic": {"reclaims": [reclaim] * 20, "requests": 3, "reclaimCounts": {"noticed": 20}}}
    made = cluster.api.call("PUT", f"{path}/status", made)
    assert len(made["status"]["elastic"]["reclaims"]) == 20
    for wrong in ([reclaim] * 21, [reclaim | {"phase": "Lost"}]):
        made["status"]["elastic"]["reclaims"] = wrong
        with pytest.raises(ApiError, match=r"status\.elastic\.reclaims"):
            cluster.api.call("PUT", f"{path}/status", made)


@pytest.mark.parametrize("kind", sorted(one.kind for one in all_kinds() if not one.elastic_role))
def test_other_kinds_refuse_it_with_a_reason(cluster: Cluster, group: str, kind: str) -> None:
    """Rather than ignoring it."""
    declared = next(one for one in all_kinds() if one.kind == kind)
    template = {"spec": {"containers": [{"name": declared.container, "image": "none"}]}}
    roles = {role.name: {"replicas": 1, "template": template} for role in declared.roles}
    body = {
        "apiVersion": f"{UNSERVED}/{VERSION}",
        "kind": kind,
        "metadata": {"name": "any"},
        "spec": {declared.replicas_field: roles, "elastic": BOUNDS},
    }
    with pytest.raises(ApiError, match=f"Forbidden: {kind} cannot be resized while it runs; remove the field"):
        cluster.api.create(f"{group}/{declared.plural}?{TRY}", body)


def test_a_running_job_is_scaled_within_its_bounds(cluster: Cluster, namespace: str, group: str) -> None:
    """By an edit and by the scale subresource, which autoscalers use too."""
    path, resource = f"{group}/pytorchjobs/bert", f"pytorchjobs.{UNSERVED}/bert"
    made = cluster.api.create(f"{group}/pytorchjobs", job(2))
    made["status"] = {"elastic": {"selector": "a=b"}, "replicaStatuses": {"Worker": _counted(2)}}
    cluster.api.call("PUT", f"{path}/status", made)
    cluster.kubectl("scale", resource, "-n", namespace, "--replicas=4")
    scale = cluster.api.get(f"{path}/scale")
    assert (scale["spec"], scale["status"]) == ({"replicas": 4}, {"replicas": 2, "selector": "a=b"})
    write(cluster, path, pytorchReplicaSpecs={"Worker": {"replicas": 1}})
    with pytest.raises(Exception, match="which are 1 to 4"):
        cluster.kubectl("scale", resource, "-n", namespace, "--replicas=5")


def test_bounds_and_other_roles_change_only_while_suspended(cluster: Cluster, group: str) -> None:
    path = f"{group}/pytorchjobs/bert"
    cluster.api.create(f"{group}/pytorchjobs", job(2))
    for bounds in ({"maxReplicas": 5}, {"checkpoint": {"port": 5000}}, None):
        with pytest.raises(ApiError, match=r"spec\.elastic: Forbidden: running pods know these bounds"):
            write(cluster, path, elastic=bounds)
    master = {"Master": job()["spec"]["pytorchReplicaSpecs"]["Worker"] | {"replicas": 1}}
    with pytest.raises(ApiError, match="suspend the job to resize it"):
        write(cluster, path, pytorchReplicaSpecs=master)
    write(cluster, path, suspend=True, elastic={"maxReplicas": 5}, pytorchReplicaSpecs=master)


def test_a_job_without_it_is_resized_only_while_suspended(cluster: Cluster, group: str) -> None:
    """As ever; and it does not become elastic in the same write."""
    fixed = job(2)
    del fixed["spec"]["elastic"]
    path = f"{group}/pytorchjobs/bert"
    cluster.api.create(f"{group}/pytorchjobs", fixed)
    more = {"pytorchReplicaSpecs": {"Worker": {"replicas": 3}}}
    for spec in (more, {**more, "elastic": BOUNDS}):
        with pytest.raises(ApiError, match="suspend the job to resize it"):
            write(cluster, path, **spec)


def write(cluster: Cluster, path: str, **spec: object) -> None:
    """Change fields of the spec, as a merge patch does."""
    found = cluster.api.get(path)
    found["spec"] = merged(found["spec"], dict(spec))
    cluster.api.call("PUT", path, found)


def _counted(active: int) -> Object:
    return {"active": active, "ready": 0, "succeeded": 0, "failed": 0, "evicted": 0, "restarts": 0}
