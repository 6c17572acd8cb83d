"""Answer with the digit that a drawing shows. Any server would do; this one is short enough to read."""

import json
import os
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import torch
from network import network, tensor

MODEL = network()
MODEL.load_state_dict(torch.load(Path(os.environ["KUBEDL_MODEL_PATH"]) / "digits.pt", weights_only=True))


class Handler(BaseHTTPRequestHandler):
    """POST a drawing, get a digit."""

    def do_POST(self) -> None:
        drawing = self.rfile.read(int(self.headers["Content-Length"])).decode()
        with torch.no_grad():
            sure, digit = MODEL(tensor(drawing)).softmax(0).max(0)
        answer = json.dumps({"digit": int(digit), "sure": round(float(sure), 3)}) + "\n"
        self.send_response(200)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(answer)))
        self.end_headers()
        self.wfile.write(answer.encode())


if __name__ == "__main__":
    ThreadingHTTPServer(("", 8080), Handler).serve_forever()
