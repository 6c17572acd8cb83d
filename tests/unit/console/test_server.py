"""The console over HTTP: sign-in, rights, headers, and what is said when something is missing."""

import asyncio
import gzip
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest
from aiohttp import ClientSession, CookieJar, web
from aiohttp.test_utils import TestClient, TestServer

from kubedl.console.access import SESSION_COOKIE, LocalAccess, ProxyAccess
from kubedl.console.assets import Assets
from kubedl.console.routes import ROUTES
from kubedl.console.safety import MARK
from kubedl.console.server import Console
from kubedl.console.sessions import OneTimeCode
from kubedl.kube.credentials import Credentials
from kubedl.kube.errors import UnauthorizedError
from tests.unit.console.world import SERVER, World, caller

JOB = "/api/v1/jobs/nlp/pytorchjob/bert"
MARKED = {MARK: "1"}
Browser = TestClient[web.Request, web.Application]


@asynccontextmanager
async def browsing(console: Console) -> AsyncIterator[Browser]:
    """A browser of its own."""
    jar = CookieJar(unsafe=True)
    async with TestClient(TestServer(console.application()), cookie_jar=jar) as browser:
        yield browser


async def signed_in(browser: Browser, token: str) -> None:
    """Sign in with a token. The jar takes no secure cookies without TLS, as browsers do on loopback: set it by hand."""
    answer = await browser.post("/api/v1/session", json={"token": token}, headers=MARKED)
    assert answer.status == 204, await answer.text()
    browser.session.headers["Cookie"] = f"{SESSION_COOKIE}={answer.cookies[SESSION_COOKIE].value}"


async def test_two_people_see_their_own_jobs(world: World) -> None:
    """The same requests to the same cache, with two tokens."""
    world.put_job("nlp", "bert")
    world.put_job("vision", "resnet")
    seen = {}
    for token in ("token-of-ada", "token-of-ben"):
        async with browsing(world.console()) as browser:
            await signed_in(browser, token)
            answer = await (await browser.get("/api/v1/jobs")).json()
            seen[token] = [row["name"] for row in answer["rows"]]
            assert answer["hiddenNamespaces"] == 1
    assert seen == {"token-of-ada": ["bert"], "token-of-ben": ["resnet"]}


async def test_a_foreign_job_and_a_missing_one_are_refused_alike(world: World) -> None:
    """So that names cannot be guessed."""
    world.put_job("vision", "resnet")
    async with browsing(world.console()) as browser:
        await signed_in(browser, "token-of-ada")
        answers = []
        for name in ("resnet", "nothing"):
            answer = await browser.get(f"/api/v1/jobs/vision/pytorchjob/{name}")
            answers.append((answer.status, (await answer.json())["why"]))
        assert answers[0] == answers[1]
        assert answers[0] == (403, "ada has no right to list pytorchjobs.training.kubedl.io in vision")


PATHS = ["/api/v1/jobs", "/api/v1/stream", JOB, f"{JOB}/logs/bert-worker-0"]
_PARTS = {"namespace": "nlp", "kind": "pytorchjob", "name": "bert", "uid": "1", "pod": "2"}
ANSWERED = [f"/api/v1/{path}".format_map(_PARTS) for path in ROUTES]


@pytest.mark.parametrize("path", [*PATHS, *ANSWERED])
@pytest.mark.parametrize("cookie", ["", "garbage"])
async def test_nobody_gets_nothing(world: World, path: str, cookie: str) -> None:
    """Without a valid sign-in every address answers 401, whether something is there or not."""
    world.put_pod("nlp", "bert-worker-0", world.put_job("nlp", "bert"))
    async with browsing(world.console()) as browser:
        answer = await browser.get(path, headers={"Cookie": f"{SESSION_COOKIE}={cookie}"})
        assert answer.status == 401
        assert b"bert" not in await answer.read()


