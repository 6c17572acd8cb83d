"""The few calls to the API server that the test bed and its tests make, as plain JSON.

One connection per call on purpose: a test that freezes or restarts the API server must never meet
a pooled connection from before.
"""

import http.client
import json
import ssl
import urllib.parse
from pathlib import Path
from typing import Any

from testbed.errors import TestbedError

Object = dict[str, Any]


def is_true(body: Object, condition: str) -> bool:
    """Whether an object's status has this condition and it is True."""
    conditions = body.get("status", {}).get("conditions") or []
    return any(item["type"] == condition and item["status"] == "True" for item in conditions)


class ApiError(TestbedError):
    """The API server answered with an error."""

    def __init__(self, method: str, path: str, status: int, message: str) -> None:
        super().__init__(f"{method} {path}: {status} {message}")
        self.status = status


class ApiUnavailableError(ApiError, ConnectionError):
    """The API server said "not now": whoever waits for it goes on waiting."""


JSON_HEADERS = {"Content-Type": "application/json", "Accept": "application/json"}
NOT_NOW = {429, 500, 502, 503, 504}


class Api:
    """JSON over HTTPS to one API server as one user."""

    def __init__(self, server: str, authority: Path, certificate: Path, key: Path, timeout: float = 30.0) -> None:
        address = urllib.parse.urlsplit(server)
        self._host, self._port = address.hostname or "", address.port or 443
        self._files = authority, certificate, key
        self._timeout = timeout
        self._context: ssl.SSLContext | None = None

    def get(self, path: str) -> Object:
        return self.call("GET", path)

    def list(self, path: str) -> list[Object]:
        items: list[Object] = self.call("GET", path)["items"]
        return items

    def create(self, path: str, body: Object) -> Object:
        return self.call("POST", path, body)

    def delete(self, path: str) -> None:
        """Delete; what is gone already is fine."""
        try:
            self.call("DELETE", path)
        except ApiError as error:
            if error.status != 404:
                raise

    def exists(self, path: str) -> bool:
        try:
            self.get(path)
        except ApiError as error:
            if error.status == 404:
                return False
            raise
        return True

    def healthy(self, path: str = "/readyz") -> bool:
        """Whether a probe answers 200."""
        try:
            return self._send("GET", path, None, {})[0] == 200
        except OSError:
            return False

    def call(self, method: str, path: str, body: Object | None = None) -> Object:
        """One request; an error answer becomes ApiError with the server's own message."""
        content = json.dumps(body).encode() if body is not None else None
        status, answer = self._send(method, path, content, JSON_HEADERS)
        parsed: Object = json.loads(answer) if answer.startswith(b"{") else {"message": answer.decode(errors="replace")}
        if status >= 400:
            kind = ApiUnavailableError if status in NOT_NOW else ApiError
            raise kind(method, path, status, parsed.get("message", ""))
        return parsed

    def _send(self, method: str, path: str, body: bytes | None, headers: dict[str, str]) -> tuple[int, bytes]:
        if self._context is None:
            authority, certificate, key = self._files
            context = ssl.create_default_context(cafile=str(authority))
            context.load_cert_chain(certificate, key)
            self._context = context  # whole: another thread may be waiting for it
        connection = http.client.HTTPSConnection(self._host, self._port, timeout=self._timeout, context=self._context)
        try:
            connection.request(method, path, body, headers)
            response = connection.getresponse()
            return response.status, response.read()
        except http.client.HTTPException as error:
            raise ConnectionError(f"{method} {path}: {type(error).__name__}: {error}") from error
        finally:
            connection.close()
