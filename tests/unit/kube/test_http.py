"""Answers however they are cut and framed; connections are used again only when that is safe."""

import asyncio
import contextlib
import itertools
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kubedl.kube import http
from kubedl.kube.http import Pool
from kubedl.kube.http_parser import LARGEST_HEAD, ConnectionBrokenError

SIZED = b"HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhello"
PIECES = b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nhel\r\nA\r\nlo\r\n world\r\n0\r\n\r\n"


class Server:
    """Sends these bytes for each request, in these pieces, and keeps what it was asked."""

    def __init__(self) -> None:
        self.says: Sequence[bytes] = [SIZED]
        self.asked: list[bytes] = []
        self.tasks: list[asyncio.Task[None]] = []
        self.hangs_up = False

    async def talk(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """One connection."""
        task = asyncio.current_task()
        assert task is not None
        self.tasks.append(task)
        with contextlib.suppress(asyncio.IncompleteReadError, ConnectionError):
            while True:
                self.asked.append(await reader.readuntil(b"\r\n\r\n"))
                for part in self.says:
                    writer.write(part)
                    await asyncio.sleep(0)
                if self.hangs_up:
                    break
        writer.close()
        with contextlib.suppress(ConnectionError):
            await writer.wait_closed()

    @property
    def connections(self) -> int:
        """How many there were."""
        return len(self.tasks)


@asynccontextmanager
async def talking(prefix: str = "") -> AsyncIterator[tuple[Server, Pool]]:
    """A server and connections to it."""
    server = Server()
    listening = await asyncio.start_server(server.talk, "127.0.0.1", 0)
    port = listening.sockets[0].getsockname()[1]
    pool = Pool(f"http://127.0.0.1:{port}{prefix}", None, "X: y\r\n", sockets=2)
    try:
        yield server, pool
    finally:
        pool.close()
        listening.close()
        await asyncio.gather(*server.tasks)


async def get(pool: Pool, target: str = "/x", seconds: float = 5, permit: Callable[[], None] = lambda: None) -> bytes:
    return (await pool.call("GET", target, "", None, seconds, permit))[1]


@given(st.sampled_from([(SIZED, b"hello"), (PIECES, b"hello\r\n world")]), st.sets(st.integers(1, len(PIECES) - 1)))
def test_an_answer_may_be_cut_anywhere(answer: tuple[bytes, bytes], cuts: set[int]) -> None:
    async def scenario() -> None:
        async with talking() as (server, pool):
            ends = [0, *sorted(cuts), len(answer[0])]
            server.says = [answer[0][start:end] for start, end in itertools.pairwise(ends)]
            assert [await get(pool), await get(pool)] == [answer[1]] * 2
            assert server.connections == 1

    asyncio.run(scenario())


@pytest.mark.parametrize(
    "answer",
    [
        b"HTTP/1.1 200\r\nContent-Length: 5\r\nContent-Length: 5\r\n\r\nhello",
        b"HTTP/1.1 200 OK\r\ntransfer-encoding: Chunked\r\n\r\n5;a=b\r\nhello\r\n0\r\n\r\n",
        b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n0\r\nX: y\r\nZ: \r\n\r\n",
    ],
)
async def test_what_http_allows_is_read_to_its_end(answer: bytes) -> None:
    async with talking() as (server, pool):
        server.says = [answer]
        assert [await get(pool), await get(pool)] == [b"hello", b"hello"]
        assert server.connections == 1


async def test_what_is_asked() -> None:
    async with talking("/clusters/a/") as (server, pool):
        await pool.call("POST", "/api?x=1", "A: b\r\n", lambda: b"body", 5, lambda: None)
        [asked] = server.asked
    first, host, *rest = asked.split(b"\r\n")
    assert first == b"POST /clusters/a/api?x=1 HTTP/1.1"
    assert host.startswith(b"Host: 127.0.0.1:")
    assert rest == [b"X: y", b"A: b", b"Content-Length: 4", b"", b""]


@pytest.mark.parametrize("target", ["/a b", "/a\r\nHost: b", "/a\n"])
async def test_a_path_that_smuggles_is_not_sent(target: str) -> None:
    async with talking() as (server, pool):
        with pytest.raises(ValueError, match="is not a path"):
            await get(pool, target)
        assert server.asked == []


async def test_an_announcement_is_not_the_answer() -> None:
    async with talking() as (server, pool):
        server.says = [b"HTTP/1.1 103 Early Hints\r\nLink: x\r\n\r\n" + SIZED]
        assert await get(pool) == b"hello"


@pytest.mark.parametrize("status", [204, 304])
async def test_an_answer_without_a_body(status: int) -> None:
    async with talking() as (server, pool):
        for headers in (b"", b"Content-Length: 5\r\n", b"Transfer-Encoding: chunked\r\n"):
            server.says = [b"HTTP/1.1 %d Nothing\r\n%b\r\n" % (status, headers)]
            assert [await get(pool), await get(pool)] == [b"", b""]
        assert server.connections == 1


@pytest.mark.parametrize(
    "answer",
    [
        b"SSH-2.0-OpenSSH_9.2\r\n\r\n",
        b"HTTP/2 200\r\n\r\n",
        b"HTTP/1.1 OK\r\n\r\n",
        b"HTTP/1.1 200 OK\r\n\r\nwithout a length",
        b"HTTP/1.1 200 OK\r\nContent-Length: -5\r\n\r\nhello",
        b"HTTP/1.1 200 OK\r\nContent-Length: 5, 6\r\n\r\nhello",
        b"HTTP/1.1 200 OK\r\nContent-Length: 5\r\nTransfer-Encoding: gzip\r\n\r\nhello",
        b"HTTP/1.1 200 OK\r\nContent-Length: 5\r\nno header\r\n\r\nhello",
        b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\nhello",
        b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n-5\r\nhello\r\n0\r\n\r\n",
        b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n0x5\r\nhello\r\n0\r\n\r\n",
        b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhello!!0\r\n\r\n",
        b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n0\r\nno trailer\r\n\r\n",
        b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n0\r\nTransfer-Encoding: gzip\r\n\r\n",
        b"HTTP/1.1 101 Switching Protocols\r\n\r\n" + SIZED,
        b"HTTP/1.1 20\r\n\r\n" + SIZED,
        b"HTTP/1.1 200 OK\r\nX: " + b"x" * LARGEST_HEAD,
        b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5;" + b"x" * LARGEST_HEAD,
        b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n0\r\nX: " + b"x" * LARGEST_HEAD,
    ],
)
async def test_what_is_not_an_answer_is_an_error(answer: bytes) -> None:
    async with talking() as (server, pool):
        server.says = [answer]
        with pytest.raises(ConnectionBrokenError):
            await get(pool)
        server.says = [SIZED]
        assert await get(pool) == b"hello"
        assert server.connections == 2


@pytest.mark.parametrize("answer", [SIZED, PIECES])
async def test_an_answer_that_is_cut_off_is_an_error(answer: bytes) -> None:
    for length in range(len(answer)):
        async with talking() as (server, pool):
            server.says, server.hangs_up = [answer[:length]], True
            with pytest.raises(ConnectionError):
                await get(pool)


async def test_a_server_that_says_goodbye_is_not_asked_on_that_connection() -> None:
    async with talking() as (server, pool):
        server.says = [SIZED.replace(b"\r\n\r\n", b"\r\nConnection: x, Close\r\n\r\n")]
        assert [await get(pool), await get(pool)] == [b"hello", b"hello"]
        assert server.connections == 2


async def test_what_comes_unasked_is_nobodys_answer() -> None:
    async with talking() as (server, pool):
        server.says = [SIZED + SIZED.replace(b"hello", b"wrong")]
        assert [await get(pool), await get(pool)] == [b"hello", b"hello"]


async def test_a_late_answer_is_nobodys() -> None:
    async with talking() as (server, pool):
        server.says = []
        with pytest.raises(TimeoutError):
            await get(pool, seconds=0.05)
        server.says = [SIZED]
        assert await get(pool) == b"hello"
        assert server.connections == 2


async def test_no_more_connections_than_allowed() -> None:
    async with talking() as (server, pool):
        assert await asyncio.gather(*(get(pool) for _ in range(20))) == [b"hello"] * 20
        assert server.connections <= 2


async def test_a_permit_is_asked_for_when_nothing_is_left_to_wait_for() -> None:
    """One that had to wait for a connection may have lost its right to write meanwhile."""
    async with talking() as (server, pool):
        server.says = []
        waiting = [asyncio.create_task(get(pool)) for _ in range(2)]
        lost = asyncio.Event()

        def permit() -> None:
            assert not lost.is_set(), "not the leader any more"

        late = asyncio.create_task(get(pool, permit=permit))
        async with asyncio.timeout(60):
            while len(server.asked) < 2:  # noqa: ASYNC110 - nobody tells
                await asyncio.sleep(0)
        lost.set()
        for one in waiting:
            one.cancel()  # which makes room
        with pytest.raises(AssertionError, match="not the leader"):
            await late
        await asyncio.gather(*waiting, return_exceptions=True)
        assert len(server.asked) == 2


async def test_a_stream_brings_all_that_arrived_and_ends_with_the_server() -> None:
    async with talking() as (server, pool):
        server.says = [PIECES]
        async with pool.stream("/x", "", 5) as (head, parts):
            assert head.status == 200
            assert [part async for part in parts] == [b"hello\r\n world"]


async def test_what_arrives_while_a_part_is_read_is_not_lost(monkeypatch: pytest.MonkeyPatch) -> None:
    """The server sends the rest and closes the connection before the next part is asked for."""
    taken, lost = asyncio.Event(), asyncio.Event()
    connection_lost = http._Connection.connection_lost  # noqa: SLF001

    def tell(self: http._Connection, error: Exception | None) -> None:
        connection_lost(self, error)
        lost.set()

    monkeypatch.setattr(http._Connection, "connection_lost", tell)  # noqa: SLF001

    async def talk(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.readuntil(b"\r\n\r\n")
        writer.write(b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n3\r\none\r\n")
        await taken.wait()
        writer.write(b"3\r\ntwo\r\n0\r\n\r\n")
        writer.close()

    async with await asyncio.start_server(talk, "127.0.0.1", 0) as listening:
        pool = Pool(f"http://127.0.0.1:{listening.sockets[0].getsockname()[1]}", None, "", sockets=2)
        async with pool.stream("/x", "", 5) as (_, parts):
            assert await anext(parts) == b"one"
            taken.set()
            await asyncio.wait_for(lost.wait(), 60)
            assert [part async for part in parts] == [b"two"]


async def test_a_silent_stream_is_an_error() -> None:
    async with talking() as (server, pool):
        server.says = [PIECES[:-5]]
        async with pool.stream("/x", "", 2.0) as (_, parts):  # longer than a busy machine takes to answer
            assert await anext(parts) == b"hello\r\n world"
            with pytest.raises(TimeoutError):
                await anext(parts)


async def test_a_body_is_rendered_when_its_turn_has_come() -> None:
    """Thousands of large ones that wait would fill the memory; and the time to answer counts from then."""
    async with talking() as (server, pool):
        server.says = []  # no answer
        rendered = []

        def render() -> bytes:
            rendered.append(1)
            return b"x"

        calls = [asyncio.ensure_future(pool.call("POST", "/", "", render, 1.0, lambda: None)) for _ in range(6)]
        await asyncio.sleep(0)
        assert len(rendered) == 2
        results = await asyncio.gather(*calls, return_exceptions=True)
        assert len(rendered) == 6
        assert all(isinstance(result, TimeoutError) for result in results)
        assert len(server.asked) == 6