async def test_a_page_of_a_job_has_its_parts(world: World) -> None:
    """Pods and events, as far as the person may list them."""
    uid = world.put_job("nlp", "bert", state="Running", conditions=[{"type": "Running", "status": "True"}])
    world.put_pod("nlp", "bert-worker-0", uid)
    world.put_event("nlp", "Pulled", "Pod", "uid-bert-worker-0")
    world.put_event("vision", "Forged", "PyTorchJob", uid)
    async with browsing(world.console()) as browser:
        await signed_in(browser, "token-of-ada")
        page = await (await browser.get(JOB)).json()
        assert [page["job"]["state"], page["conditions"][0]["type"], page["pods"][0]["name"]] == [
            "Running",
            "Running",
            "bert-worker-0",
        ]
        assert [event["reason"] for event in page["events"]] == ["Pulled"]
        assert page["missing"] == []


async def test_a_part_that_may_not_be_seen_is_named(world: World) -> None:
    """A person who may list jobs but not pods gets neither pods nor events about pods."""
    world.reviewer.allowed -= {("ada", "pods", "nlp")}
    uid = world.put_job("nlp", "bert")
    world.put_pod("nlp", "bert-worker-0", uid)
    world.put_event("nlp", "Pulled", "Pod", "uid-bert-worker-0")
    async with browsing(world.console()) as browser:
        await signed_in(browser, "token-of-ada")
        answer = await browser.get(JOB)
        page = await answer.json()
        assert page["missing"] == [{"verb": "list", "resource": "pods", "namespace": "nlp"}]
        assert b"bert-worker-0" not in await answer.read()
        assert (page["pods"], page["events"]) == ([], [])


async def test_a_wrong_token_does_not_sign_in(world: World) -> None:
    """Ten times; then the address waits, whatever it sends."""
    async with browsing(world.console()) as browser:
        for _ in range(10):
            answer = await browser.post("/api/v1/session", json={"token": "guess"}, headers=MARKED)
            assert answer.status == 401
        answer = await browser.post("/api/v1/session", json={"token": "token-of-ada"}, headers=MARKED)
        assert answer.status == 429


