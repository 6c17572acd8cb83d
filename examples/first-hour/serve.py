"""Answer with the point of the line. It lies beside the model, so the model image is all that a server needs."""

import json
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

LINE = json.loads(Path(__file__).with_name("line.json").read_text())


class Handler(BaseHTTPRequestHandler):
    """POST a number, get a number."""

    def do_POST(self) -> None:
        number = float(self.rfile.read(int(self.headers["Content-Length"])))
        answer = json.dumps({"y": round(LINE["slope"] * number + LINE["start"], 1)}) + "\n"
        self.send_response(200)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(answer)))
        self.end_headers()
        self.wfile.write(answer.encode())


if __name__ == "__main__":
    ThreadingHTTPServer(("", 8080), Handler).serve_forever()
