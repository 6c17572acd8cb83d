"""One call, one request on the wire, one typed outcome."""

import asyncio
from collections.abc import Callable

import pytest

from kubedl.kube import client as module
from kubedl.kube.client import BUSY_TRIES, Client
from kubedl.kube.credentials import Credentials
from kubedl.kube.errors import (
    ApiError,
    ConflictError,
    ForbiddenError,
    TooManyRequestsError,
    UnauthorizedError,
    UnknownOutcomeError,
)
from kubedl.kube.rate_limiter import RateLimiter
from kubedl.kube.token_refresh import Token
from kubedl.kube.types.core import NODES, PODS
from kubedl.kube.types.meta import ObjectKey
from tests.unit.kube.server import Script, answer, hang_up, status, stay_silent

KEY = ObjectKey("team", "a")
Connect = Callable[..., Client]


async def test_a_create_is_a_post_to_the_collection(client: Client, script: Script) -> None:
    script.plan(answer(201, {"metadata": {"name": "a", "uid": "1", "resourceVersion": "7"}, "unknown": [1]}))
    made = await client.create(PODS, "team", {"metadata": {"name": "a"}})
    assert (made.metadata.name, made.metadata.resource_version) == ("a", "7")
    [call] = script.received
    assert (call.method, call.path, call.query) == ("POST", "/api/v1/namespaces/team/pods", {})
    assert call.headers["User-Agent"] == "kubedl"  # which the server takes for the manager of these fields
    assert call.body == {"metadata": {"name": "a"}}


async def test_a_read_names_the_object(client: Client, script: Script) -> None:
    await client.get(NODES, ObjectKey("", "node/1"))
    assert [(call.method, call.path) for call in script.received] == [("GET", "/api/v1/nodes/node/1")]
    assert script.received[0].headers["Accept"] == "application/json"


@pytest.mark.parametrize(
    ("how", "content", "query"),
    [
        ("merge", "application/merge-patch+json", {}),
        ("apply", "application/apply-patch+yaml", {"fieldManager": "kubedl", "force": "true"}),
    ],
)
async def test_a_patch_says_how_it_is_meant(
    client: Client, script: Script, how: module.PatchType, content: str, query: dict[str, str]
) -> None:
    await client.patch(PODS, KEY, {"status": {}}, how, subresource="status")
    [call] = script.received
    assert (call.method, call.path, call.query) == ("PATCH", "/api/v1/namespaces/team/pods/a/status", query)
    assert call.headers["Content-Type"] == content


async def test_a_delete_may_wait_for_dependents(client: Client, script: Script) -> None:
    """Then the object is there until they are gone."""
    await client.delete(PODS, KEY, "1", propagation="Foreground")
    assert script.received[0].body == {"preconditions": {"uid": "1"}, "propagationPolicy": "Foreground"}


async def test_a_delete_names_the_uid(client: Client, script: Script) -> None:
    """Another object of that name is never hit."""
    script.plan(
        answer(200, {"metadata": {"name": "a", "uid": "1", "resourceVersion": "9"}}),
        answer(200, {"kind": "Status", "status": "Success", "details": {"uid": "1"}}),
        status(409, "Conflict"),
    )
    last = await client.delete(PODS, KEY, "1", grace_seconds=0)
    assert last is not None
    assert last.metadata.resource_version == "9"
    assert await client.delete(PODS, KEY, "1") is None
    with pytest.raises(ConflictError):
        await client.delete(PODS, KEY, "2")
    assert [call.body for call in script.received] == [
        {"preconditions": {"uid": "1"}, "propagationPolicy": "Background", "gracePeriodSeconds": 0},
        {"preconditions": {"uid": "1"}, "propagationPolicy": "Background"},
        {"preconditions": {"uid": "2"}, "propagationPolicy": "Background"},
    ]


