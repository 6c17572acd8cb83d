"""The command line with the rights that the built-in roles have after the chart is installed, and no others."""

from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path

import pytest
import yaml

from harness.drivers import command_line
from kubedl.entrypoints.manifests import custom_resources
from kubedl.schema.rbac import user_roles
from testbed.cluster import Cluster
from testbed.errors import TestbedError
from testbed.waiting import until
from tests.cluster.slot_jobs import SlotJobs
from tests.cluster.test_cli import SIMULATED, Run, jobs  # noqa: F401 - a fixture

RBAC = "/apis/rbac.authorization.k8s.io/v1"
KIND = "training.kubedl.io"
NEEDED = {"view": "list", "edit": "create"}


@pytest.fixture
def as_user(control_plane: Cluster, namespace: str, tmp_path: Path) -> Iterator[Callable[[str], Run]]:
    """Runs `kubedl …` as a user who has one of the built-in roles in the namespace."""
    roles = [one for one in yaml.safe_load_all(user_roles(custom_resources())) if one]
    for role in roles:
        control_plane.api.create(f"{RBAC}/clusterroles", role)
    try:
        for name in ("view", "edit"):
            until(f"{name} to know KubeDL", partial(_knows, control_plane, name), deadline=60)
            subject = {"kind": "User", "name": name, "apiGroup": "rbac.authorization.k8s.io"}
            reference = {"kind": "ClusterRole", "name": name, "apiGroup": "rbac.authorization.k8s.io"}
            body = {"metadata": {"name": name}, "subjects": [subject], "roleRef": reference}
            control_plane.api.create(f"{RBAC}/namespaces/{namespace}/rolebindings", body)
            until(f"{name} to have the role", partial(_may, control_plane, namespace, name), deadline=60)

        def made(user: str) -> Run:
            def run(*words: str) -> command_line.Done:
                return command_line.kubedl(control_plane, namespace, tmp_path, "--as", user, *words)

            return run

        yield made
    finally:
        for role in roles:
            control_plane.api.delete(f"{RBAC}/clusterroles/{role['metadata']['name']}")


def _knows(cluster: Cluster, name: str) -> bool:
    try:
        rules = cluster.api.get(f"{RBAC}/clusterroles/{name}").get("rules") or []
    except TestbedError:
        return False
    return any(KIND in (rule.get("apiGroups") or ()) for rule in rules)


def _may(cluster: Cluster, namespace: str, name: str) -> bool:
    """Whether the API server grants what the role is for: it learns of a binding a moment after it is made."""
    wanted = {"namespace": namespace, "group": KIND, "resource": "pytorchjobs", "verb": NEEDED[name]}
    review = {"apiVersion": "authorization.k8s.io/v1", "kind": "SubjectAccessReview"}
    spec = {"user": name, "resourceAttributes": wanted}
    answer = cluster.api.create("/apis/authorization.k8s.io/v1/subjectaccessreviews", {**review, "spec": spec})
    return bool(answer["status"]["allowed"])


READING: tuple[tuple[str, ...], ...] = (
    ("list",),
    ("list", "-o", "json"),
    ("get", "bert"),
    ("events", "bert"),
    ("why", "bert"),
    ("top", "job", "bert"),
    ("model", "list"),
    ("serve", "list"),
    ("cron", "list"),
    ("logs", "bert", "--tail", "1"),
)
BASE = ("--image", "none", *SIMULATED, "--workers", "2")
WRITING: tuple[tuple[str, ...], ...] = (
    ("suspend", "bert"),
    ("scale", "bert", "--workers", "1", "-y"),
    ("resume", "bert"),
    ("cron", "create", "nightly", "--schedule", "0 3 * * *", "--", "submit", "pytorch", *BASE[:2]),
    ("cron", "suspend", "nightly"),
    ("cron", "delete", "nightly"),
    ("delete", "bert"),
)


def test_the_built_in_roles_are_enough(jobs: SlotJobs, as_user: Callable[[str], Run]) -> None:  # noqa: F811
    """`view` for what reads, `edit` for what changes; `doctor` says the same, and `view` may change nothing."""
    editor, viewer = as_user("edit"), as_user("view")
    made = editor("submit", "pytorch", "--name", "bert", *BASE, "--", "sleep", "9")
    assert made.returncode == 0, made.stderr
    assert editor("wait", "bert", "--for", "running", "--timeout", "180").returncode == 0
    assert jobs.status("bert")["state"] == "Running"
    for run in (viewer, editor):
        for words in READING:
            done = run(*words)
            # A simulated node has no logs. `why` reads objects of Kueue, whose rights come with Kueue, if it may.
            if words[0] == "logs":
                assert "forbidden" not in done.stderr, done.stderr
            else:
                assert (words, done.returncode in (0, 3), "error:" in done.stderr) == (words, True, False), done.stderr
    refused = viewer("submit", "pytorch", "--name", "other", *BASE)
    assert (refused.returncode, 'User "view" cannot create' in refused.stderr) == (1, True)
    assert "you may not create pytorchjobs (submit)" in viewer("doctor").stdout
    assert "you may submit, follow and delete jobs" in editor("doctor").stdout
    for words in WRITING:
        done = editor(*words)
        assert done.returncode == 0, f"{words}: {done.stderr}"
