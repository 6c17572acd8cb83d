"""What the API server makes of our definitions: it accepts them, shows jobs as promised and refuses with a reason."""

import graphlib
import json
import re
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Annotated, get_args

import msgspec
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from msgspec import Meta

from kubedl.api.replica_spec import ReplicaSpec
from kubedl.api.training import GROUP, VERSION, JobSpec, JobStatus, SuccessPolicy, TrainingJob
from kubedl.api.validation.training import job_columns, job_rules
from kubedl.kube import codec
from kubedl.kube.types.meta import Resource
from kubedl.schema.crd import CustomResource
from kubedl.schema.yaml_documents import to_yaml
from kubedl.training.kinds import all_kinds
from kubedl.training.kinds.tensorflow import TensorFlow
from kubedl.training.policies import exit_codes
from testbed.api import ApiError, is_true
from testbed.cluster import Cluster
from testbed.errors import TestbedError
from testbed.waiting import until
from tests.cluster.admission_cases import REFUSALS, ROLES, Change, Object, both, manifest, retrying, with_role, worker
from tests.unit.schema.openapi import values_of

DEFINITIONS = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"
TRY = "dryRun=All&fieldValidation=Strict"  # as kubectl asks for it
UNSERVED = "unserved.kubedl.io"
CODES = st.integers(0, 300)
ON_THE_SERVER = settings(
    max_examples=60, suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow]
)


@pytest.fixture(scope="module")
def installed() -> list[str]:
    """The definitions that this process has applied: once is enough, and a cluster left by older code has others."""
    return []


@pytest.fixture
def jobs(cluster: Cluster, namespace: str, installed: list[str]) -> str:
    """The path of a namespace's TFJobs, whose definition is in force."""
    if not installed:
        resources = [kind.custom_resource for kind in all_kinds()]
        definitions = [custom.definition() for custom in (*resources, *map(_unserved, resources))]
        cluster.kubectl("apply", "--server-side", "--force-conflicts", "-f", "-", given=to_yaml(definitions))
        installed += [definition["metadata"]["name"] for definition in definitions]
        for name in installed:
            until(f"{name} to be served", partial(_is_served, cluster, name), deadline=60)
    return f"/apis/{GROUP}/{VERSION}/namespaces/{namespace}/tfjobs"


@pytest.fixture
def quiet_jobs(namespace: str, jobs: str) -> str:
    """The same, of a group that no operator serves: what a test writes there, nobody changes."""
    return jobs.replace(GROUP, UNSERVED)


@pytest.mark.usefixtures("jobs")
def test_definitions_are_structural_and_served(cluster: Cluster, installed: list[str]) -> None:
    """The API server has nothing against them."""
    for name in installed:
        conditions = cluster.api.get(f"{DEFINITIONS}/{name}")["status"]["conditions"]
        assert {item["type"]: item["status"] for item in conditions} == {"NamesAccepted": "True", "Established": "True"}


def test_the_manifest_of_the_first_kubedl_is_accepted_unchanged(cluster: Cluster, jobs: str) -> None:
    """Nothing in it is refused or dropped, and defaults are filled in."""
    written = manifest()
    made = cluster.api.create(f"{jobs}?{TRY}", written)
    assert _contains(made, written)
    assert made["spec"]["suspend"] is False


def test_fields_newer_than_this_code_survive_in_a_template(cluster: Cluster, jobs: str) -> None:
    """On every level: templates belong to Kubernetes."""
    job = manifest()
    template = worker(job)["template"]
    template["metadata"] = {"labels": {"a": "b"}, "novelty": {"deep": [1]}}
    template["spec"] |= {"novelty": {"deep": {"er": True}}, "volumes": [{"name": "v", "novelty": {}}]}
    template["spec"]["containers"][0] |= {"novelty": 1.5, "env": [{"name": "A", "novelty": "x"}]}
    made = cluster.api.create(f"{jobs}?{TRY}", job)
    assert worker(made)["template"] == template


def test_short_names_and_category(cluster: Cluster, namespace: str, jobs: str, tmp_path: Path) -> None:
    """`kubectl get tf` and `kubectl get kubedl` find a job."""
    # Not the cache that every kubectl of this machine shares: a kind that another test is just adding may be
    # in one of its files and not yet in the next.
    cache = f"--cache-dir={tmp_path}"
    job = manifest()
    job["spec"]["suspend"] = True
    cluster.api.create(jobs, job)
    for noun in ("tf", "tfjob", "kubedl"):
        found = cluster.kubectl("get", noun, "-n", namespace, "-o=name", cache).split()
        assert "tfjob.training.kubedl.io/tf-mnist-estimator" in found


