"""Code from a private git repository in a *restricted* namespace: one commit for all, however often it moves."""

from collections.abc import Callable
from functools import partial

import pytest

from harness.drivers.operator_process import Operator
from testbed.api import Object, is_true
from testbed.errors import TestbedError
from testbed.waiting import until
from tests.builders import PodBuilder, headless_service
from tests.certificates import self_signed
from tests.e2e.training.jobs import API_VERSION, MOUNTED_SCRIPTS, SCRIPTS_MAP, scripts
from tests.e2e.workspace import Workspace

SERVER, PORT = "git", 8080
USER, PASSWORD = "robot", "correct horse"
START = 240  # seconds: images are pulled on both nodes
# A fresh clone is committed to and pushed from; the file says which commit it is of, and then waits to be deleted.
PUSH = """
set -e
cd /srv/work 2>/dev/null || { git clone -q /srv/model.git /srv/work && cd /srv/work && git checkout -q -b main; }
printf 'import time\\nprint("code %s", flush=True)\\ntime.sleep(3600)\\n' "$1" >train.py
git add train.py && git commit -q -m "$1" && git push -q origin main && git rev-parse HEAD
"""


class Repository:
    """A git server in the namespace, with one private repository."""

    def __init__(self, workspace: Workspace, image: str) -> None:
        self._workspace = workspace
        workspace.create("configmaps", scripts())
        workspace.create("services", headless_service(SERVER))
        workspace.create("secrets", {"metadata": {"name": "tls"}, "stringData": {"server.pem": self_signed(SERVER)}})
        command = f"git init -q --bare -b main /srv/model.git && exec python3 {MOUNTED_SCRIPTS}/git_server.py"
        volumes = [{"name": "scripts", "configMap": {"name": SCRIPTS_MAP}}, {"name": "srv", "emptyDir": {}}]
        volumes.append({"name": "tls", "secret": {"secretName": "tls"}})
        mounts = [{"name": "scripts", "mountPath": MOUNTED_SCRIPTS}, {"name": "srv", "mountPath": "/srv"}]
        mounts.append({"name": "tls", "mountPath": "/tls"})
        names = {"GIT_AUTHOR_NAME": "a", "GIT_COMMITTER_NAME": "a", "HOME": "/srv"}
        names |= {"GIT_AUTHOR_EMAIL": "a@example.org", "GIT_COMMITTER_EMAIL": "a@example.org"}
        server = PodBuilder(SERVER, image, {"volumes": volumes}, {"volumeMounts": mounts}).environment(**names)
        known = f"/srv 0.0.0.0 {PORT} /tls/server.pem {USER} '{PASSWORD}'"
        workspace.start(server.running("sh", "-c", f"{command} {known}").named_in(SERVER))
        workspace.running(SERVER, deadline=START)

    @property
    def address(self) -> str:
        return f"https://{SERVER}.{SERVER}.{self._workspace.namespace}.svc:{PORT}/model.git"

    def push(self, words: str) -> str:
        """A commit whose program says these words; returns its number."""
        return self._workspace.execute(SERVER, "sh", "-c", PUSH, "push", words).strip()


@pytest.fixture
def repository(workspace: Workspace, operator: Operator, base_image: str) -> Repository:
    """Ready to be pushed to."""
    operator.insist()
    made = Repository(workspace, base_image)
    # `git init` may not be done when the container counts as running.
    until("the repository", partial(_answers, workspace), deadline=START)
    return made