async def test_tokens_that_are_tried_at_the_same_time_count_too(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    """Each of them would ask the API server, however many there are."""
    answer = world.reviewer.call

    async def late(*asked: Any, **more: Any) -> bytes:  # noqa: ANN401 - whatever the reviewer takes
        await asyncio.sleep(0.2)
        return await answer(*asked, **more)

    monkeypatch.setattr(world.reviewer, "call", late)
    async with browsing(world.console()) as browser:
        tries = (browser.post("/api/v1/session", json={"token": f"guess-{n}"}, headers=MARKED) for n in range(30))
        statuses = [one.status for one in await asyncio.gather(*tries)]
    assert world.reviewer.tokens_asked == 10
    assert sorted(statuses) == [401] * 10 + [429] * 20


async def test_an_account_that_is_not_accepted_signs_nobody_out(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    """That of the console: another sign-in would not help."""

    async def refuse(*_: object, **__: object) -> bytes:
        raise UnauthorizedError(401, "Unauthorized", "Unauthorized")

    monkeypatch.setattr(world.reviewer, "call", refuse)
    async with browsing(world.console(ProxyAccess(world.reviews, SERVER))) as browser:
        answer = await browser.get("/api/v1/jobs", headers={"Authorization": "Bearer token-of-ada"})
        assert (answer.status, "the account of this console" in (await answer.json())["why"]) == (502, True)
    for _ in range(11):
        async with browsing(world.console()) as browser:
            answer = await browser.post("/api/v1/session", json={"token": "token-of-ada"}, headers=MARKED)
            assert answer.status == 502


async def test_the_cookie_is_out_of_reach_of_scripts_and_other_sites(world: World) -> None:
    """And has no token in it that could be read."""
    async with browsing(world.console()) as browser:
        answer = await browser.post("/api/v1/session", json={"token": "token-of-ada"}, headers=MARKED)
        cookie = answer.headers["Set-Cookie"]
        assert "token-of-ada" not in cookie
        for attribute in ("HttpOnly", "Secure", "SameSite=Strict", "Path=/"):
            assert attribute in cookie
        assert "Domain" not in cookie  # a __Host- cookie has none


@pytest.mark.parametrize(
    "headers",
    [
        {},
        {**MARKED, "Origin": "https://evil.example"},
        {**MARKED, "Sec-Fetch-Site": "cross-site"},
        {**MARKED, "Sec-Fetch-Site": "same-site"},
    ],
)
@pytest.mark.parametrize("method", ["POST", "DELETE"])
async def test_a_change_from_another_site_is_refused(world: World, method: str, headers: dict[str, str]) -> None:
    """Before anything is done."""
    async with browsing(world.console()) as browser:
        answer = await browser.request(method, "/api/v1/session", json={"token": "token-of-ada"}, headers=headers)
        assert answer.status == 403
        assert "Set-Cookie" not in answer.headers
        assert world.reviewer.tokens_asked == 0


async def test_a_proxy_signs_in_by_its_header(world: World) -> None:
    """With each request; the console keeps nothing."""
    world.put_job("nlp", "bert")
    async with browsing(world.console(ProxyAccess(world.reviews, SERVER))) as browser:
        assert (await browser.get("/api/v1/jobs")).status == 401
        header = {"Authorization": "Bearer token-of-ada"}
        assert len((await (await browser.get("/api/v1/jobs", headers=header)).json())["rows"]) == 1
        session = await (await browser.get("/api/v1/session", headers=header)).json()
        assert (session["mode"], session["user"]) == ("proxy", "ada")


async def test_a_local_console_belongs_to_the_browser_with_the_code(world: World) -> None:
    """Once, on this machine, under its own name."""
    code = OneTimeCode()
    console = world.console(LocalAccess(caller("ada"), code, "kubedl-local"), local=True)
    async with browsing(console) as browser:
        port = browser.port
        assert (await browser.get("/api/v1/jobs")).status == 401
        answer = await browser.post("/api/v1/session", json={"code": code.code}, headers=MARKED)
        assert answer.status == 204
        assert (await browser.get("/api/v1/jobs")).status == 200
        again = await browser.post("/api/v1/session", json={"code": code.code}, headers=MARKED)
        assert again.status == 401
        for host in ("evil.example", f"evil.example:{port}", "127.0.0.1", "127.0.0.1:1"):
            assert (await browser.get("/", headers={"Host": host})).status == 421


async def test_the_log_is_read_with_the_callers_own_token(world: World) -> None:
    """Not with the account of the console."""
    sent: list[tuple[str, str]] = []

    async def log(request: web.Request) -> web.Response:
        sent.append((request.headers["Authorization"], request.path_qs))
        return web.Response(text="2026-11-18T12:00:00Z step 1\n")

    api = web.Application()
    api.router.add_get("/{path:.*}", log)
    world.put_pod("nlp", "bert-worker-0", world.put_job("nlp", "bert"))
    async with TestServer(api) as server:
        access = ProxyAccess(world.reviews, Credentials(str(server.make_url("")).rstrip("/"), None))
        async with browsing(world.console(access)) as browser:
            header = {"Authorization": "Bearer token-of-ada"}
            answer = await browser.get(f"{JOB}/logs/bert-worker-0?lines=10", headers=header)
            assert (answer.status, await answer.text()) == (200, "2026-11-18T12:00:00Z step 1\n")
            assert answer.headers["X-Content-Type-Options"] == "nosniff"
            for query in ("container=other", "lines=0", "lines=x", "lines=00000000150001", "since=yesterday"):
                assert (await browser.get(f"{JOB}/logs/bert-worker-0?{query}", headers=header)).status in (400, 404)
            assert (await browser.get(f"{JOB}/logs/stranger", headers=header)).status == 404
    path = "/api/v1/namespaces/nlp/pods/bert-worker-0/log"
    assert sent == [("Bearer token-of-ada", f"{path}?container=pytorch&follow=true&timestamps=true&tailLines=10")]


async def test_the_stream_ends_with_its_browser(world: World) -> None:
    """So that people who leave cost nothing."""
    console = world.console(ProxyAccess(world.reviews, SERVER))
    async with TestServer(console.application(), handler_cancellation=True) as server, ClientSession() as session:
        url, header = server.make_url("/api/v1/stream"), {"Authorization": "Bearer token-of-ada"}
        answer = await session.get(url, headers=header)
        assert answer.headers["Content-Type"].startswith("text/event-stream")
        assert answer.headers["X-Accel-Buffering"] == "no"
        assert await answer.content.readline() == b"retry: 1000\n"
        answer.close()
        async with asyncio.timeout(5):
            await session.close()


async def test_the_page_has_a_policy_with_a_nonce_of_its_own(world: World, tmp_path: Path) -> None:
    """Everything comes from its own origin, nothing is inline, and two pages never share a nonce."""
    (tmp_path / "assets").mkdir()
    (tmp_path / "index.html").write_text('<script nonce="__CSP_NONCE__" src="/assets/a.js"></script>')
    (tmp_path / "assets" / "a.js").write_text("1")
    async with browsing(world.console(assets=Assets(tmp_path))) as browser:
        policies = set()
        for path in ("/", "/jobs/nlp/pytorchjob/bert"):
            page = await browser.get(path)
            policy = page.headers["Content-Security-Policy"]
            nonce = policy.partition("'nonce-")[2].partition("'")[0]
            assert f'nonce="{nonce}"' in await page.text()
            assert "default-src 'none'" in policy
            assert "script-src 'self';" in policy
            assert "unsafe" not in policy
            assert page.headers["Cache-Control"] == "no-store"
            policies.add(policy)
        assert len(policies) == 2
        assert "immutable" in (await browser.get("/assets/a.js")).headers["Cache-Control"]
    for name in ("../index.html", "..", ".", "", "b.js", "/etc/passwd"):
        assert Assets(tmp_path).file(name).status == 404


async def test_a_file_that_is_packed_is_the_same_for_every_client(world: World, tmp_path: Path) -> None:
    """One that takes gzip gets it as it is in the package, any other unpacked."""
    (tmp_path / "assets").mkdir()
    (tmp_path / "assets" / "a.js.gz").write_bytes(gzip.compress(b"let a;"))
    async with browsing(world.console(assets=Assets(tmp_path))) as browser:
        for accepted, encoding in (("gzip, deflate, br", "gzip"), ("identity", None), ("", None)):
            answer = await browser.get("/assets/a.js", headers={"Accept-Encoding": accepted})
            assert answer.headers.get("Content-Encoding") == encoding
            assert answer.headers["Vary"] == "Accept-Encoding"
            assert "javascript" in answer.headers["Content-Type"]
            assert await answer.read() == b"let a;"


async def test_missing_pages_are_said_plainly(world: World, tmp_path: Path) -> None:
    """With the command that builds them."""
    async with browsing(world.console(assets=Assets(tmp_path))) as browser:
        page = await browser.get("/")
        assert page.status == 503
        assert "make console" in await page.text()


async def test_errors_say_what_why_and_what_next(world: World) -> None:
    """As data, with an id that the log has too, and with all headers."""
    async with browsing(world.console()) as browser:
        await signed_in(browser, "token-of-ada")
        for path in ("/api/v1/nothing", "/api/v1/jobs/nlp/pytorchjob/nothing", "/api/v1/jobs/nlp/nokind/x"):
            answer = await browser.get(path)
            assert answer.status == 404
            problem = await answer.json()
            assert all(problem[part] for part in ("what", "why", "next", "request"))
            assert answer.headers["Referrer-Policy"] == "no-referrer"