def test_columns(cluster: Cluster, namespace: str, quiet_jobs: str) -> None:
    """`kubectl get` prints what people look for first."""
    job = _quiet(manifest())
    job["spec"]["activeDeadlineSeconds"] = 3600
    made = cluster.api.create(quiet_jobs, job)
    made["status"] = {
        "state": "Running",
        "ready": "2/3",
        "restarts": 4,
        "message": "Unschedulable",
        "modelVersionName": "mnist-1",
        "activeDeadlineSeconds": 3600,
    }
    cluster.api.call("PUT", f"{quiet_jobs}/tf-mnist-estimator/status", made)

    head, line = cluster.kubectl("get", f"tfjobs.{UNSERVED}", "-n", namespace).splitlines()
    assert head.split() == ["NAME", "STATE", "READY", "RESTARTS", "REASON", "MODEL-VERSION", "AGE"]
    assert line.split()[:-1] == ["tf-mnist-estimator", "Running", "2/3", "4", "Unschedulable", "mnist-1"]
    wide = cluster.kubectl("get", f"tfjobs.{UNSERVED}", "-n", namespace, "-o", "wide").splitlines()
    assert dict(zip(wide[0].split(), wide[1].split(), strict=False))["MAX-LIFETIME"] == "3600"


@pytest.mark.parametrize("case", REFUSALS)
def test_a_refusal_names_the_field_and_the_reason(cluster: Cluster, jobs: str, case: str) -> None:
    """In a sentence that says what to do."""
    job = manifest()
    REFUSALS[case].change(job)
    with pytest.raises(ApiError) as refused:
        cluster.api.create(f"{jobs}?{TRY}", job)
    assert REFUSALS[case].text in str(refused.value)


@pytest.mark.usefixtures("jobs")
def test_kubectl_prints_the_sentence_and_nothing_else(cluster: Cluster, namespace: str) -> None:
    """What a person sees."""
    job = manifest()
    REFUSALS["unknown role"].change(job)
    with pytest.raises(TestbedError) as refused:
        cluster.kubectl("create", "-n", namespace, "-f", "-", given=json.dumps(job))
    printed = f'The TFJob "tf-mnist-estimator" is invalid: {REFUSALS["unknown role"].text}'
    assert str(refused.value).endswith(f"ended with 1: {printed}")


def _succeeding(job: Object, policy: str) -> None:
    job["spec"]["successPolicy"] = policy


@pytest.mark.parametrize(
    "change",
    [
        pytest.param(lambda job: job["metadata"].update(name="j" * 54), id="longest name"),
        pytest.param(lambda job: worker(job).update(replicas=0), id="nobody yet"),
        pytest.param(lambda job: job["spec"].update(suspend=None, backoffLimit=None), id="null is absent"),
        pytest.param(
            lambda job: job["spec"].update(schedulingPolicy={"priorityClassName": "high", "queue": ""}), id="class"
        ),
        pytest.param(retrying("1", "130", "137-143", "200-255", "255-255"), id="exit codes"),
        pytest.param(both(retrying(), lambda job: worker(job).update(oomPolicy="Retry")), id="nothing but memory"),
        pytest.param(lambda job: worker(job).update(failurePolicy="FailReplica"), id="a replica that may fail"),
        *(
            pytest.param(partial(_succeeding, policy=policy), id=f"success by {policy or 'the kind'}")
            for policy in get_args(SuccessPolicy)
        ),
        pytest.param(both(with_role("pS"), with_role("chief", "PS", "worker")), id="case does not matter"),
    ],
)
def test_what_is_right_is_accepted(cluster: Cluster, jobs: str, change: Change) -> None:
    """The other side of the rules."""
    job = manifest()
    change(job)
    cluster.api.create(f"{jobs}?{TRY}", job)


