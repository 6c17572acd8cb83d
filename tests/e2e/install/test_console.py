"""The console as the chart installs it: its pages, a sign-in with a token, and the jobs that this person may list."""

import http.client
import json
import time
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from harness.drivers.console_process import token_of
from harness.drivers.installation import NAMESPACE, RELEASE, Installation, installed
from kubedl.console.safety import MARK
from testbed import namespaces
from testbed.api import Object, is_true
from testbed.cluster import Cluster
from testbed.waiting import until
from tests.e2e.install.jobs import Team, job

PODS = f"/api/v1/namespaces/{NAMESPACE}/pods?labelSelector=app.kubernetes.io/component=console"
LIST_JOBS = {"apiGroups": ["training.kubedl.io"], "resources": ["pytorchjobs"], "verbs": ["list"]}


class Browser:
    """As much of one as a sign-in needs: it keeps the cookie, and says where its page is from."""

    def __init__(self, host: str, bearer: str = "") -> None:
        """`bearer` is what a proxy in front adds."""
        self._host, self._cookie = host, ""
        self._own = {"Authorization": f"Bearer {bearer}"} if bearer else {}

    def ask(self, method: str, path: str, body: object = None) -> tuple[int, dict[str, str], bytes]:
        """Return status, headers and body of an answer."""
        connection = http.client.HTTPConnection(self._host, timeout=30)
        headers = {"Cookie": self._cookie, "Origin": f"http://{self._host}", MARK: "1", **self._own}
        try:
            connection.request(method, path, None if body is None else json.dumps(body), headers)
            answer = connection.getresponse()
            given = {name.lower(): value for name, value in answer.getheaders()}
            self._cookie = given.get("set-cookie", self._cookie).partition(";")[0]
            return answer.status, given, answer.read()
        finally:
            connection.close()

    def jobs(self) -> list[str]:
        """Names of the jobs on the list."""
        status, _, body = self.ask("GET", "/api/v1/jobs")
        assert status == 200, body
        answer: dict[str, Any] = json.loads(body)
        return [row["name"] for row in answer["rows"]]


@pytest.fixture
def console(cluster: Cluster) -> Iterator[tuple[Installation, str]]:
    """An installation with a console, and the address of its pod."""
    with installed(cluster, {"console": {"create": True, "cluster": "bed"}, "replicas": 1}) as installation:
        yield installation, host_of(cluster)


def host_of(cluster: Cluster) -> str:
    """The address of the console's only pod, which is ready."""

    def ready() -> list[Object]:
        pods = cluster.api.list(PODS)
        return pods if len(pods) == 1 and is_true(pods[0], "Ready") else []

    [pod] = until("the console to be ready", ready, deadline=60)
    return f"{pod['status']['podIP']}:8000"


def test_people_see_their_jobs(console: tuple[Installation, str], base_image: str) -> None:
    """In the image's own pages, from a restricted namespace, each person with the rights of the own token."""
    installation, host = console
    cluster = installation.cluster
    status, headers, page = Browser(host).ask("GET", "/")
    assert status == 200, page
    assert b"/assets/index-" in page
    assert "script-src 'self'" in headers["content-security-policy"]
    with namespaces.fresh(cluster.api, "team") as ours, namespaces.fresh(cluster.api, "other") as theirs:
        Team(cluster, ours).create(job("mine", base_image, "true"))
        Team(cluster, theirs).create(job("hidden", base_image, "true"))
        ada = Browser(host)
        assert ada.ask("GET", "/api/v1/jobs")[0] == 401
        assert ada.ask("POST", "/api/v1/session", {"token": "not-a-token"})[0] == 401
        assert ada.ask("POST", "/api/v1/session", {"token": token_of(cluster, ours, "ada", LIST_JOBS)})[0] == 204
        until("the job to be on the list", lambda: ada.jobs() == ["mine"], deadline=30)


def test_from_console_create_to_an_overview(cluster: Cluster, record_property: Callable[[str, object], None]) -> None:
    """In both modes of the chart, without database and Prometheus, which it says; the second one below a path."""
    with installed(cluster, {"replicas": 1}) as installation, namespaces.fresh(cluster.api, "team") as team:
        token = token_of(cluster, team, "ada", LIST_JOBS)
        for mode, path in (("token", ""), ("proxy", "/ml/kubedl")):
            began = time.monotonic()
            settings = {"console": {"create": True, "mode": mode, "path": path}}
            installation.helm.upgrade(RELEASE, NAMESPACE, settings)
            ada = Browser(host_of(cluster), token if mode == "proxy" else "")
            if mode == "token":
                assert ada.ask("POST", f"{path}/api/v1/session", {"token": token})[0] == 204
            status, _, page = ada.ask("GET", f"{path}/")
            assert (status, f'"{path}/assets/index-'.encode() in page) == (200, True)
            # What the Overview is made of: jobs, and what is free, for which this person has no right.
            answers = [ada.ask("GET", f"{path}/api/v1/{one}") for one in ("session", "jobs", "capacity")]
            assert [one[0] for one in answers] == [200, 200, 403]
            assert json.loads(answers[0][2])["user"].endswith(":ada")
            record_property(f"seconds with {mode}", round(time.monotonic() - began, 1))
            assert not json.loads(ada.ask("GET", f"{path}/api/v1/cost")[2])["installed"]
            assert "no Prometheus" in json.loads(ada.ask("GET", f"{path}/api/v1/service-metrics")[2])["problem"]
