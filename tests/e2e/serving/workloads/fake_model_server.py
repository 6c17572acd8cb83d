"""A model server in the least that one can be: it says who it is, and behaves as its model says.

The model is a file of JSON: how many of a hundred answers are errors, and how long an answer takes. Without a model the
environment says who it is. POST /die ends it at once, and for good: it ends again whenever it is started.
"""

import json
import os
import signal
import threading
import time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

PORT = 8080
MODEL = Path(os.environ.get("KUBEDL_MODEL_PATH", "/kubedl-model")) / "behaviour.json"
DEAD = Path("/tmp/dead")  # noqa: S108 - a volume of the pod, which outlives its container


def behaviour() -> dict[str, Any]:
    """What the model says, or the environment."""
    if MODEL.exists():
        found: dict[str, Any] = json.loads(MODEL.read_text())
        return found
    return {"by": os.environ["NAME"], "error_percent": 0, "seconds": 0.0}


class Answer(BaseHTTPRequestHandler):
    """One connection."""

    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True
    known = behaviour()
    _count = 0
    _counting = threading.Lock()

    def do_GET(self) -> None:
        time.sleep(self.known["seconds"])
        bad = self.path != "/ready" and self._turn() % 100 < self.known["error_percent"]
        self._say(500 if bad else 200, {"by": self.known["by"], "host": self.headers.get("Host", "")})

    def do_POST(self) -> None:
        self.rfile.read(int(self.headers.get("Content-Length") or 0))
        if self.path == "/die":
            DEAD.touch()
            os._exit(1)
        self.do_GET()

    def log_message(self, *_: object) -> None:
        """Nothing: a line for each request costs more than its answer."""

    @classmethod
    def _turn(cls) -> int:
        """Errors are spread evenly, so that any few hundred requests have their part of them."""
        with cls._counting:
            cls._count += 1
            return cls._count * 37

    def _say(self, status: int, content: dict[str, Any]) -> None:
        body = json.dumps(content).encode()
        self.send_response(status)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)


class Server(ThreadingHTTPServer):
    """Whoever connects while it is busy waits; with the library's five places a new connection takes a second more."""

    daemon_threads = True
    request_queue_size = 128


def main() -> None:
    if DEAD.exists():
        os._exit(1)
    server = Server(("", PORT), Answer)
    signal.signal(signal.SIGTERM, lambda *_: os._exit(0))
    server.serve_forever()


if __name__ == "__main__":
    main()
