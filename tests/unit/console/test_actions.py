"""What people change in the console: with their own token, from the console's own page, and nothing else."""

from collections.abc import AsyncIterator, Iterator
from typing import Any

import pytest
from aiohttp import ClientResponse, web
from aiohttp.test_utils import TestClient, TestServer

from kubedl.console import acting
from kubedl.console.access import ProxyAccess
from kubedl.console.object_kinds import CRONS, INFERENCES
from kubedl.console.safety import MARK
from kubedl.console.write_routes import ACTIONS, WRITES
from kubedl.kube.credentials import Credentials
from tests.unit.client.api_server import ApiServer, serving
from tests.unit.console.world import JOBS, World

Browser = TestClient[web.Request, web.Application]
PLACES = {"namespace": "nlp", "kind": "pytorchjob", "name": "bert"}
JOB_PATH = "/apis/training.kubedl.io/v1alpha1/namespaces/nlp/pytorchjobs/bert"
SERVICE_PATH = "/apis/serving.kubedl.io/v1alpha1/namespaces/nlp/inferences/bert"
CRON_PATH = "/apis/apps.kubedl.io/v1alpha1/namespaces/nlp/crons/bert"
UID = "uid-nlp-bert"
BODIES: dict[str, dict[str, Any]] = {"jobs": {"uid": UID}, "services": {}, "crons": {}}
PREDICTORS = [{"name": "main", "trafficWeight": 90}, {"name": "new", "trafficWeight": 10}]
DENIED = {
    "kind": "Status",
    "code": 403,
    "reason": "Forbidden",
    "message": 'pytorchjobs.training.kubedl.io "bert" is forbidden: User "ada" cannot patch resource "pytorchjobs"',
}


def address(path: str) -> str:
    """Return the address of a route about bert in nlp."""
    return f"/api/v1/{path.format(**PLACES)}"


def body(path: str) -> dict[str, Any]:
    """Return what the page sends."""
    own: dict[str, dict[str, Any]] = {
        "weights": {"weights": {"main": 100, "new": 0}},
        "version": {"predictor": "new", "version": "v3"},
    }
    return own.get(path.rpartition("/")[2]) or BODIES[path.partition("/")[0]]


@pytest.fixture
def api() -> Iterator[ApiServer]:
    """An API server with a job, a service and a Cron of the name bert."""
    with serving(ApiServer()) as served:
        served.job("bert", namespace="nlp", metadata={"uid": UID}, spec={"suspend": False})
        rollout = {"phase": "Stepping", "candidate": "v2"}
        status = {"predictorStatuses": [{"name": "main", "rollout": rollout}]}
        served.put(SERVICE_PATH, {"spec": {"predictors": PREDICTORS}, "status": status})
        template = {"kind": "PyTorchJob", "workload": {"spec": {"backoffLimit": 1}}}
        served.put(CRON_PATH, {"spec": {"schedule": "@daily", "template": template}})
        yield served


@pytest.fixture
async def browser(world: World, api: ApiServer) -> AsyncIterator[Browser]:
    """A browser behind a proxy that signs people in."""
    world.put_job("nlp", "bert")
    world.put(INFERENCES, "nlp", "bert", spec={"predictors": PREDICTORS})
    world.put(CRONS, "nlp", "bert", spec={"template": {"kind": "PyTorchJob"}})
    world.reviewer.allow("ada", "nlp", INFERENCES.name, CRONS.name)
    access = ProxyAccess(world.reviews, Credentials(api.url, None))
    async with TestClient(TestServer(world.console(access).application())) as client:
        yield client


async def post(browser: Browser, path: str, who: str = "ada", **headers: str) -> ClientResponse:
    """Send what a page of the console sends."""
    sent = {"Authorization": f"Bearer token-of-{who}", MARK: "1", **headers}
    return await browser.post(address(path), json=body(path), headers=sent)


def changes(api: ApiServer) -> list[tuple[str, str]]:
    """Return the requests that are not reads."""
    return [(call.method, call.path) for call in api.calls if call.method != "GET"]


