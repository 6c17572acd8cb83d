"""Asking programs over real sockets: the library's own, and others that answer anything or nothing."""

import asyncio
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

import pytest

from kubedl import training_runtime
from kubedl.kube import codec
from kubedl.kube.errors import NotFoundError
from kubedl.kube.types.core import Pod
from kubedl.kube.types.meta import ObjectMeta
from kubedl.training.elastic import asking, checkpoint_token
from kubedl.training.elastic.asking import CheckpointAsker, RefusedError, allowed, exchange
from kubedl.training.plan import CheckpointRequest
from kubedl.training_runtime import Checkpoints

if TYPE_CHECKING:
    from kubedl.kube.client import Client

KEY = b"k" * 32
POD = Pod(metadata=ObjectMeta(name="bert-worker-0", namespace="team", uid="pod-1"))
HERE = "127.0.0.1"


@asynccontextmanager
async def program(answer: bytes, *, hangs: bool = False) -> AsyncIterator[tuple[int, list[bytes]]]:
    """A program that answers every request with the same bytes; its port, and what it was asked."""
    heard: list[bytes] = []
    open_ones: list[asyncio.StreamWriter] = []

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        open_ones.append(writer)
        heard.append(await reader.readuntil(b"\r\n\r\n"))
        writer.write(answer)
        if not hangs:
            writer.close()

    server = await asyncio.start_server(serve, HERE, 0)
    try:
        yield server.sockets[0].getsockname()[1], heard
    finally:
        server.close()
        for one in open_ones:
            one.transport.abort()
        await asyncio.sleep(0)  # so that they are closed before their loop is


class Api:
    """Where the addresses of pods come from."""

    def __init__(self, address: str = HERE, uid: str = "pod-1") -> None:
        self.address, self.uid, self.reads = address, uid, 0

    async def get(self, resource: Any, key: Any) -> Any:  # noqa: ANN401 - as the client has it
        self.reads += 1
        if not self.uid:
            raise NotFoundError(404, "NotFound", "gone")
        body = {"metadata": {"name": key.name, "uid": self.uid}, "status": {"podIP": self.address}}
        return resource.decoder.decode(codec.encode(body))


def asker(api: Api) -> CheckpointAsker:
    return CheckpointAsker(cast("Client", api), KEY)


async def finished(asker: CheckpointAsker, uid: str = "job-1") -> str:
    """What the program has confirmed when it has been asked."""
    memory = asker._jobs[uid]  # noqa: SLF001 - there is nothing else to wait for
    await asyncio.wait_for(memory.task, 60)
    return asker.confirmed(uid)


@pytest.fixture(autouse=True)
def loopback(monkeypatch: pytest.MonkeyPatch) -> None:
    """Tests have no other address than those that no pod may have, and a busy machine may take long to answer."""
    monkeypatch.setattr(asking, "allowed", lambda text: text)
    monkeypatch.setattr(asking, "SECONDS", 60.0)


@pytest.fixture
def checkpoints(monkeypatch: pytest.MonkeyPatch) -> Iterator[Checkpoints]:
    """The library, in a pod of a job that asks for it."""
    monkeypatch.setenv(checkpoint_token.DIGEST_VARIABLE, checkpoint_token.digest(KEY, "job-1"))
    monkeypatch.setenv(checkpoint_token.PORT_VARIABLE, "0")
    made = Checkpoints(total=100)
    yield made
    made.close()


async def test_the_librarys_program_saves_and_confirms(checkpoints: Checkpoints) -> None:
    """It knows the operator by the digest that its pod has, and needs no arguments."""
    made = asker(Api())
    request = CheckpointRequest(POD, checkpoints.port, "job-1-1")
    made.ask("job-1", request)
    assert await finished(made) == ""
    assert checkpoints.wanted()
    checkpoints.saved(5)
    made.forget("job-1")
    made.ask("job-1", request)
    assert await finished(made) == "job-1-1"
    assert not checkpoints.wanted()


