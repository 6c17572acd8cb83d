"""What the cluster is given follows from the code, and no process gets more than it must have."""

import io
from contextlib import redirect_stdout

import pytest
import yaml

from kubedl.entrypoints import manifests, operator, smoke_test
from kubedl.entrypoints.manifests import chart_files, custom_resources
from kubedl.schema.grants import EFS, of_feature, outside, own, served

PROCESSES = [
    "rbac/operator-efs.yaml",
    "rbac/operator.yaml",
    "rbac/operator-outside.yaml",
    "rbac/operator-own.yaml",
    "rbac/recorder.yaml",
    "rbac/recorder-outside.yaml",
    "rbac/recorder-own.yaml",
    "rbac/smoke-test.yaml",
]


@pytest.fixture(scope="module")
def files() -> dict[str, str]:
    return chart_files()


@pytest.mark.parametrize("name", PROCESSES)
def test_no_process_may_what_nobody_should(files: dict[str, str], name: str) -> None:
    """No wildcards, no reading of Secrets, no way into pods, no way to more rights."""
    for rule in yaml.safe_load(files[name]):
        words = {*rule["apiGroups"], *rule["resources"], *rule["verbs"]}
        assert "*" not in words
        assert not words & {"escalate", "bind", "impersonate"}
        assert not {
            one for one in rule["resources"] if one.split("/")[-1] in {"exec", "attach", "proxy", "portforward"}
        }
        assert "rbac.authorization.k8s.io" not in rule["apiGroups"]
        if "secrets" in rule["resources"]:
            assert set(rule["verbs"]) <= {"create"}


def test_every_right_has_its_reason_in_the_file(files: dict[str, str]) -> None:
    for name in PROCESSES:
        lines = files[name].splitlines()
        rules = [number for number, line in enumerate(lines) if line.startswith("- apiGroups")]
        assert all(lines[number - 1].startswith("# ") for number in rules)


def test_with_roles_alone_only_what_is_in_no_namespace_is_missing() -> None:
    assert {resource for grant in outside(operator.GRANTS) for resource in grant.resources} == {
        "clusterqueues",
        "nodes",
        "priorityclasses",
        "resourceflavors",
        "workloadpriorityclasses",
    }
    parts = (served(operator.GRANTS), outside(operator.GRANTS), own(operator.GRANTS), of_feature(operator.GRANTS, EFS))
    assert sum(map(len, parts)) == len(operator.GRANTS)


def test_volumes_are_for_whoever_allows_aws_efs() -> None:
    """An operator that may not make any has no right to."""
    for part in (served(operator.GRANTS), outside(operator.GRANTS), own(operator.GRANTS)):
        assert not [grant for grant in part if "persistentvolumes" in grant.resources]
    granted = {resource for grant in of_feature(operator.GRANTS, EFS) for resource in grant.resources}
    assert granted == {"persistentvolumes", "persistentvolumeclaims"}


def test_only_the_lease_of_the_operator_is_its_own() -> None:
    """In its own namespace, and nothing else there that it does not serve."""
    assert {(grant.resources, grant.names) for grant in own(operator.GRANTS) if grant.verbs != ("create",)} == {
        (("leases",), (operator.LEASE,))
    }
    assert not [grant for grant in served(operator.GRANTS) if grant.group == "coordination.k8s.io"]


def test_definitions_are_kept_when_the_chart_goes(files: dict[str, str]) -> None:
    """With a definition every object of its kind would go."""
    for custom in custom_resources():
        [definition] = yaml.load_all(files[f"crds/{custom.resource.name}.yaml"], Loader=yaml.CSafeLoader)
        assert definition["metadata"]["annotations"] == {"helm.sh/resource-policy": "keep"}


def test_printed_for_kubectl_they_are_whole_objects() -> None:
    """For whoever brings a kind of his own and has no chart."""
    with redirect_stdout(io.StringIO()) as printed:
        manifests.main()
    documents = yaml.load_all(printed.getvalue(), Loader=yaml.CSafeLoader)
    found = [(one["kind"], one["metadata"]["name"]) for one in documents if one]
    assert found[-4:] == [
        ("ClusterRole", "kubedl-operator"),
        ("Role", "kubedl-operator"),
        ("ClusterRole", "kubedl-view"),
        ("ClusterRole", "kubedl-edit"),
    ]
    assert len(found) == len(custom_resources()) + 4


def test_the_trial_s_job_is_as_restricted_wants_it() -> None:
    body = smoke_test.job("try", "image", ["regcred"], 60)
    template = body["spec"]["pytorchReplicaSpecs"]["Master"]["template"]["spec"]
    [container] = template["containers"]
    assert template["imagePullSecrets"] == [{"name": "regcred"}]
    assert container["securityContext"]["runAsNonRoot"] is True
    assert container["securityContext"]["capabilities"] == {"drop": ["ALL"]}
    assert container["name"] == smoke_test.KIND.container
    assert container["securityContext"]["runAsUser"] == 65532
    left = smoke_test.job("try", "image", [], 60, omit_user=True)["spec"]["pytorchReplicaSpecs"]["Master"]["template"][
        "spec"
    ]
    assert "runAsUser" not in left["containers"][0]["securityContext"]