@pytest.mark.parametrize("verb", ["create", "patch", "delete"])
async def test_a_write_goes_out_once_when_the_connection_breaks(client: Client, script: Script, verb: str) -> None:
    """Many clients send a DELETE again on a connection that was used before; we could not tell whose write it was."""
    await client.get(PODS, KEY)  # from now on there is a connection to be reused
    script.received.clear()
    script.usual = hang_up
    with pytest.raises(UnknownOutcomeError, match=f"{verb} of pods"):
        await _write(client, verb)
    assert len(script.received) == 1


async def test_an_answer_that_does_not_come_leaves_us_unsure(
    client: Client, script: Script, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "CALL_SECONDS", 0.05)
    script.usual = stay_silent
    with pytest.raises(UnknownOutcomeError, match="create of pods: "):
        await _write(client, "create")


async def test_nobody_there_leaves_us_unsure(connect: Connect, unused_tcp_port: int) -> None:
    client = Client(Credentials(f"http://127.0.0.1:{unused_tcp_port}", None))
    with pytest.raises(UnknownOutcomeError, match="get of pods: "):
        await client.get(PODS, KEY)
    await client.close()


@pytest.mark.parametrize("body", [b"<html>Please log in</html>", b'{"metadata": 5}', b""])
async def test_a_good_answer_that_cannot_be_read_leaves_us_unsure(client: Client, script: Script, body: bytes) -> None:
    """A login page with status 200 is not an object."""
    script.usual = answer(200, body)
    with pytest.raises(UnknownOutcomeError, match="response about pods"):
        await client.get(PODS, KEY)
    with pytest.raises(UnknownOutcomeError, match="response about pods"):
        await client.page(PODS, "", {})


@pytest.mark.parametrize("code", [301, 302, 303, 307, 308])
async def test_a_write_is_not_sent_elsewhere(client: Client, script: Script, code: int) -> None:
    """Following a redirect would be a second write, and a POST would even become a GET that answers well."""
    script.plan(answer(code, b"over there", Location="/elsewhere"))
    with pytest.raises(ApiError, match="over there"):
        await _write(client, "create")
    assert len(script.received) == 1


async def test_a_refused_token_is_fetched_anew_once(connect: Connect, script: Script) -> None:
    """Tokens are replaced while we run."""
    tokens = iter(["old", "new"])
    client = connect(token=Token(lambda: (next(tokens), float("inf"))))
    script.plan(status(401, "Unauthorized"))
    await client.get(PODS, KEY)
    await client.get(PODS, KEY)
    assert [call.bearer for call in script.received] == ["old", "new", "new"]


async def test_a_token_that_stays_refused_is_an_error(connect: Connect, script: Script) -> None:
    client = connect(token=Token(lambda: ("same", float("inf"))))
    script.usual = status(401, "Unauthorized")
    with pytest.raises(UnauthorizedError):
        await client.get(PODS, KEY)
    assert len(script.received) == 2


async def test_without_a_token_a_401_is_final(client: Client, script: Script) -> None:
    script.usual = status(401, "Unauthorized")
    with pytest.raises(UnauthorizedError):
        await client.get(PODS, KEY)
    assert len(script.received) == 1


class _Gate(RateLimiter):
    """Lets calls pass while it is open, and remembers the pauses that were asked for."""

    def __init__(self) -> None:
        super().__init__(0, 0)
        self.pauses: list[float] = []
        self.open = asyncio.Event()
        self.open.set()
        self.paused = asyncio.Event()

    async def take(self) -> None:
        await self.open.wait()

    def pause(self, seconds: float) -> None:
        self.pauses.append(seconds)
        self.open.clear()
        self.paused.set()


