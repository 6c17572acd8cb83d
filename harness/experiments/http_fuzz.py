"""Answers of HTTP/1.1 drawn at random, right and broken, read by the operator's client and by h11: do they agree?

`python -m harness.experiments.http_fuzz` reads 100,000 of them, or 2,000 unless PROOF_SIZE is full, and prints as JSON
how many were read, how many both accepted, and how many they disagree about. The dice decide everything.
"""

import asyncio
import json
import os
import random
import re
import sys
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import cast

import h11

from kubedl.kube.http import _Connection
from kubedl.kube.http_parser import ConnectionBrokenError

FULL, SMALL = 100_000, 2_000
# No line ends by halves and no blanks: those show in an answer that its framing is odd (see `why_refused`).
CONTENT = (b"a", b"0", b"\r\n", b"\r\n\r\n", b"0\r\n\r\n", b"5\r\n", b"\xff", b"{}", b"\x00", b";", b"HTTP/1.1")
ODD_BYTES = (b"\r", b"\n", b"\r\n", b" ", b"\t", b"\x00", b":", b";", b",", b"0", b"-", b"+", b"_", b"g", b"\xff")
STATUSES = (
    "200",
    "200",
    "200",
    "201",
    "204",
    "304",
    "404",
    "409",
    "500",
    "999",
    "100",
    "101",
    "099",
    "20",
    "2000",
    "2x0",
)
VERSIONS = ("HTTP/1.1",) * 9 + ("HTTP/1.0", "HTTP/2", "HTTP/1.10", "http/1.1")
REASONS = (" OK", " ", "", " Not Found", " \t", "OK", " \xe4", " a\x00b")
FIELDS = (
    "Content-Type: application/json", "Audit-Id: 1", "X: ", "X:", "Warning: 299 - \"a, b\"", "Retry-After: 1",
    "Connection: close", "connection: keep-alive, Close", "Connection: keep-alive", "X : 1", "X", ": x", " folded",
    "X: \x01", "Content-Length: 3", "Transfer-Encoding: chunked", "Transfer-Encoding: gzip, chunked",
    "Transfer-Encoding:",
)  # fmt: skip
LENGTHS = (
    "{}",
    "{}",
    "{}",
    "{}",
    " {} ",
    "{0}, {0}",
    "0{}",
    "+{}",
    "-{}",
    "{}_0",
    "0x{}",
    "{} 1",
    "{0},{0}1",
    "",
    "1" * 21,
)
EXTENSIONS = ("", "", "", "", "", ";a", ";a=b", ';a="b c"', " ", "\t", ";", " ;a", " a", "h", ";\x00")
SIZES = ("{:x}", "{:x}", "{:x}", "{:X}", "00{:x}", "0x{:x}", "+{:x}", "-{:x}", "{:x}_", " {:x}", "{:022x}")
CUTS = 4


@dataclass(frozen=True)
class Read:
    """What was understood."""

    status: int
    body: bytes
    again: bool  # whether the connection may be used again


def drawn(dice: random.Random) -> list[bytes]:
    """An answer, in the parts in which it arrives."""
    odd = dice.random() < 0.4  # else every choice is the usual one, so that most of what is drawn is right
    content = b"".join(dice.choices(CONTENT, k=dice.randint(0, 8)))
    lines = [
        dice.choice(VERSIONS if odd else VERSIONS[:1])
        + " "
        + _status(dice, odd)
        + dice.choice(REASONS[: 8 if odd else 4])
    ]
    fields = dice.choices(FIELDS if odd else FIELDS[:9], k=dice.randint(0, 3))
    framing = dice.choice(("sized", "pieces") if dice.random() < 0.9 else ("none",))
    if framing == "sized":
        fields.append("Content-Length: " + dice.choice(LENGTHS if odd else LENGTHS[:6]).format(len(content)))
        body = content
    elif framing == "pieces":
        fields.append(dice.choice(("Transfer-Encoding: chunked", "transfer-encoding:  Chunked \t")))
        body = _pieces(dice, content, odd)
    else:
        body = content
    dice.shuffle(fields)
    answer = "\r\n".join((*lines, *fields, "", "")).encode("latin-1") + body
    if dice.random() < 0.1:
        answer = b"HTTP/1.1 103 Early Hints\r\nLink: x\r\n\r\n" + answer
    return _cut(dice, _spoilt(dice, answer) if dice.random() < 0.3 else answer)


def _status(dice: random.Random, odd: bool) -> str:
    return dice.choice(STATUSES if odd else STATUSES[:10])


def _pieces(dice: random.Random, content: bytes, odd: bool) -> bytes:
    body, left = b"", content
    while left:
        size = dice.randint(1, len(left))
        head = dice.choice(SIZES if odd else SIZES[:5]).format(size) + dice.choice(
            EXTENSIONS if odd else EXTENSIONS[:10]
        )
        body += head.encode("latin-1") + b"\r\n" + left[:size] + b"\r\n"
        left = left[size:]
    trailers = dice.choices(FIELDS if odd else FIELDS[:6], k=dice.choice((0, 0, 0, 1, 2)))
    last = "0" + dice.choice(EXTENSIONS if odd else EXTENSIONS[:10])
    return body + "\r\n".join((last, *trailers, "", "")).encode("latin-1")