@pytest.mark.parametrize("path", WRITES)
async def test_every_change_is_made_with_the_token_of_the_person(browser: Browser, api: ApiServer, path: str) -> None:
    """So the API server decides, and its audit log has the person's name."""
    if path.endswith("retry"):
        api.objects[SERVICE_PATH]["status"]["predictorStatuses"][0]["rollout"] = {"rejected": "v2"}
    answer = await post(browser, path)
    assert answer.status == 200, await answer.text()
    assert {call.headers["Authorization"] for call in api.calls} == {"Bearer token-of-ada"}
    assert {call.headers["User-Agent"] for call in api.calls} == {"kubedl-console"}
    assert len(changes(api)) == 1


@pytest.mark.parametrize("path", [*WRITES, *ACTIONS])
@pytest.mark.parametrize("who", ["", "nobody"])
async def test_nobody_changes_nothing(browser: Browser, api: ApiServer, path: str, who: str) -> None:
    """Without a valid token nothing reaches the API server."""
    if path in WRITES:
        answer = await post(browser, path, who)
    else:
        answer = await browser.get(address(path), headers={"Authorization": f"Bearer token-of-{who}"})
    assert answer.status == 401
    assert api.calls == []


@pytest.mark.parametrize("path", [*WRITES, *ACTIONS])
async def test_another_tenant_is_refused_alike_whether_something_is_there(
    browser: Browser, api: ApiServer, path: str
) -> None:
    """Before anything is sent, so that names cannot be guessed."""
    said = []
    for name in ("bert", "nothing"):
        headers = {"Authorization": "Bearer token-of-ben", MARK: "1"}
        where = f"/api/v1/{path.format(**{**PLACES, 'name': name})}"
        method = "POST" if path in WRITES else "GET"
        answer = await browser.request(method, where, json=body(path) if path in WRITES else None, headers=headers)
        said.append((answer.status, (await answer.json())["why"]))
    assert said[0] == said[1]
    assert said[0][0] == 403
    assert api.calls == []


@pytest.mark.parametrize("path", WRITES)
async def test_who_may_only_read_gets_the_words_of_the_api_server(browser: Browser, api: ApiServer, path: str) -> None:
    """It names the right that is missing."""
    if path.endswith("retry"):
        api.objects[SERVICE_PATH]["status"]["predictorStatuses"][0]["rollout"] = {"rejected": "v2"}
    places = (JOB_PATH, SERVICE_PATH, CRON_PATH, JOB_PATH.rpartition("/")[0])
    api.refusals = {f"{verb} {place}": (403, DENIED) for place in places for verb in ("PATCH", "POST", "DELETE")}
    answer = await post(browser, path)
    assert answer.status == 403
    assert 'User "ada" cannot patch' in (await answer.json())["why"]


@pytest.mark.parametrize("path", WRITES)
@pytest.mark.parametrize(
    "headers",
    [{MARK: "0"}, {"Origin": "https://evil.example"}, {"Sec-Fetch-Site": "cross-site"}, {"Sec-Fetch-Site": "none"}],
)
async def test_another_site_changes_nothing(
    browser: Browser, api: ApiServer, path: str, headers: dict[str, str]
) -> None:
    """Although the browser would send the person's proof with its request."""
    answer = await post(browser, path, **headers)
    assert answer.status == 403
    assert api.calls == []


@pytest.mark.parametrize("path", WRITES)
async def test_reading_an_address_of_a_change_changes_nothing(browser: Browser, api: ApiServer, path: str) -> None:
    """A link or a picture of another site is a GET."""
    answer = await browser.get(address(path), headers={"Authorization": "Bearer token-of-ada", MARK: "1"})
    assert answer.status in (404, 405)
    assert api.calls == []


async def test_a_later_job_of_the_name_is_not_touched(browser: Browser, api: ApiServer) -> None:
    """The person saw another one, and the dialog spoke of that."""
    api.objects[JOB_PATH]["metadata"]["uid"] = "uid-of-another"
    for word in ("suspend", "resume", "delete"):
        answer = await post(browser, f"jobs/{{namespace}}/{{kind}}/{{name}}/{word}")
        assert answer.status == 409
        assert "another job of the same name" in (await answer.json())["why"]
    assert changes(api) == []


async def test_a_job_is_suspended_resumed_and_deleted(browser: Browser, api: ApiServer) -> None:
    """As `kubedl suspend`, `resume` and `delete` do it."""
    for word, wanted in (("suspend", True), ("resume", False)):
        await post(browser, f"jobs/{{namespace}}/{{kind}}/{{name}}/{word}")
        assert api.objects[JOB_PATH]["spec"]["suspend"] is wanted
    await post(browser, "jobs/{namespace}/{kind}/{name}/delete")
    assert JOB_PATH not in api.objects
    assert api.calls[-1].body == {"propagationPolicy": "Background", "preconditions": {"uid": UID}}