@given(
    written=st.dictionaries(
        st.sampled_from(ROLES), st.none() | st.sets(st.sampled_from(ROLES), max_size=4), min_size=2, max_size=5
    )
)
@ON_THE_SERVER
def test_circles_are_found_and_named_and_nothing_else(
    cluster: Cluster, jobs: str, written: dict[str, set[str] | None]
) -> None:
    """The rule agrees with Python's own judge of graphs, and names whoever would wait forever."""
    after = {role.name: {one.upstream for one in role.after} for role in TensorFlow.roles}
    edges = {role: after[role] if upstream is None else upstream for role, upstream in written.items()}
    edges = {role: (upstream & edges.keys()) - {role} for role, upstream in edges.items()}
    job = manifest()
    template = worker(job)["template"]
    job["spec"]["tfReplicaSpecs"] = {
        role: {"template": template} | ({} if upstream is None else {"dependsOn": _dependencies(edges[role])})
        for role, upstream in written.items()
    }
    if _is_acyclic(edges):
        cluster.api.create(f"{jobs}?{TRY}", job)
        return
    with pytest.raises(ApiError, match="dependsOn has a cycle") as refused:
        cluster.api.create(f"{jobs}?{TRY}", job)
    [named] = re.findall(r"cycle: ([\w, ]+), which would wait forever", str(refused.value))
    started: set[str] = set()
    while begin := {role for role, upstream in edges.items() if upstream <= started} - started:
        started |= begin
    assert named.split(", ") == [role for role in ROLES if role in edges.keys() - started]


@given(text=st.text(alphabet="0123459-", max_size=7) | st.tuples(CODES, CODES).map(lambda ends: f"{ends[0]}-{ends[1]}"))
@ON_THE_SERVER
def test_exit_codes_are_accepted_exactly_if_the_engine_can_read_them(cluster: Cluster, jobs: str, text: str) -> None:
    """What means nothing to one side must not pass the other."""
    job = manifest()
    retrying(text)(job)
    if exit_codes.read((text,)):
        cluster.api.create(f"{jobs}?{TRY}", job)
    else:
        with pytest.raises(ApiError, match="exit codes of failures are 1 to 255"):
            cluster.api.create(f"{jobs}?{TRY}", job)


def test_replicas_change_only_while_suspended(cluster: Cluster, quiet_jobs: str) -> None:
    """Also a role that comes or goes; suspending or resuming in the same write counts as suspended."""
    path = f"{quiet_jobs}/tf-mnist-estimator"
    cluster.api.create(quiet_jobs, _quiet(manifest()))

    def write(*changes: Change) -> None:
        job = cluster.api.get(path)
        both(*changes)(job)
        cluster.api.call("PUT", path, job)

    def suspended(value: bool) -> Change:
        return lambda job: job["spec"].update(suspend=value)

    for change in (lambda job: worker(job).update(replicas=4), with_role("Chief")):
        with pytest.raises(ApiError, match=r"spec\.tfReplicaSpecs: Forbidden: suspend the job to resize it"):
            write(change)
    write(lambda job: job["spec"].update(backoffLimit=3))
    write(suspended(True), lambda job: worker(job).update(replicas=4))
    write(with_role("Chief"))
    write(suspended(False), lambda job: job["spec"]["tfReplicaSpecs"].pop("Chief"))
    assert worker(cluster.api.get(path))["replicas"] == 4


def test_the_network_mode_changes_only_while_suspended(cluster: Cluster, quiet_jobs: str) -> None:
    """Pods on different networks would not find each other."""
    path = f"{quiet_jobs}/tf-mnist-estimator"
    cluster.api.create(quiet_jobs, _quiet(manifest()))

    def write(**spec: object) -> None:
        job = cluster.api.get(path)
        job["spec"].update(spec)
        cluster.api.call("PUT", path, job)

    for mode in ("Host", "Pod"):
        with pytest.raises(ApiError, match=r"spec\.networkMode: Forbidden: suspend the job to change its networkMode"):
            write(networkMode=mode)
    write(suspend=True, networkMode="Host")
    write(suspend=False)
    with pytest.raises(ApiError, match=r"suspend the job to change its networkMode"):
        write(networkMode="HostDirect")


def test_the_code_of_a_job_is_chosen_once(cluster: Cluster, quiet_jobs: str) -> None:
    """What is fetched stays; how it is fetched may change."""
    path = f"{quiet_jobs}/tf-mnist-estimator"
    job = _quiet(manifest())
    job["spec"]["codeSource"] = {"repository": "https://git.example.org/a.git", "branch": "main"}
    cluster.api.create(quiet_jobs, job)

    def write(change: Change) -> None:
        found = cluster.api.get(path)
        change(found)
        cluster.api.call("PUT", path, found)

    for change in (
        lambda job: job["spec"].pop("codeSource"),
        lambda job: job["spec"]["codeSource"].update(repository="https://git.example.org/b.git"),
        lambda job: job["spec"]["codeSource"].pop("branch"),
        lambda job: job["spec"]["codeSource"].update(revision="v1"),
    ):
        with pytest.raises(ApiError, match="Forbidden: immutable, so that all replicas run the same code"):
            write(change)
    write(lambda job: job["spec"]["codeSource"].update(image="git:2", maxFailures=9))
    assert cluster.api.get(path)["spec"]["codeSource"]["depth"] == 1


