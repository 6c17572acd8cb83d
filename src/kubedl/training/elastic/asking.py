"""Asks training programs over HTTP, beside the loop, and remembers the last answer of each job: about checkpoints here.

A program is not trusted: it is asked at the address that the API server has of its pod and nowhere else, for two
seconds at most, and of its answer a few bytes are read.
"""

import asyncio
import ipaddress
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from functools import partial
from typing import Generic, Protocol, TypeVar
from weakref import WeakValueDictionary

import msgspec
import structlog

from kubedl.kube.client import Client
from kubedl.kube.errors import ApiError
from kubedl.kube.types.core import Pod
from kubedl.kube.types.meta import ObjectKey, ObjectMeta, Record, Resource
from kubedl.training.elastic.checkpoint_token import token
from kubedl.training.plan import CheckpointRequest

SECONDS = 2.0  # for both requests together
PAUSE = 0.9  # seconds between two questions to a job, whoever wants to ask
AT_ONCE, OF_A_NAMESPACE = 64, 8  # programs: those of one namespace that do not answer must not delay all others
LONGEST_ANSWER = 4096  # bytes, with its head
LONGEST_ID = 64

T = TypeVar("T")
AnswerT = TypeVar("AnswerT")

Exchange = Callable[[str, str], Awaitable[AnswerT]]  # with an address, by a token
Unanswered = Callable[..., object]

log = structlog.get_logger()


class Asker(Protocol):
    """Asks, and remembers answers."""

    def confirmed(self, uid: str) -> str:
        """Return the last request that the program of a job has confirmed; empty if it has said nothing."""

    def ask(self, uid: str, request: CheckpointRequest) -> None:
        """Ask the program of a job; the answer is there later."""

    def forget(self, uid: str) -> None:
        """Forget what a job has answered."""


class NobodyAsks:
    """Asks nobody."""

    def confirmed(self, uid: str) -> str:
        """Return nothing."""
        return ""

    def ask(self, uid: str, request: CheckpointRequest) -> None:
        """Do nothing."""

    def forget(self, uid: str) -> None:
        """Do nothing."""


class _Address(Record, frozen=True):
    pod_ip: str = msgspec.field(name="podIP", default="")


class _Pod(Record, frozen=True):
    metadata: ObjectMeta = ObjectMeta()
    status: _Address = _Address()


class _State(Record, frozen=True):
    confirmed: str = ""


_PODS = Resource(_Pod, "Pod", "pods")
_STATE = msgspec.json.Decoder(_State)


class RefusedError(Exception):
    """The program did not answer as it should."""


@dataclass
class _Memory(Generic[AnswerT]):
    asked_at: float
    task: "asyncio.Task[None]"
    answer: AnswerT


class Questions(Generic[AnswerT]):
    """Asks each job once at a time, and remembers its last answer.

    Addresses are read when they are needed: the cache of pods has none, and another pod may get one later.
    """

    def __init__(self, client: Client, key: bytes, pause: float, rooms: tuple[int, int], told: Unanswered) -> None:
        """`rooms` are those of all namespaces, and of each; `told` is called if a program does not answer."""
        self._client, self._key, self._pause, self._told = client, key, pause, told
        self._jobs: dict[str, _Memory[AnswerT]] = {}
        self._room, self._of_a_namespace = asyncio.Semaphore(rooms[0]), rooms[1]
        self._rooms = WeakValueDictionary[str, asyncio.Semaphore]()  # of namespaces; there as long as somebody asks

    def forget(self, uid: str) -> None:
        """Forget a job; a question that is under way ends without an answer."""
        known = self._jobs.pop(uid, None)
        if known is not None:
            known.task.cancel()

    def _begin(self, uid: str, pod: Pod, known: AnswerT, exchange: Exchange[AnswerT]) -> None:
        """Ask in a task of its own, unless the last question is still open, or was asked a moment ago."""
        loop, before = asyncio.get_running_loop(), self._jobs.get(uid)
        if before is None or (before.task.done() and loop.time() - before.asked_at >= self._pause):
            self._jobs[uid] = _Memory(loop.time(), loop.create_task(self._ask(uid, pod, exchange)), known)

    async def _ask(self, uid: str, pod: Pod, exchange: Exchange[AnswerT]) -> None:
        try:
            # The turn of the namespace first: who waits for that one keeps none of the others.
            async with self._room_of(pod.metadata.namespace), self._room:
                host = await address_of(self._client, pod)
                async with asyncio.timeout(SECONDS):
                    answer = await exchange(host, token(self._key, uid))
        except (ApiError, OSError, RefusedError, TimeoutError) as error:
            self._told(pod=pod.metadata.name, error=str(error))
            return
        known = self._jobs.get(uid)
        if known is not None:
            known.answer = answer

    def _room_of(self, namespace: str) -> asyncio.Semaphore:
        room = self._rooms.get(namespace)
        if room is None:
            room = self._rooms[namespace] = asyncio.Semaphore(self._of_a_namespace)
        return room


