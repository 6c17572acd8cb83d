"""Jobs that people submit: judged and created by the API server, as the person who submits them."""

import json
from collections.abc import AsyncIterator, Iterator

import pytest
from aiohttp import ClientResponse, web
from aiohttp.test_utils import TestClient, TestServer

from kubedl.console.access import ProxyAccess
from kubedl.console.safety import MARK
from kubedl.console.submit_routes import SUBMISSIONS
from kubedl.kube.credentials import Credentials
from tests.unit.client.api_server import ApiServer, serving
from tests.unit.console.test_manifests import JOB
from tests.unit.console.world import World

Browser = TestClient[web.Request, web.Application]
JOBS = "/apis/training.kubedl.io/v1alpha1/namespaces/nlp/pytorchjobs"
SERVICES = "/apis/serving.kubedl.io/v1alpha1/namespaces/nlp/inferences"
SERVICE = """
apiVersion: serving.kubedl.io/v1alpha1
kind: Inference
metadata: {name: chat, namespace: nlp}
spec: {framework: Custom, predictors: [{name: main, modelVersion: v1}]}
"""
INVALID = {
    "kind": "Status",
    "code": 422,
    "reason": "Invalid",
    "message": "PyTorchJob is invalid",
    "details": {"causes": [{"field": "spec.pytorchReplicaSpecs.Worker.replicas", "message": "should be at least 0"}]},
}
DENIED = {"kind": "Status", "code": 403, "reason": "Forbidden", "message": 'User "ben" cannot create "pytorchjobs"'}


@pytest.fixture
def api() -> Iterator[ApiServer]:
    """An API server without jobs."""
    with serving(ApiServer()) as served:
        yield served


@pytest.fixture
async def browser(world: World, api: ApiServer) -> AsyncIterator[Browser]:
    """A browser behind a proxy that signs people in."""
    access = ProxyAccess(world.reviews, Credentials(api.url, None))
    async with TestClient(TestServer(world.console(access).application())) as client:
        yield client


async def send(browser: Browser, path: str, text: str = JOB, who: str = "ada", **headers: str) -> ClientResponse:
    """Send a text, as the page does."""
    sent = {"Authorization": f"Bearer token-of-{who}", MARK: "1", **headers}
    return await browser.post(f"/api/v1/{path}", json={"text": text}, headers=sent)


async def test_a_job_is_created_as_the_person(browser: Browser, api: ApiServer) -> None:
    """Unknown fields are refused by the API server, not dropped."""
    answer = await send(browser, "submit")
    assert (answer.status, await answer.json()) == (200, {"namespace": "nlp", "kind": "PyTorchJob", "name": "bert"})
    assert f"{JOBS}/bert" in api.objects
    (call,) = api.calls
    assert (call.headers["Authorization"], call.query) == ("Bearer token-of-ada", {"fieldValidation": "Strict"})


async def test_a_check_creates_nothing(browser: Browser, api: ApiServer) -> None:
    """The API server judges the whole object, with quotas and policies."""
    assert (await send(browser, "submit/check")).status == 200
    assert api.calls[0].query == {"dryRun": "All", "fieldValidation": "Strict"}
    assert api.objects == {}


async def test_a_service_is_created_as_the_person(browser: Browser, api: ApiServer) -> None:
    """A check creates nothing of it, either; both let the API server refuse unknown fields."""
    assert (await send(browser, "submit/check", SERVICE)).status == 200
    assert api.objects == {}
    answer = await send(browser, "submit", SERVICE)
    assert (answer.status, await answer.json()) == (200, {"namespace": "nlp", "kind": "Inference", "name": "chat"})
    assert f"{SERVICES}/chat" in api.objects
    assert [call.query for call in api.calls] == [
        {"dryRun": "All", "fieldValidation": "Strict"},
        {"fieldValidation": "Strict"},
    ]
    assert {call.headers["Authorization"] for call in api.calls} == {"Bearer token-of-ada"}


async def test_a_text_is_read_without_the_api_server(browser: Browser, api: ApiServer) -> None:
    """For the form beside it."""
    answer = await (await send(browser, "submit/read", "a: {b: [1]}")).json()
    assert json.loads(answer["json"]) == {"a": {"b": [1]}}
    refused = await send(browser, "submit/read", "a: [")
    assert (refused.status, (await refused.json())["fields"][0]["field"]) == (422, "line 2")
    assert api.calls == []