async def test_a_program_that_was_started_again_is_asked_again(checkpoints: Checkpoints) -> None:
    """It has forgotten the request."""
    await exchange(HERE, checkpoints.port, checkpoint_token.token(KEY, "job-1"), "job-1-1")
    checkpoints._asked = ""  # noqa: SLF001 - as a new process
    assert not checkpoints.wanted()
    await exchange(HERE, checkpoints.port, checkpoint_token.token(KEY, "job-1"), "job-1-1")
    assert checkpoints.wanted()


async def test_the_token_of_another_job_or_operator_is_refused(checkpoints: Checkpoints) -> None:
    for key, uid in ((KEY, "job-2"), (b"x" * 32, "job-1")):
        with pytest.raises(RefusedError, match="401"):
            await exchange(HERE, checkpoints.port, checkpoint_token.token(key, uid), "job-1-1")
    with pytest.raises(RefusedError, match="401"):  # what a pod's spec has is no token
        await exchange(HERE, checkpoints.port, checkpoint_token.digest(KEY, "job-1"), "job-1-1")
    assert not checkpoints.wanted()


def test_without_the_operators_variables_the_library_answers_its_own_pod_only() -> None:
    made = Checkpoints(port=0)
    assert made._socket.getsockname()[0] == HERE  # noqa: SLF001
    made.close()
    assert training_runtime.PAUSE == 30.0


GOOD = b"HTTP/1.1 202 Accepted\r\n\r\n"


@pytest.mark.parametrize(
    ("answer", "error"),
    [
        (b"", "does not speak HTTP"),
        (b"SSH-2.0-OpenSSH_9.2\r\n", "does not speak HTTP"),
        (b"HTTP/1.1 99999999999 OK\r\n\r\n", "does not speak HTTP"),
        (b"HTTP/1.1 301 Moved\r\nLocation: http://169.254.169.254/\r\n\r\n", "answers 301"),
        (b"HTTP/1.1 500 No\r\n\r\n", "answers 500"),
        (b"HTTP/1.1 202 OK\r\n\r\n" + b"x" * 10_000, "longer than 4096 bytes"),
        (GOOD, "answers 202"),
    ],
)
async def test_an_answer_that_is_none_is_an_error(answer: bytes, error: str) -> None:
    """And nothing but this program is asked, once or twice."""
    async with program(answer) as (port, heard):
        with pytest.raises(RefusedError, match=error):
            await exchange(HERE, port, "secret", "job-1-1")
        assert len(heard) <= 2


@pytest.mark.parametrize(
    ("body", "said"),
    [
        (b'{"confirmed": "job-1-1", "step": 5, "more": [1, {"a": 2}]}', "job-1-1"),
        (b"{}", ""),
        (b'{"confirmed": "' + b"9" * 100 + b'"}', ""),
        (b'{"confirmed": 5}', None),
        (b"[" * 2000, None),
        (b"\xff", None),
        (b"", None),
    ],
    ids=["good", "nothing", "too long", "a number", "deep", "no text", "empty"],
)
async def test_what_a_state_may_be(body: bytes, said: str | None, monkeypatch: pytest.MonkeyPatch) -> None:
    answers = iter([(202, b""), (200, body)])

    async def call(*_: object) -> tuple[int, bytes]:
        return next(answers)

    monkeypatch.setattr(asking, "_call", call)
    if said is None:
        with pytest.raises(RefusedError, match="malformed"):
            await exchange(HERE, 1, "secret", "job-1-1")
    else:
        assert await exchange(HERE, 1, "secret", "job-1-1") == said


async def test_a_program_that_hangs_is_left_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(asking, "SECONDS", 0.05)
    async with program(b"HTTP/1.1 202", hangs=True) as (port, heard):
        made = asker(Api())
        made.ask("job-1", CheckpointRequest(POD, port, "job-1-1"))
        made.ask("job-1", CheckpointRequest(POD, port, "job-1-1"))
        assert await finished(made) == ""
        assert len(heard) == 1


