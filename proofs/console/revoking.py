"""How soon a stream ends when a right or a token is taken away, and what streams of others carry meanwhile."""

import http.client
import threading
import time
from contextlib import suppress
from dataclasses import dataclass, field
from urllib.parse import urlsplit

from harness.drivers.console_objects import TRAINING, Team
from harness.drivers.console_process import ConsoleProcess, token_of
from testbed.cluster import Cluster
from testbed.errors import TestbedError

SECONDS = 75.0  # of which 60 are promised
PAUSE = 0.5
LIST_JOBS = {"apiGroups": [TRAINING], "resources": ["pytorchjobs"], "verbs": ["list"]}
RIGHTS = "/apis/rbac.authorization.k8s.io/v1/namespaces"


@dataclass
class Stream:
    """One open stream, read by a thread."""

    console: ConsoleProcess
    token: str
    word: str  # what rows that matter contain
    first: float = 0.0  # when such a row first came, by the monotonic clock
    last: float = 0.0
    ended: float = 0.0  # when the stream ended
    signed_out: bool = False
    text: list[bytes] = field(default_factory=list)

    def __post_init__(self) -> None:
        threading.Thread(target=self._read, daemon=True).start()

    def _read(self) -> None:
        connection = http.client.HTTPConnection(urlsplit(self.console.url).netloc, timeout=SECONDS)
        with suppress(OSError, http.client.HTTPException):
            connection.request("GET", "/api/v1/stream", headers={"Authorization": f"Bearer {self.token}"})
            answer = connection.getresponse()
            while line := answer.readline():
                self._take(line)
        self.ended = time.monotonic()

    def _take(self, line: bytes) -> None:
        self.text.append(line)
        self.signed_out = self.signed_out or line.startswith(b"event: signed-out")
        if self.word.encode() in line:
            self.last = time.monotonic()
            self.first = self.first or self.last


def revoked(cluster: Cluster, console: ConsoleProcess, team: Team, word: str, neighbour: str) -> dict[str, float]:
    """Change a job all the time, take a right from one person and the account from another, and read on."""
    namespace = team.namespace
    people = [token_of(cluster, namespace, name, LIST_JOBS) for name in ("loses-right", "loses-account")]
    right, account = (Stream(console, token, word) for token in people)
    other = Stream(console, neighbour, word)
    number = _change(team, word, 0, time.monotonic() + 10)
    if not (right.first and account.first):
        raise TestbedError("the streams say nothing about the job while the rights are there")
    began = time.monotonic()
    cluster.api.delete(f"{RIGHTS}/{namespace}/rolebindings/loses-right")
    cluster.api.delete(f"/api/v1/namespaces/{namespace}/serviceaccounts/loses-account")
    _change(team, word, number, began + SECONDS)
    if not other.text:
        raise TestbedError("the neighbour's stream is silent")
    return {
        "seconds after a right was taken away": round(max(0.0, right.last - began), 1),
        "seconds after an account was deleted": round(max(0.0, account.last - began), 1),
        "streams of deleted accounts that say so": int(account.signed_out),
        "rows of others in a stream": int(bool(other.last)),
    }


def _change(team: Team, name: str, number: int, end: float) -> int:
    path = f"{team.path(TRAINING, 'pytorchjobs')}/{name}/status"
    while time.monotonic() < end:
        number += 1
        team.connection.patch(path, {"status": {"message": f"{name} {number}"}})
        time.sleep(PAUSE)
    return number