@pytest.mark.parametrize("gang", ["none", "native"])
def test_every_replica_runs_the_commit_that_the_first_one_got(
    workspace: Workspace, repository: Repository, base_image: str, gang: str
) -> None:
    """Also one that replaces another after the branch has moved. In a gang, none is first: another pod gets it."""
    first = repository.push("one")
    submit(workspace, base_image, repository.address, PASSWORD, gang)
    until("both workers to say their code", said(workspace, "one"), deadline=START)
    assert job(workspace)["status"]["codeRevision"] == first
    assert repository.push("two") != first
    before = workspace.pod("trained-worker-1")["metadata"]["uid"]
    workspace.kubectl("delete", "pod", "trained-worker-1", "--wait=false")
    until("another worker", lambda: _uid(workspace, "trained-worker-1") not in (None, before), deadline=START)
    until("both workers to say their code", said(workspace, "one"), deadline=START)
    assert job(workspace)["status"]["codeRevision"] == first


def test_a_wrong_password_fails_the_job_with_gits_words(
    workspace: Workspace, repository: Repository, base_image: str
) -> None:
    """And no pod is tried for ever."""
    repository.push("one")
    submit(workspace, base_image, repository.address, "wrong")
    until("the job to fail", lambda: is_true(job(workspace), "Failed"), deadline=START)
    (failed,) = [one for one in job(workspace)["status"]["conditions"] if one["type"] == "Failed"]
    assert failed["reason"] == "CodeSyncFailed"
    assert "trained-worker-0 could not fetch the code" in failed["message"]
    assert "Authentication failed" in failed["message"]


def submit(workspace: Workspace, image: str, address: str, password: str, gang: str = "none") -> None:
    """A job of two workers that runs the repository's program, and the Secret that opens it."""
    secret = {"type": "kubernetes.io/basic-auth", "stringData": {"username": USER, "password": password}}
    workspace.create("secrets", {"metadata": {"name": "deploy"}, **secret})
    container = {"name": "tensorflow", "workingDir": "/tmp"}  # noqa: S108 - in the container
    template = PodBuilder("trained", image, container=container).running("python3", "model/train.py").build()
    source = {"repository": address, "branch": "main", "image": image, "secretName": "deploy", "maxFailures": 2}
    trusting = [{"name": "GIT_SSL_NO_VERIFY", "value": "1"}]
    role = {"replicas": 2, "template": {"spec": template["spec"]}}
    body = {
        "apiVersion": API_VERSION,
        "kind": "TFJob",
        "metadata": {"name": "trained"},
        "spec": {
            "codeSource": {**source, "env": trusting},
            "restartScope": "Replica",
            "schedulingPolicy": {"gangScheduler": gang},
            "tfReplicaSpecs": {"Worker": role},
        },
    }
    workspace.cluster.api.create(f"/apis/{API_VERSION}/namespaces/{workspace.namespace}/tfjobs", body)


def job(workspace: Workspace) -> Object:
    return workspace.cluster.api.get(f"/apis/{API_VERSION}/namespaces/{workspace.namespace}/tfjobs/trained")


def said(workspace: Workspace, words: str) -> Callable[[], bool]:
    """Whether both workers run and have said these words; if the job fails instead, that is an error at once."""

    def both() -> bool:
        assert not is_true(job(workspace), "Failed"), job(workspace)["status"]
        names = ("trained-worker-0", "trained-worker-1")
        phases = [_phase(workspace, name) for name in names]
        return phases == ["Running", "Running"] and all(f"code {words}" in workspace.heard(name) for name in names)

    return both


def _phase(workspace: Workspace, name: str) -> str | None:
    found = _find(workspace, name)
    return found["status"].get("phase") if found is not None else None


def _uid(workspace: Workspace, name: str) -> str | None:
    found = _find(workspace, name)
    return found["metadata"]["uid"] if found is not None else None


def _find(workspace: Workspace, name: str) -> Object | None:
    path = f"/api/v1/namespaces/{workspace.namespace}/pods?fieldSelector=metadata.name={name}"
    return next(iter(workspace.cluster.api.list(path)), None)


def _answers(workspace: Workspace) -> bool:
    """Whether there is a repository, after which it is served: any answer will do."""
    try:
        workspace.execute(SERVER, "curl", "-sk", "-o", "/dev/null", f"https://127.0.0.1:{PORT}/")
    except TestbedError:
        return False
    return True