async def test_a_busy_server_is_left_alone_by_everybody(connect: Connect, script: Script) -> None:
    """The pause is the process's, not the call's."""
    expectations = _Gate()
    client = connect(limiter=expectations)
    script.plan(status(429, "TooManyRequests", Retry_After="7"))
    first = asyncio.ensure_future(client.get(PODS, KEY))
    await asyncio.wait_for(expectations.paused.wait(), 10)
    second = asyncio.ensure_future(client.get(PODS, ObjectKey("team", "b")))
    await asyncio.sleep(0)
    assert (len(script.received), expectations.pauses) == (1, [7])
    expectations.open.set()
    await asyncio.gather(first, second)
    assert sorted(call.path[-1] for call in script.received) == ["a", "a", "b"]


async def test_nobody_can_silence_the_process_for_a_day(connect: Connect, script: Script) -> None:
    """A webhook may answer 429 as the server does, and name any time."""
    expectations = _Gate()
    script.plan(status(429, "TooManyRequests", Retry_After="86400"))
    call = asyncio.ensure_future(connect(limiter=expectations).get(PODS, KEY))
    await asyncio.wait_for(expectations.paused.wait(), 10)
    assert expectations.pauses == [60]
    expectations.open.set()
    await call


async def test_a_server_that_stays_busy_is_an_error(connect: Connect, script: Script) -> None:
    class _Tireless(_Gate):
        async def take(self) -> None:
            """At once."""

    expectations = _Tireless()
    client = connect(limiter=expectations)
    script.usual = status(429, "TooManyRequests")
    with pytest.raises(TooManyRequestsError):
        await _write(client, "create")
    assert expectations.pauses == [module.BUSY_PAUSE] * BUSY_TRIES == [1.0] * len(script.received)


async def test_a_write_can_be_stopped_at_the_door(connect: Connect, script: Script) -> None:
    """Reads go on; whoever may not write any more is told before anything is sent."""

    class StoppedError(Exception):
        pass

    def stop() -> None:
        raise StoppedError

    client = connect(before_write=stop)
    await client.get(PODS, KEY)
    script.received.clear()
    for verb in ("create", "patch", "delete"):
        with pytest.raises(StoppedError):
            await _write(client, verb)
    assert script.received == []


async def test_every_call_is_counted_with_its_outcome(connect: Connect, script: Script) -> None:
    made: list[tuple[str, str, str]] = []

    def on_request(verb: str, resource: str, outcome: str, seconds: float) -> None:
        made.append((verb, resource, outcome))
        assert 0 <= seconds < 10

    client = connect(on_request=on_request)
    script.plan(answer(201, {}), status(409, "Conflict"), hang_up)
    await _write(client, "create")
    for verb in ("patch", "delete"):
        with pytest.raises(ApiError):
            await _write(client, verb)
    assert made == [("create", "pods", "201"), ("patch", "pods", "409"), ("delete", "pods", "unsure")]


@pytest.mark.parametrize(
    ("message", "outcome"),
    [
        ('pods is forbidden: User "kubedl" cannot create resource "pods" in API group ""', "403"),
        ('pods "a" is forbidden: violates PodSecurity "restricted:latest": runAsNonRoot != true', "denied"),
        (
            'services "a" is forbidden: cannot set blockOwnerDeletion in this case because cannot find RESTMapping',
            "denied",
        ),
        ('pods "a" is forbidden: exceeded quota: compute, requested: cpu=1', "denied"),
    ],
)
async def test_what_a_policy_denies_is_not_counted_as_a_lack_of_rights(
    connect: Connect, script: Script, message: str, outcome: str
) -> None:
    made: list[str] = []
    client = connect(on_request=lambda verb, resource, outcome, seconds: made.append(outcome))
    script.plan(answer(403, {"kind": "Status", "code": 403, "reason": "Forbidden", "message": message}))
    with pytest.raises(ForbiddenError):
        await _write(client, "create")
    assert made == [outcome]


async def _write(client: Client, verb: str) -> None:
    if verb == "create":
        await client.create(PODS, "team", {})
    elif verb == "patch":
        await client.patch(PODS, KEY, {})
    else:
        await client.delete(PODS, KEY, "1")