@pytest.mark.parametrize("path", ["submit", "submit/check"])
async def test_the_words_of_the_api_server_come_by_field(browser: Browser, api: ApiServer, path: str) -> None:
    """So that the page can say them beside it."""
    api.refusals = {f"POST {JOBS}": (422, INVALID)}
    answer = await send(browser, path)
    assert answer.status == 422
    field = {"field": "spec.pytorchReplicaSpecs.Worker.replicas", "message": "should be at least 0"}
    assert (await answer.json())["fields"] == [field]


@pytest.mark.parametrize("path", ["submit", "submit/check"])
async def test_another_tenant_creates_nothing(browser: Browser, api: ApiServer, path: str) -> None:
    """The API server refuses it, in its own words."""
    api.refusals = {f"POST {JOBS}": (403, DENIED)}
    answer = await send(browser, path, who="ben")
    assert (answer.status, (await answer.json())["why"]) == (403, DENIED["message"])
    assert {call.headers["Authorization"] for call in api.calls} == {"Bearer token-of-ben"}


async def test_a_name_that_is_taken_is_said(browser: Browser, api: ApiServer) -> None:
    """With the state of the job that has it."""
    api.job("bert", namespace="nlp", status={"state": "Running"})
    answer = await send(browser, "submit")
    assert (answer.status, (await answer.json())["what"]) == (409, "bert is taken: PyTorchJob in nlp, Running")


@pytest.mark.parametrize("path", SUBMISSIONS)
@pytest.mark.parametrize("who", ["", "nobody"])
async def test_nobody_submits_nothing(browser: Browser, api: ApiServer, path: str, who: str) -> None:
    """Not even a text is read for them."""
    assert (await send(browser, path, who=who)).status == 401
    assert api.calls == []


@pytest.mark.parametrize("path", SUBMISSIONS)
@pytest.mark.parametrize("headers", [{MARK: "0"}, {"Origin": "https://evil.example"}, {"Sec-Fetch-Site": "cross-site"}])
async def test_another_site_submits_nothing(
    browser: Browser, api: ApiServer, path: str, headers: dict[str, str]
) -> None:
    """Although the browser would send the person's proof with its request."""
    assert (await send(browser, path, **headers)).status == 403
    assert api.calls == []


@pytest.mark.parametrize("path", SUBMISSIONS)
async def test_a_long_text_is_refused(browser: Browser, api: ApiServer, path: str) -> None:
    """By the bound of a text, and by that of any request."""
    for length in (65 * 1024, 600 * 1024):
        answer = await send(browser, path, "#" * length)
        assert answer.status == 413
        assert (await answer.json())["next"]
    assert api.calls == []


async def test_a_job_is_copied_without_status_under_a_free_name(browser: Browser, api: ApiServer, world: World) -> None:
    """With the person's own token, since the cache has no commands."""
    api.job("bert", namespace="nlp", spec={"suspend": True, "backoffLimit": 1}, status={"state": "Failed"})
    for name in ("bert", "bert-r2"):
        world.put_job("nlp", name)
    header = {"Authorization": "Bearer token-of-ada"}
    answer = await (await browser.get("/api/v1/jobs/nlp/pytorchjob/bert/copy", headers=header)).json()
    copied = json.loads(answer["json"])
    assert (copied["metadata"], copied["spec"]) == ({"name": "bert-r3", "namespace": "nlp"}, {"backoffLimit": 1})
    assert "status" not in copied
    assert {call.headers["Authorization"] for call in api.calls} == {"Bearer token-of-ada"}


async def test_the_form_knows_the_kinds(browser: Browser) -> None:
    """With the field that has their roles."""
    header = {"Authorization": "Bearer token-of-ada"}
    rows = (await (await browser.get("/api/v1/submit/kinds", headers=header)).json())["rows"]
    found = next(row for row in rows if row["kind"] == "PyTorchJob")
    assert (found["replicasField"], found["container"]) == ("pytorchReplicaSpecs", "pytorch")
    assert found["roles"][0] == {"name": "Master", "required": False, "atMost": 1}
