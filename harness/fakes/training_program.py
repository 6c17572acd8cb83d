"""A training program on paper: it has saved as soon as it is asked, if it is asked by the operator of its pod."""

import hashlib
import json
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

from testbed.api import Object

ASK, STATE = "/kubedl/v1/checkpoint?id=", "/kubedl/v1/state"
DIGEST = "KUBEDL_CHECKPOINT_DIGEST"


class TrainingProgram:
    """What it was asked for. It answers nobody before it knows its pod."""

    def __init__(self) -> None:
        self.port = 0
        self.saved: list[str] = []  # ids, each once
        self._digest = ""

    def runs_in(self, pod: Object) -> None:
        """Read the variable that its pod has."""
        variables = pod["spec"]["containers"][0]["env"]
        self._digest = next(one["value"] for one in variables if one["name"] == DIGEST)

    def answer(self, method: str, path: str, authorization: str) -> tuple[int, bytes]:
        """Return status and body."""
        given = hashlib.sha256(authorization.removeprefix("Bearer ").encode()).hexdigest()
        if not self._digest or given != self._digest:
            return 401, b""
        if method == "POST" and path.startswith(ASK):
            asked = path.removeprefix(ASK)
            if asked not in self.saved:
                self.saved.append(asked)
            return 202, b""
        confirmed = self.saved[-1] if self.saved else ""
        return (200, json.dumps({"step": 1, "confirmed": confirmed}).encode()) if path == STATE else (404, b"")


@contextmanager
def training_program(address: str) -> Iterator[TrainingProgram]:
    """A program that listens there, at a port of its own."""
    program = TrainingProgram()

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            self._answer()

        def do_GET(self) -> None:
            self._answer()

        def _answer(self) -> None:
            status, body = program.answer(self.command, self.path, self.headers.get("Authorization", ""))
            self.send_response(status)
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, format: str, *args: object) -> None:  # noqa: A002 - the name of the standard library
            """Say nothing."""

    with ThreadingHTTPServer((address, 0), Handler) as server:
        server.daemon_threads = True
        program.port = server.server_port
        threading.Thread(target=server.serve_forever, name="training-program", daemon=True).start()
        try:
            yield program
        finally:
            server.shutdown()