def _spoilt(dice: random.Random, answer: bytes) -> bytes:
    """Something taken away, put in, replaced, or cut off."""
    for _ in range(dice.randint(1, 2)):
        place = dice.randint(0, len(answer))
        taken = dice.choice((0, 1, 1, 2, len(answer)))
        put = b"" if dice.random() < 0.3 else dice.choice(ODD_BYTES)
        answer = answer[:place] + put + answer[place + taken :]
    return answer.replace(b"\r\n", b"\n") if dice.random() < 0.05 else answer


def _cut(dice: random.Random, answer: bytes) -> list[bytes]:
    if dice.random() < 0.04:
        return [answer[place : place + 1] for place in range(len(answer))]
    places = sorted(dice.randint(0, len(answer)) for _ in range(dice.randint(0, CUTS)))
    return [answer[begin:end] for begin, end in zip([0, *places], [*places, len(answer)], strict=True)]


def by_h11(parts: Sequence[bytes]) -> Read | None:
    """What h11 understands; None if it refuses. After the parts the server hangs up."""
    connection = h11.Connection(h11.CLIENT)
    connection.send(h11.Request(method="GET", target="/", headers=[("Host", "a")]))
    connection.send(h11.EndOfMessage())
    status, body = 0, bytearray()
    try:
        for part in (*(one for one in parts if one), b""):
            connection.receive_data(part)
            while (event := connection.next_event()) not in (h11.NEED_DATA, h11.PAUSED):
                if isinstance(event, h11.Response):
                    status = event.status_code
                elif isinstance(event, h11.Data):
                    body += event.data
                elif isinstance(event, h11.EndOfMessage):
                    return Read(status, bytes(body), again=connection.their_state is h11.DONE)
                elif isinstance(event, h11.ConnectionClosed):
                    return None
    except h11.RemoteProtocolError:
        return None
    return None


class _Wire:
    """As much of a transport as a connection needs."""

    def __init__(self) -> None:
        self.closed = False

    def write(self, data: bytes) -> None:
        """Nobody reads it."""

    def is_closing(self) -> bool:
        """Whether the server has hung up."""
        return self.closed


async def by_client(parts: Sequence[bytes]) -> Read | None:
    """What the operator's client understands; None if it refuses."""
    wire, connection = _Wire(), _Connection(None)
    connection.connection_made(cast("asyncio.Transport", wire))

    async def read() -> Read:
        head = await connection.send(b"")
        body = await connection.body()
        # Of whether it may be used again, only what the answer itself says: all of these servers hang up.
        return Read(head.status, body, again=not connection._ended)  # noqa: SLF001 - as `reusable` reads it

    reading = asyncio.ensure_future(read())
    await asyncio.sleep(0)
    for part in parts:
        if reading.done():
            break
        connection.data_received(part)
        await asyncio.sleep(0)
        await asyncio.sleep(0)
    if not reading.done():
        wire.closed = True
        connection.connection_lost(None)
    try:
        return await reading
    except ConnectionBrokenError:
        return None


def why_refused(answer: bytes) -> str:
    """Why the client may refuse what h11 accepts; each is harmless, since no API server answers so. Empty: a defect."""
    head = re.split(rb"\n\r?\n", answer.removeprefix(b"HTTP/1.1 103 Early Hints\r\nLink: x\r\n\r\n"), maxsplit=1)[0]
    reasons = {
        "another version of HTTP": not head.startswith(b"HTTP/1.1 "),
        "a line that ends without CR": re.search(rb"(?<!\r)\n", answer),
        "a CR without LF in an extension": re.search(rb"\r(?!\n)", answer),
        "a header over several lines": re.search(rb"\n[ \t]", answer),
        "a body that ends with the connection": not re.match(rb"HTTP/1.1 (204|304)", head)
        and not re.search(rb"(?i)\n(content-length|transfer-encoding):", head),
    }
    return next((reason for reason, is_so in reasons.items() if is_so), "")


async def compare(count: int, seed: int, report: Callable[[str], None]) -> Counter[str]:
    """Draw so many and read them; what they disagree about is reported."""
    dice, outcomes = random.Random(seed), Counter[str]()  # noqa: S311 - no secret
    for _ in range(count):
        parts = drawn(dice)
        answer, expected, found = b"".join(parts), by_h11(parts), await by_client(parts)
        outcomes["answers"] += 1
        if expected == found:
            outcomes["accepted" if expected else "refused"] += 1
        elif found is None and (reason := why_refused(answer)):
            outcomes[reason] += 1
        else:
            outcomes["disagreements"] += 1
            report(f"{answer!r} in {len(parts)} parts: h11 reads {expected}, the client {found}")
    return outcomes


def main() -> None:
    """Print how often they agree."""
    count = FULL if os.environ.get("PROOF_SIZE", "full") == "full" else SMALL
    outcomes = asyncio.run(compare(count, 0, lambda text: print(text, file=sys.stderr)))
    print(json.dumps({"disagreements": 0, **outcomes}))


if __name__ == "__main__":
    main()