async def test_programs_of_one_namespace_that_hang_do_not_delay_others(checkpoints: Checkpoints) -> None:
    """However many there are; nothing is remembered of a namespace that asks nobody."""
    async with program(b"", hangs=True) as (port, heard):
        made = asker(Api())
        for number in range(100):
            made.ask(f"slow-{number}", CheckpointRequest(POD, port, f"slow-{number}-1"))
        async with asyncio.timeout(60):
            while len(heard) < asking.OF_A_NAMESPACE:  # noqa: ASYNC110 - nobody tells
                await asyncio.sleep(0)
        there = Pod(metadata=ObjectMeta(name="bert-worker-0", namespace="other", uid="pod-1"))
        made.ask("job-1", CheckpointRequest(there, checkpoints.port, "job-1-1"))
        await asyncio.wait_for(made._jobs["job-1"].task, asking.SECONDS / 2)  # noqa: SLF001
        assert checkpoints.wanted()
        assert len(heard) == asking.OF_A_NAMESPACE
        tasks = [made._jobs[f"slow-{number}"].task for number in range(100)]  # noqa: SLF001
        for number in range(100):
            made.forget(f"slow-{number}")
        await asyncio.gather(*tasks, return_exceptions=True)
        del tasks
        assert "other" not in made._rooms  # noqa: SLF001


async def test_a_job_is_asked_once_in_a_moment(checkpoints: Checkpoints) -> None:
    """However often its plan wants to know."""
    api = Api()
    made = asker(api)
    for _ in range(3):
        made.ask("job-1", CheckpointRequest(POD, checkpoints.port, "job-1-1"))
        await finished(made)
    assert api.reads == 1


@pytest.mark.parametrize("api", [Api(uid="pod-2"), Api(uid=""), Api(address="")], ids=["another", "gone", "none"])
async def test_only_this_very_pod_is_asked(api: Api, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(asking, "allowed", allowed)
    async with program(GOOD) as (port, heard):
        made = asker(api)
        made.ask("job-1", CheckpointRequest(POD, port, "job-1-1"))
        assert await finished(made) == ""
        assert heard == []


@pytest.mark.parametrize("text", ["10.1.2.3", "198.18.0.1", "fd00::5"])
def test_addresses_of_pods(text: str) -> None:
    assert allowed(text) == text


@pytest.mark.parametrize(
    "text",
    [
        *("", "localhost", "127.0.0.1", "::1", "169.254.169.254", "fe80::1", "::", "224.0.0.1", "ff02::1", "0.0.0.0"),  # noqa: S104
        *("::ffff:127.0.0.1", "::ffff:169.254.169.254", "10.0.0.1/24", "10.0.0.1\r\nX: y"),
    ],
)
def test_addresses_that_no_pod_has(text: str) -> None:
    with pytest.raises(RefusedError):
        allowed(text)


async def test_a_forgotten_job_gets_no_answer_any_more() -> None:
    async with program(b"", hangs=True) as (port, _):
        made = asker(Api())
        made.ask("job-1", CheckpointRequest(POD, port, "job-1-1"))
        task = made._jobs["job-1"].task  # noqa: SLF001
        made.forget("job-1")
        with pytest.raises(asyncio.CancelledError):
            await task
        assert made.confirmed("job-1") == ""


@pytest.mark.parametrize(
    ("text", "error"),
    [
        ("", "has 0 bytes"),
        ("c2hvcnQ=", "has 5 bytes"),
        ("%%%", "has no key"),
        (None, "has no key"),
        ("A" * 5000, "has"),
    ],
)
def test_a_key_file_that_is_none_says_why(tmp_path: Path, text: str | None, error: str) -> None:
    file = tmp_path / "key"
    if text is not None:
        file.write_text(text)
    with pytest.raises(ValueError, match=error):
        checkpoint_token.key_from(str(file))


def test_a_key_is_read_and_gives_each_job_its_own_token(tmp_path: Path) -> None:
    file = tmp_path / "key"
    file.write_text("a2tra2tra2tra2tra2tra2tra2tra2tra2tra2tra2s=\n")
    assert checkpoint_token.key_from(str(file)) == KEY
    tokens = {checkpoint_token.token(key, uid) for key in (KEY, b"x" * 32) for uid in ("a", "b")}
    assert len(tokens) == 4
    assert checkpoint_token.digest(KEY, "a") not in tokens
