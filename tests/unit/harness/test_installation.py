"""What an installation waits for, and what it needs to pack the first chart."""

import subprocess
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast
from unittest.mock import MagicMock

import pytest

from harness.drivers.helm import CHART
from harness.drivers.installation import (
    CLUSTER_ROLES,
    DEFINITIONS,
    REPLICAS,
    Installation,
    first_commit,
    remove_foreign,
)
from testbed.api import Object
from testbed.errors import TestbedError

if TYPE_CHECKING:
    from testbed.cluster import Cluster


class PlayedApi:
    """Some objects by path; one that says why it stays is not deleted."""

    def __init__(self, objects: dict[str, Object]) -> None:
        self.objects, self.deleted = objects, list[str]()

    def get(self, path: str) -> Object:
        return self.objects[path]

    def exists(self, path: str) -> bool:
        return path in self.objects

    def list(self, path: str) -> list[Object]:
        collection = path.partition("?")[0]
        return [one for at, one in self.objects.items() if at.rpartition("/")[0] == collection]

    def delete(self, path: str) -> None:
        self.deleted.append(path.rpartition("/")[2])
        if "status" not in self.objects[path]:
            del self.objects[path]


def installed(ready: list[str], lease: str, values: dict[str, Any] | None = None) -> Installation:
    """With pods, each ready ("True") or not, the first of which holds this Lease."""
    there = {
        f"/api/v1/namespaces/kubedl-system/pods/pod-{number}": {
            "metadata": {"name": f"pod-{number}"},
            "status": {"conditions": [{"type": "Ready", "status": word}]},
        }
        for number, word in enumerate(ready)
    }
    there[f"/apis/coordination.k8s.io/v1/namespaces/{lease}"] = {"spec": {"holderIdentity": "pod-0_x"}}
    return Installation(cast("Cluster", MagicMock(api=PlayedApi(there))), MagicMock(), values or {})


OWN = "kubedl-system/leases/kubedl-operator"


def test_a_leader_with_another_ready_beside_it_is_waited_for() -> None:
    assert installed(["True", "True"], OWN).until_led(deadline=0)["metadata"]["name"] == "pod-0"


@pytest.mark.parametrize("ready", [["True"], ["True", "False"]])
def test_a_leader_alone_is_not_enough(ready: list[str]) -> None:
    """Where two are wanted: its fall would measure how long the other takes to start."""
    with pytest.raises(TestbedError, match="pod-0_x holds the Lease, 1 of 2 are ready"):
        installed(ready, OWN).until_led(deadline=0)


def test_how_many_are_wanted_is_said_by_the_values() -> None:
    assert installed(["True"], OWN, {"replicas": 1}).until_led(deadline=0)


@pytest.mark.parametrize("lease", ["team/leases/kubedl-operator", "kubedl-system/leases/kubedl-operator-team"])
def test_who_serves_one_namespace_has_a_lease_for_it(lease: str) -> None:
    assert installed(["True"], lease, {"namespace": "team"}).holder() == "pod-0_x"


def written(collection: str, name: str, *managers: str) -> tuple[str, Object]:
    fields: list[Object] = [{"manager": manager} for manager in managers]
    fields.append({"manager": "kube-apiserver", "subresource": "status"})
    return f"{collection}/{name}", {"metadata": {"name": name, "managedFields": fields}}


def test_what_helm_did_not_bring_is_taken_away() -> None:
    """And nothing else."""
    ours, theirs = "training.kubedl.io", "example.com"
    there = dict(
        [
            written(DEFINITIONS, f"a.{ours}", "helm"),
            written(DEFINITIONS, f"b.{ours}", "kubectl", "helm"),
            written(DEFINITIONS, f"c.{theirs}", "kubectl"),
            written(CLUSTER_ROLES, "kubedl-edit", "kubectl"),
            written(CLUSTER_ROLES, "kubedl-view", "helm"),
            written(CLUSTER_ROLES, "kubedl-by-rights", "python"),
        ]
    )
    api = PlayedApi(there)
    remove_foreign(cast("Cluster", MagicMock(api=api)))
    assert api.deleted == [f"b.{ours}", "kubedl-edit"]


def test_a_definition_that_stays_is_told_with_its_reason() -> None:
    """Some test left an object that nobody can delete."""
    path, held = written(DEFINITIONS, "tfjobs.training.kubedl.io", "kubectl")
    held["status"] = {"conditions": [{"type": "Terminating", "message": "could not confirm zero CustomResources"}]}
    with pytest.raises(TestbedError, match=r"tfjobs\.training\.kubedl\.io: could not confirm zero CustomResources"):
        remove_foreign(cast("Cluster", MagicMock(api=PlayedApi({path: held}))), deadline=0)


@pytest.fixture
def history(tmp_path: Path) -> Path:
    """A repository whose second commit brings a chart, which its third changes."""
    root = tmp_path / "whole"
    root.mkdir()
    git(root, "init", "--quiet")
    for name in ("README.md", "deploy/chart/Chart.yaml", "deploy/chart/Chart.yaml"):
        file = root / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(f"{file.read_text() if file.exists() else ''}more\n")
        git(root, "add", ".")
        git(root, "-c", "user.name=me", "-c", "user.email=me@example.com", "commit", "--quiet", "--message=more")
    return root


def test_the_first_chart_is_the_one_of_the_first_commit_that_has_one(history: Path) -> None:
    assert first_commit(history) == git(history, "rev-parse", "HEAD~1")


def test_without_history_there_is_no_first_chart(history: Path, tmp_path: Path) -> None:
    """Which is said, instead of an upgrade from a chart to itself."""
    git(tmp_path, "clone", "--quiet", "--depth=1", f"file://{history}", "shallow")
    with pytest.raises(TestbedError, match="shallow clone: run `git fetch --unshallow`"):
        first_commit(tmp_path / "shallow")
    (tmp_path / "none").mkdir()
    with pytest.raises(TestbedError, match="is no clone"):
        first_commit(tmp_path / "none")
    git(history, "checkout", "--quiet", "HEAD~2")
    with pytest.raises(TestbedError, match="no commit of"):
        first_commit(history)


def git(root: Path, *arguments: str) -> str:
    return subprocess.run(["git", *arguments], cwd=root, capture_output=True, text=True, check=True).stdout.strip()


def test_the_defaults_agree_with_the_chart() -> None:
    assert f"\nreplicas: {REPLICAS}\n" in (CHART / "values.yaml").read_text()