class CheckpointAsker(Questions[str]):
    """Asks for checkpoints."""

    def __init__(self, client: Client, key: bytes) -> None:
        told = partial(log.info, "no answer to a request for a checkpoint")
        super().__init__(client, key, PAUSE, (AT_ONCE, OF_A_NAMESPACE), told)

    def confirmed(self, uid: str) -> str:
        """Return the last request that the program of a job has confirmed."""
        known = self._jobs.get(uid)
        return known.answer if known is not None else ""

    def ask(self, uid: str, request: CheckpointRequest) -> None:
        """Ask for a checkpoint."""

        def asked(host: str, secret: str) -> Awaitable[str]:
            return exchange(host, request.port, secret, request.id)

        self._begin(uid, request.pod, self.confirmed(uid), asked)


async def address_of(client: Client, pod: Pod) -> str:
    """Return the address of this very pod."""
    wanted = pod.metadata
    found = await client.get(_PODS, ObjectKey(wanted.namespace, wanted.name))
    if found.metadata.uid != wanted.uid:
        raise RefusedError("another pod has its name")
    return allowed(found.status.pod_ip)


def allowed(text: str) -> str:
    """Return an address that can be a pod's: not one of this machine, nor of the cloud's metadata."""
    try:
        address = ipaddress.ip_address(text)
    except ValueError as error:
        raise RefusedError(f"the pod has no address: {error}") from error
    mapped = address.ipv4_mapped if isinstance(address, ipaddress.IPv6Address) else None
    for one in (address, mapped or address):
        if one.is_loopback or one.is_link_local or one.is_multicast or one.is_unspecified:
            raise RefusedError(f"{one} is not the address of a pod")
    return str(address)


async def exchange(host: str, port: int, secret: str, request_id: str) -> str:
    """Ask for a checkpoint, and return which one the program has confirmed.

    A program that was started again has forgotten the request, so it is sent each time; it saves once for each id.
    """
    status, _ = await _call(host, port, secret, f"POST /kubedl/v1/checkpoint?id={request_id}")
    if status != 202:
        raise RefusedError(f"the program answers {status}")
    confirmed = (await read_state(host, port, secret, _STATE)).confirmed
    return confirmed if len(confirmed) <= LONGEST_ID else ""


async def read_state(host: str, port: int, secret: str, decoder: msgspec.json.Decoder[T]) -> T:
    """Ask a program for its state, and read the part of it that is needed: what else it says may be anything."""
    status, body = await _call(host, port, secret, "GET /kubedl/v1/state")
    if status != 200:
        raise RefusedError(f"the program answers {status}")
    try:
        return decoder.decode(body)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        raise RefusedError(f"the program's state is malformed: {error}") from error


async def _call(host: str, port: int, secret: str, what: str) -> tuple[int, bytes]:
    """Send one request; returns status and body. Redirects are answers like any other, and not followed."""
    reader, writer = await asyncio.open_connection(host, port, limit=LONGEST_ANSWER)
    try:
        name = f"[{host}]" if ":" in host else host
        head = f"{what} HTTP/1.1\r\nHost: {name}:{port}\r\nAuthorization: Bearer {secret}\r\nConnection: close\r\n"
        writer.write(f"{head}Content-Length: 0\r\n\r\n".encode())
        answer = await _read(reader)
    finally:
        writer.transport.abort()  # a program that does not read must not keep the connection
    line, _, rest = answer.partition(b"\r\n")
    words = line.split(b" ", 2)
    if len(words) < 2 or not words[0].startswith(b"HTTP/1.") or not (words[1].isdigit() and len(words[1]) == 3):
        raise RefusedError("the program does not speak HTTP")
    return int(words[1]), (b"\r\n" + rest).partition(b"\r\n\r\n")[2]


async def _read(reader: asyncio.StreamReader) -> bytes:
    """Read until the program closes the connection."""
    answer = b""
    while len(answer) <= LONGEST_ANSWER:
        part = await reader.read(LONGEST_ANSWER)
        if not part:
            return answer
        answer += part
    raise RefusedError(f"the program's answer is longer than {LONGEST_ANSWER} bytes")
