"""Answers requests for checkpoints in a training program. One file of the standard library: install kubedl, or copy it.

`POST /kubedl/v1/checkpoint?id=bert-7` asks for a checkpoint, and is answered at once. `GET /kubedl/v1/state` tells of
`step`, `total`, `durableStep`, and `confirmed`: the last id whose checkpoint is whole. An id that is asked for again,
or whose number is not above the confirmed one, makes no second checkpoint. In a pod of a job with `elastic.checkpoint`
the operator asks, and the environment says at which port, and how it proves itself.
"""

from __future__ import annotations

import hashlib
import hmac
import json
import os
import socket
import threading
import time
from contextlib import suppress

PAUSE, AT_ONCE = 30.0, 32  # seconds at least between two checkpoints that were asked for; connections
LONGEST_REQUEST, SECONDS_TO_SEND = 2048, 0.5  # bytes, and all together: nobody keeps one of the turns longer
ASK, STATE = "POST /kubedl/v1/checkpoint?id=", "GET /kubedl/v1/state"


class Checkpoints:
    """What a program has reached and saved, and who asked it to save. Methods may be called from any thread."""

    def __init__(self, total: int = 0, *, host: str = "", port: int | None = None, token: str = "") -> None:
        """Steps altogether, if they are known. Nobody beyond this machine is answered without a token."""
        digest = hashlib.sha256(token.encode()).hexdigest() if token else os.environ.get("KUBEDL_CHECKPOINT_DIGEST", "")
        every = "::" if socket.has_dualstack_ipv6() else "0.0.0.0"  # noqa: S104 - of the pod
        host = host or (every if digest and not token else "127.0.0.1")
        if not digest and host != "127.0.0.1":
            raise ValueError("whoever reaches the port could ask for checkpoints: give a token, or use 127.0.0.1")
        self._lock, self._digest = threading.Lock(), digest
        self._total, self._step, self._durable, self._asked_at, self._not_before = total, 0, 0, 0, 0.0
        self._asked = self._saving = self._confirmed = ""
        port = int(os.environ.get("KUBEDL_CHECKPOINT_PORT", "29500")) if port is None else port
        family = socket.AF_INET6 if ":" in host else socket.AF_INET
        self._socket = socket.create_server((host, port), family=family, dualstack_ipv6=host == "::")
        self.port: int = self._socket.getsockname()[1]
        for _ in range(AT_ONCE):  # clients that send nothing must not keep the operator waiting
            threading.Thread(target=self._serve, name="checkpoints", daemon=True).start()

    def close(self) -> None:
        """Answer nobody any more."""
        self._socket.shutdown(socket.SHUT_RDWR)  # else threads that wait in accept() would keep the port
        self._socket.close()

    def reached(self, step: int) -> None:
        """So many steps are done."""
        with self._lock:
            self._step = step

    def wanted(self) -> bool:
        """Whether somebody waits for a checkpoint; then save, and say so with `saved`."""
        with self._lock:
            is_new = _number(self._asked) > _number(self._confirmed)
            self._saving = self._asked if is_new and time.monotonic() >= self._not_before else ""
            return bool(self._saving)

    def saved(self, step: int) -> None:
        """A checkpoint of this step is whole and can be loaded; asked for or not."""
        with self._lock:
            self._durable = max(self._durable, step)
            if self._saving and step >= self._asked_at:
                self._confirmed, self._not_before = self._saving, time.monotonic() + PAUSE
            self._saving = ""

    def _serve(self) -> None:
        while self._socket.fileno() >= 0:
            with suppress(OSError), self._socket.accept()[0] as connection:
                status, body = self._answer(_head(connection))
                connection.sendall(f"HTTP/1.1 {status}\r\nConnection: close\r\n\r\n{body}".encode())
            time.sleep(0.1)  # no more answers than a program can bear, whoever asks

    def _answer(self, head: str) -> tuple[str, str]:
        request, *headers = head.split("\r\n")
        given = [line.partition(":")[2].strip() for line in headers if line.lower().startswith("authorization:")]
        proof = hashlib.sha256("".join(given).partition(" ")[2].encode()).hexdigest()
        if self._digest and not hmac.compare_digest(proof, self._digest):
            return "401 Unauthorized", ""
        what = request.rpartition(" ")[0]
        with self._lock:
            if what == STATE:
                numbers = {"step": self._step, "total": self._total, "durableStep": self._durable}
                return "200 OK", json.dumps({**numbers, "confirmed": self._confirmed})
            asked = what[len(ASK) :] if what.startswith(ASK) else ""
            if not _number(asked):
                return "404 Not Found", ""
            if _number(asked) > _number(self._asked):
                self._asked, self._asked_at = asked, self._step
            return "202 Accepted", ""


def _head(connection: socket.socket) -> str:
    """Read a request without its body; nothing of one that is too long or too slow."""
    end, data = time.monotonic() + SECONDS_TO_SEND, b""
    while b"\r\n\r\n" not in data and len(data) < LONGEST_REQUEST:
        connection.settimeout(max(end - time.monotonic(), 0.001))
        data += connection.recv(LONGEST_REQUEST - len(data)) or b"\r\n\r\n"
    head, is_whole, _ = data.decode("latin-1").partition("\r\n\r\n")
    return head if is_whole else ""


def _number(asked: str) -> int:
    """Return the number at the end of an id; 0 if it is none."""
    number = asked.rpartition("-")[2]
    return int(number) if asked.isascii() and len(asked) < 64 and number.isdecimal() and len(number) < 10 else 0