def test_who_runs_a_job_is_chosen_once(cluster: Cluster, quiet_jobs: str) -> None:
    path = f"{quiet_jobs}/tf-mnist-estimator"
    job = _quiet(manifest())
    job["spec"]["managedBy"] = "kueue.x-k8s.io/multikueue"
    cluster.api.create(quiet_jobs, job)
    for change in ({"managedBy": "training.kubedl.io/operator"}, {"managedBy": None}):
        found = cluster.api.get(path)
        found["spec"] = {name: value for name, value in (found["spec"] | change).items() if value is not None}
        with pytest.raises(ApiError, match="Forbidden: immutable: who runs a job is chosen when it is created"):
            cluster.api.call("PUT", path, found)


@given(status=values_of(msgspec.inspect.type_info(JobStatus)))
@ON_THE_SERVER
def test_every_status_that_we_write_is_kept_as_it_is(cluster: Cluster, quiet_jobs: str, status: JobStatus) -> None:
    """The API server neither refuses nor drops nor adds."""
    unique = {condition.type: condition for condition in status.conditions}
    status = msgspec.structs.replace(status, conditions=tuple(unique.values()))
    path = f"{quiet_jobs}/tf-mnist-estimator"
    made = cluster.api.get(path) if cluster.api.exists(path) else cluster.api.create(quiet_jobs, _quiet(manifest()))
    kept = cluster.api.call("PUT", f"{path}/status", made | {"status": codec.plain(status)})
    assert codec.decode(json.dumps(kept.get("status", {})), JobStatus) == status


class EightRolesSpec(JobSpec, frozen=True, kw_only=True):
    """The largest job that a kind may have."""

    specs: Annotated[dict[str, ReplicaSpec], Meta(max_length=8)]


class EightRolesJob(TrainingJob, frozen=True, kw_only=True):
    """A job of eight roles."""

    spec: EightRolesSpec


def test_rules_for_eight_roles_fit_the_servers_budget(cluster: Cluster) -> None:
    """The API server adds up what rules could cost at worst, and refuses a definition that could cost too much."""
    resource = Resource(EightRolesJob, "EightRolesJob", "eightrolesjobs", VERSION, "budget.kubedl.io")
    roles = [f"Role{number}" for number in range(8)]
    rules = job_rules("specs", roles, "main", order={role: roles[:number] for number, role in enumerate(roles)})
    definition = CustomResource(resource, columns=job_columns(), rules=rules).definition()
    cluster.api.create(f"{DEFINITIONS}?{TRY}", definition)


def _unserved(custom: CustomResource) -> CustomResource:
    """The same kind in a group of the tests."""
    return replace(custom, resource=replace(custom.resource, group=UNSERVED))


def _quiet(job: Object) -> Object:
    return job | {"apiVersion": f"{UNSERVED}/{VERSION}"}


def _is_served(cluster: Cluster, name: str) -> bool:
    """Whether a kind is found, and told of to who asks what there is: that comes a moment after it is established."""
    plural, _, group = name.partition(".")
    place = f"/apis/{group}/{VERSION}"
    if not is_true(cluster.api.get(f"{DEFINITIONS}/{name}"), "Established"):
        return False
    if not (cluster.api.exists(f"{place}/{plural}?limit=1") and cluster.api.exists(place)):
        return False
    return any(one["name"] == plural for one in cluster.api.get(place)["resources"])


def _contains(whole: object, part: object) -> bool:
    """Whether everything in `part` is in `whole`."""
    if isinstance(whole, dict) and isinstance(part, dict):
        return all(key in whole and _contains(whole[key], value) for key, value in part.items())
    if isinstance(whole, list) and isinstance(part, list):
        return len(whole) == len(part) and all(_contains(*pair) for pair in zip(whole, part, strict=True))
    return whole == part


def _dependencies(upstream: set[str]) -> list[Object]:
    return [{"upstream": role} for role in sorted(upstream)]


def _is_acyclic(edges: dict[str, set[str]]) -> bool:
    try:
        graphlib.TopologicalSorter(edges).prepare()
    except graphlib.CycleError:
        return False
    return True
