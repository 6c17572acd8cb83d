"""A git server over HTTPS that lets in only who knows the password: `git http-backend` behind the standard library.

python3 git_server.py <directory with bare repositories> <address> <port> <key and certificate> <user> <password>
"""

import base64
import os
import ssl
import subprocess
import sys
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer


class Repositories(ThreadingHTTPServer):
    """Serves the bare repositories of a directory."""

    def __init__(self, root: str, address: tuple[str, int], certificate: str, credentials: tuple[str, str]) -> None:
        super().__init__(address, Request)
        self.root = root
        self.credentials = credentials
        tls = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        tls.load_cert_chain(certificate)
        self.socket = tls.wrap_socket(self.socket, server_side=True)


class Request(BaseHTTPRequestHandler):
    """One request, handed to git as a CGI program."""

    protocol_version = "HTTP/1.1"
    server: Repositories

    def do_GET(self) -> None:
        self._serve()

    def do_POST(self) -> None:
        self._serve()

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002 - the library's name
        """Say nothing."""

    def _serve(self) -> None:
        body = self._body()
        if not self._is_known():
            self._answer(401, [("WWW-Authenticate", 'Basic realm="git"')], b"who are you?\n")
            return
        path, _, query = self.path.partition("?")
        environment = {
            "PATH": os.environ["PATH"],
            "GIT_PROJECT_ROOT": self.server.root,
            "GIT_HTTP_EXPORT_ALL": "1",
            "REQUEST_METHOD": self.command,
            "PATH_INFO": path,
            "QUERY_STRING": query,
            "CONTENT_TYPE": self.headers.get("Content-Type", ""),
            "CONTENT_LENGTH": str(len(body)),
            "HTTP_CONTENT_ENCODING": self.headers.get("Content-Encoding", ""),
            "GIT_PROTOCOL": self.headers.get("Git-Protocol", ""),
            # Repositories belong to whoever made the volume.
            "GIT_CONFIG_COUNT": "1",
            "GIT_CONFIG_KEY_0": "safe.directory",
            "GIT_CONFIG_VALUE_0": "*",
        }
        made = subprocess.run(["git", "http-backend"], input=body, env=environment, stdout=subprocess.PIPE, check=True)
        head, _, content = made.stdout.partition(b"\r\n\r\n")
        fields = [tuple(line.split(": ", 1)) for line in head.decode().split("\r\n")]
        status = next((value for name, value in fields if name == "Status"), "200")
        self._answer(int(status.split()[0]), [(name, value) for name, value in fields if name != "Status"], content)

    def _is_known(self) -> bool:
        wanted = base64.b64encode(":".join(self.server.credentials).encode()).decode()
        return self.headers.get("Authorization", "") == f"Basic {wanted}"

    def _body(self) -> bytes:
        if self.headers.get("Transfer-Encoding", "") != "chunked":
            return self.rfile.read(int(self.headers.get("Content-Length", "0")))
        parts = []
        while size := int(self.rfile.readline().strip(), 16):
            parts.append(self.rfile.read(size))
            self.rfile.readline()
        self.rfile.readline()
        return b"".join(parts)

    def _answer(self, status: int, fields: list[tuple[str, str]], content: bytes) -> None:
        self.send_response(status)
        for name, value in fields:
            self.send_header(name, value)
        self.send_header("Content-Length", str(len(content)))
        self.end_headers()
        self.wfile.write(content)


if __name__ == "__main__":
    directory, address, port, certificate, user, password = sys.argv[1:]
    Repositories(directory, (address, int(port)), certificate, (user, password)).serve_forever()
