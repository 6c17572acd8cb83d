"""What the API server makes of MPIJobs: those of the first KubeDL pass, and what cannot be honoured is refused."""

from pathlib import Path

import pytest
import yaml

from harness.drivers.operator_process import install_custom_resources
from testbed.api import ApiError
from testbed.cluster import Cluster
from tests.cluster.admission_cases import Change, Object, Refusal

MANIFEST = Path(__file__).parents[1] / "manifests" / "mpijob.yaml"
TRY = "dryRun=All&fieldValidation=Strict"  # as kubectl asks for it


def manifest() -> Object:
    """A job that is right."""
    job: Object = yaml.safe_load(MANIFEST.read_text())
    return job


def in_spec(**fields: object) -> Change:
    """Writes fields into the spec."""
    return lambda job: job["spec"].update(fields)


def in_policy(**fields: object) -> Change:
    """Writes fields into the run policy."""
    return lambda job: job["spec"]["runPolicy"].update(fields)


def in_role(role: str, **fields: object) -> Change:
    """Writes fields into a role."""
    return lambda job: job["spec"]["mpiReplicaSpecs"][role].update(fields)


BY_RESOURCES = "set resources in the template of Worker, and set replicas and slotsPerWorker"
IN_ROLES = "use mpiReplicaSpecs, with replicas and template of each role"
REFUSALS = {
    "no launcher": Refusal(
        lambda job: job["spec"]["mpiReplicaSpecs"].pop("Launcher"),
        "spec.mpiReplicaSpecs: Invalid value: an MPIJob needs exactly one Launcher, with one replica",
    ),
    "two launchers": Refusal(
        in_role("Launcher", replicas=2), "spec.mpiReplicaSpecs: Invalid value: an MPIJob needs exactly one Launcher"
    ),
    "container": Refusal(
        in_spec(mainContainer="ranks"),
        "spec.mpiReplicaSpecs: Required value: a container named ranks (the main container) is missing in",
    ),
    "too many workers": Refusal(
        in_role("Worker", replicas=8000),
        "spec.mpiReplicaSpecs: Invalid value: the list of workers must fit into 240000 bytes",
    ),
    "two policies": Refusal(
        in_spec(cleanPodPolicy="All"),
        "spec.runPolicy.cleanPodPolicy: Invalid value: cleanPodPolicy is also set in the spec; set it once",
    ),
    "two limits": Refusal(in_spec(backoffLimit=4), "spec.runPolicy.backoffLimit: Invalid value"),
    "host network": Refusal(
        in_spec(networkMode="Host"),
        "spec.networkMode: Forbidden: MPIJob does not support the host network; remove the field",
    ),
    "suspend in the policy": Refusal(
        in_policy(suspend=True),
        "spec.runPolicy.suspend: Invalid value: set suspend in the spec, not in runPolicy",
    ),
    "gpus": Refusal(in_spec(gpus=8), f"spec.gpus: Invalid value: gpus belongs to an older MPIJob: {BY_RESOURCES}"),
    "resource type": Refusal(in_spec(processingResourceType="cpu"), f"belongs to an older MPIJob: {BY_RESOURCES}"),
    "launcher on master": Refusal(in_spec(launcherOnMaster=True), "spec.launcherOnMaster: Invalid value"),
    "replicas": Refusal(
        in_spec(replicas=2), f"spec.replicas: Invalid value: replicas belongs to an older MPIJob: {IN_ROLES}"
    ),
    "template": Refusal(in_spec(template={"spec": {"containers": [{"name": "a"}]}}), "spec.template: Invalid value"),
    "distribution": Refusal(in_spec(mpiDistribution="MVAPICH"), 'spec.mpiDistribution: Unsupported value: "MVAPICH"'),
}


@pytest.fixture
def jobs(cluster: Cluster, namespace: str) -> str:
    """The path of a namespace's MPIJobs, whose definition is in force."""
    install_custom_resources(cluster)
    return f"/apis/training.kubedl.io/v1alpha1/namespaces/{namespace}/mpijobs"


@pytest.mark.parametrize("case", REFUSALS)
def test_a_refusal_names_the_field_and_the_reason(cluster: Cluster, jobs: str, case: str) -> None:
    """In a sentence that says what to do."""
    job = manifest()
    REFUSALS[case].change(job)
    with pytest.raises(ApiError) as refused:
        cluster.api.create(f"{jobs}?{TRY}", job)
    assert REFUSALS[case].text in str(refused.value)


@pytest.mark.parametrize(
    "change",
    [
        pytest.param(lambda job: None, id="as it is"),
        pytest.param(in_spec(cleanPodPolicy="Running", backoffLimit=3), id="policies twice, and equal"),
        pytest.param(lambda job: job["spec"].pop("runPolicy"), id="no policy"),
        pytest.param(in_policy(schedulingPolicy={"priorityClassName": "high"}), id="class"),
        pytest.param(lambda job: job["spec"]["mpiReplicaSpecs"].pop("Worker"), id="launcher alone"),
        pytest.param(in_spec(mpiDistribution="IntelMPI"), id="distribution"),
        pytest.param(in_role("Worker", replicas=5000), id="many workers"),
    ],
)
def test_what_is_right_is_accepted(cluster: Cluster, jobs: str, change: Change) -> None:
    """The other side of the rules; and what the first KubeDL left open has its default."""
    job = manifest()
    change(job)
    made = cluster.api.create(f"{jobs}?{TRY}", job)
    assert (made["spec"]["mainContainer"], made["spec"]["slotsPerWorker"]) == ("mpi", 2)
