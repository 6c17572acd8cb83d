"""Answer with the digit that a drawing shows. Any server would do; this one is short enough to read."""

import json
import os
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

from digits import points
from model import probabilities

WEIGHTS = json.loads((Path(os.environ["KUBEDL_MODEL_PATH"]) / "digits.json").read_text())


class Handler(BaseHTTPRequestHandler):
    """POST a drawing, get a digit."""

    def do_POST(self) -> None:
        drawing = self.rfile.read(int(self.headers["Content-Length"])).decode()
        found = probabilities(WEIGHTS, points(drawing))
        answer = json.dumps({"digit": found.index(max(found)), "sure": round(max(found), 3)}) + "\n"
        self.send_response(200)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(answer)))
        self.end_headers()
        self.wfile.write(answer.encode())


if __name__ == "__main__":
    ThreadingHTTPServer(("", 8080), Handler).serve_forever()