async def test_weights_and_rollouts_are_those_of_the_client(browser: Browser, api: ApiServer) -> None:
    """Weights of a predictor that is not there are refused, and so is a word about no rollout."""
    await post(browser, "services/{namespace}/{name}/weights")
    assert [one["trafficWeight"] for one in api.objects[SERVICE_PATH]["spec"]["predictors"]] == [100, 0]
    await post(browser, "services/{namespace}/{name}/version")
    assert [one.get("modelVersion") for one in api.objects[SERVICE_PATH]["spec"]["predictors"]] == [None, "v3"]
    await post(browser, "services/{namespace}/{name}/promote")
    assert api.objects[SERVICE_PATH]["metadata"]["annotations"] == {"serving.kubedl.io/rollout": "promote"}
    headers = {"Authorization": "Bearer token-of-ada", MARK: "1"}
    for word, sent in (
        ("weights", {"weights": {"none": 1}}),
        ("version", {"predictor": "none", "version": "v3"}),
        ("retry", {}),
        ("next", {"predictor": "none"}),
    ):
        answer = await browser.post(f"/api/v1/services/nlp/bert/{word}", json=sent, headers=headers)
        assert answer.status == 422, await answer.text()


async def test_a_cron_runs_now_and_its_schedule_stops(browser: Browser, api: ApiServer) -> None:
    """The answer names the new job, so that the page can open it."""
    answer = await (await post(browser, "crons/{namespace}/{name}/run")).json()
    assert answer["kind"] == "PyTorchJob"
    made = api.objects[f"{JOB_PATH.rpartition('/')[0]}/{answer['name']}"]
    assert (made["spec"], answer["name"].startswith("bert-now-")) == ({"backoffLimit": 1}, True)
    for word, wanted in (("suspend", True), ("resume", False)):
        await post(browser, f"crons/{{namespace}}/{{name}}/{word}")
        assert api.objects[CRON_PATH]["spec"]["suspend"] is wanted


@pytest.mark.parametrize("sent", ["", "{}", "[]", '{"uid": 1}', "null"])
async def test_a_wrong_body_is_refused(browser: Browser, api: ApiServer, sent: str) -> None:
    """With words, and without a request."""
    headers = {"Authorization": "Bearer token-of-ada", MARK: "1"}
    answer = await browser.post(address("jobs/{namespace}/{kind}/{name}/delete"), data=sent, headers=headers)
    assert answer.status == 400
    assert api.calls == []


async def test_an_action_says_which_right_is_missing(browser: Browser, world: World) -> None:
    """The first that it takes."""
    world.reviewer.let("ada", "nlp", JOBS, "get", "patch")
    headers = {"Authorization": "Bearer token-of-ada"}
    rows = (await (await browser.get(address("jobs/{namespace}/{kind}/{name}/actions"), headers=headers)).json())[
        "rows"
    ]
    missing = {row["name"]: row["missing"] and row["missing"]["verb"] for row in rows}
    assert missing == {"suspend": None, "resume": None, "delete": "delete", "copy": "create"}
    rows = (await (await browser.get(address("crons/{namespace}/{name}/actions"), headers=headers)).json())["rows"]
    assert {row["name"]: row["missing"]["verb"] for row in rows} == {
        "suspend": "patch",
        "resume": "patch",
        "run": "get",
    }
    assert rows[0]["missing"] == {"verb": "patch", "resource": CRONS.name, "namespace": "nlp"}


async def test_an_api_server_that_does_not_answer_is_said(
    browser: Browser, api: ApiServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It may have been done: the person is told to look."""
    monkeypatch.setattr(acting, "SECONDS", 0.2)
    busy = {"kind": "Status", "code": 429, "reason": "TooManyRequests", "message": "later"}
    api.refusals = {f"PATCH {JOB_PATH}": (429, busy)}
    answer = await post(browser, "jobs/{namespace}/{kind}/{name}/suspend")
    assert answer.status == 504
    assert "load the page again" in (await answer.json())["next"]
