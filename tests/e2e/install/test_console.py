"""The console as the chart installs it: its pages, a sign-in with a token, and the jobs that this person may list."""

import http.client
import json
from collections.abc import Iterator
from typing import Any

import pytest

from harness.drivers.console_process import token_of
from harness.drivers.installation import NAMESPACE, Installation, installed
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

    def __init__(self, host: str) -> None:
        self._host, self._cookie = host, ""

    def ask(self, method: str, path: str, body: object = None) -> tuple[int, dict[str, str], bytes]:
        """Return status, headers and body of an answer."""
        connection = http.client.HTTPConnection(self._host, timeout=30)
        headers = {"Cookie": self._cookie, "Origin": f"http://{self._host}", MARK: "1"}
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

        def ready() -> list[Object]:
            return [pod for pod in cluster.api.list(PODS) if is_true(pod, "Ready")]

        [pod] = until("the console to be ready", ready, deadline=60)
        yield installation, f"{pod['status']['podIP']}:8000"


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
