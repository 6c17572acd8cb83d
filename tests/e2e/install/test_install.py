"""From nothing to a job that ran, for the cluster and for one namespace."""

import json
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from functools import partial

import pytest

from harness.drivers.installation import CLUSTER_ROLES, NAMESPACE, OPERATOR, RESTRICTED, Installation, installed
from testbed import namespaces
from testbed.api import Object, is_true
from testbed.cluster import Cluster
from testbed.errors import TestbedError
from testbed.waiting import until
from tests.e2e.install.jobs import Team, job

MINUTE = timedelta(minutes=1)
MOST_WARNINGS = 3


def test_helm_installs_what_works(installation: Installation, record_property: Callable[[str, object], None]) -> None:
    """Ready within a minute, in a namespace that enforces *restricted*; a job runs from its beginning to its end.

    An operator's log of its first minute has three warnings at most. The image has all that the recorder imports.
    """
    record_property("seconds", installation.seconds)
    pods = installation.pods()
    assert len([pod for pod in pods if is_true(pod, "Ready")]) == 2
    assert len({pod["spec"]["nodeName"] for pod in pods}) == 2
    assert "Succeeded" in installation.test()
    labels = installation.cluster.api.get(f"/api/v1/namespaces/{NAMESPACE}")["metadata"]["labels"]
    assert RESTRICTED.items() <= labels.items()
    recorder = "python3", "-m", "kubedl.entrypoints.command", "recorder", "run", "--help"
    place = f"--namespace={NAMESPACE}", "exec", pods[0]["metadata"]["name"], "--"
    assert "--database-file" in installation.cluster.kubectl(*place, *recorder)
    warned = [_warnings(installation, pod) for pod in pods]
    record_property("warnings", max(map(len, warned)))
    assert all(len(some) <= MOST_WARNINGS for some in warned), warned


def _warnings(installation: Installation, pod: Object) -> list[Object]:
    """What an operator warned of in its first minute, which is waited for."""

    def first_minute() -> list[Object]:
        lines = [line for line in installation.log(pod).splitlines() if line.startswith("{")]
        entries: list[Object] = [json.loads(line) for line in lines]
        over = datetime.fromisoformat(entries[0]["timestamp"]) + MINUTE
        if datetime.now(UTC) < over:
            raise TimeoutError(f"its first minute ends at {over}")
        return [entry for entry in entries if datetime.fromisoformat(entry["timestamp"]) < over]

    said = until("an operator's first minute to be over", first_minute, deadline=120, interval=1)
    return [entry for entry in said if entry["level"] in {"warning", "error", "critical"}]


def test_the_operator_says_what_it_found(installation: Installation) -> None:
    """In one table, in the log of each."""
    version = installation.cluster.api.get("/version")["gitVersion"]
    for pod in installation.pods():
        said = until("its table", partial(_table, installation, pod), deadline=90)
        [line] = [line for line in said.splitlines() if line.startswith("Kubernetes ")]
        assert line.split()[1:] == ["on", version]
        assert [line.split()[2] for line in said.splitlines() if line.startswith("image volumes")] == ["on"]
        assert said.count("what  ") == 1


def _table(installation: Installation, pod: Object) -> str:
    """An operator's log, when the table is whole: it is not waited for, and where no answer came it is looked again."""
    said = installation.log(pod)
    return said if "\nmetrics " in said else ""


def test_the_operator_cannot_write_to_its_own_files(installation: Installation) -> None:
    """Nor is it root."""
    [pod, _] = installation.pods()
    name = f"--namespace={NAMESPACE}", "exec", pod["metadata"]["name"], "--"
    assert installation.cluster.kubectl(*name, "id", "-u").strip() == "65532"
    with pytest.raises(TestbedError, match="Read-only file system"):
        installation.cluster.kubectl(*name, "touch", "/tmp/file")  # noqa: S108 not a secret


def test_one_namespace_needs_roles_only(cluster: Cluster, base_image: str) -> None:
    """There is no ClusterRole, what the operator may not do is refused, and jobs elsewhere are nobody's."""
    with (
        namespaces.fresh(cluster.api, "team", RESTRICTED) as served,
        namespaces.fresh(cluster.api, "team", RESTRICTED) as other,
        installed(cluster, {"namespace": served}) as installation,
    ):
        names = {one["metadata"]["name"] for one in cluster.api.list(CLUSTER_ROLES)}
        bound = cluster.api.list("/apis/rbac.authorization.k8s.io/v1/clusterrolebindings")
        assert OPERATOR not in names
        assert not [one for one in bound if _binds(one, OPERATOR)]
        teams = Team(cluster, served), Team(cluster, other)
        for team in teams:
            team.create(job("tiny", base_image, "true"))
        teams[0].until_states({"Succeeded": 1}, deadline=120)
        assert teams[1].states() == {"New": 1}
        assert "Succeeded" in installation.test()
        for verb, what, place in (("list", "nodes", served), ("list", "pods", other), ("get", "secrets", served)):
            assert not _may(cluster, verb, what, place)


def _binds(binding: Object, account: str) -> bool:
    subjects = binding.get("subjects") or ()
    return any((one["kind"], one["name"]) == ("ServiceAccount", account) for one in subjects)


def _may(cluster: Cluster, verb: str, resource: str, namespace: str) -> bool:
    review = {
        "apiVersion": "authorization.k8s.io/v1",
        "kind": "SubjectAccessReview",
        "spec": {
            "user": f"system:serviceaccount:{NAMESPACE}:{OPERATOR}",
            "resourceAttributes": {"verb": verb, "resource": resource, "namespace": namespace},
        },
    }
    allowed: bool = cluster.api.create("/apis/authorization.k8s.io/v1/subjectaccessreviews", review)["status"][
        "allowed"
    ]
    return allowed
