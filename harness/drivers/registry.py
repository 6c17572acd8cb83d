"""A real registry for one test: Debian's, as the test bed starts it, on loopback and with storage of its own.

It can ask for a password and speak TLS, which the test bed's own need not.
"""

import hashlib
import http.client
import json
import socket
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from harness.drivers.operator_process import free_port
from harness.drivers.process import Process
from testbed.errors import TestbedError
from testbed.waiting import until

ACCEPT = "application/vnd.oci.image.manifest.v1+json, application/vnd.oci.image.index.v1+json"


@dataclass(frozen=True)
class RealRegistry:
    """What it holds, asked directly and not through the code under test."""

    address: str

    def manifest(self, repository: str, reference: str) -> dict[str, Any] | None:
        """A manifest, if its bytes are those of its digest."""
        status, headers, content = self.get(f"/v2/{repository}/manifests/{reference}")
        if status != 200:
            return None
        digest = f"sha256:{hashlib.sha256(content).hexdigest()}"
        if digest != headers["Docker-Content-Digest"] or (reference.startswith("sha256:") and digest != reference):
            raise TestbedError(f"the registry has {digest} under {reference}")
        found: dict[str, Any] = json.loads(content)
        return found

    def digest(self, repository: str, reference: str) -> str | None:
        """What a tag leads to."""
        status, headers, _ = self.get(f"/v2/{repository}/manifests/{reference}")
        return headers["Docker-Content-Digest"] if status == 200 else None

    def has_blob(self, repository: str, digest: str) -> bool:
        """Whether a repository has a blob."""
        return self.get(f"/v2/{repository}/blobs/{digest}", "HEAD")[0] == 200

    def blob(self, repository: str, digest: str) -> bytes:
        """A blob, if it is what its digest says."""
        status, _, content = self.get(f"/v2/{repository}/blobs/{digest}")
        if status != 200 or f"sha256:{hashlib.sha256(content).hexdigest()}" != digest:
            raise TestbedError(f"the registry has no right {digest}: {status}")
        return content

    def get(self, path: str, method: str = "GET") -> tuple[int, http.client.HTTPMessage, bytes]:
        """An answer."""
        connection = http.client.HTTPConnection(self.address, timeout=60)
        try:
            connection.request(method, path, headers={"Accept": ACCEPT})
            answer = connection.getresponse()
            return answer.status, answer.headers, answer.read()
        finally:
            connection.close()


@contextmanager
def real_registry(
    directory: Path, *, passwords: Path | None = None, certificate: tuple[Path, Path] | None = None
) -> Iterator[RealRegistry]:
    """Running while the block lasts. `passwords` is an htpasswd file, `certificate` its certificate and key."""
    address = f"127.0.0.1:{free_port()}"
    authentication = f"auth: {{htpasswd: {{realm: test, path: '{passwords}'}}}}\n" if passwords else ""
    tls = f", tls: {{certificate: '{certificate[0]}', key: '{certificate[1]}'}}" if certificate else ""
    configuration = directory / "registry.yml"
    configuration.write_text(
        f"version: 0.1\nlog: {{level: warn}}\nhttp: {{addr: '{address}'{tls}}}\n{authentication}"
        f"storage: {{filesystem: {{rootdirectory: '{directory / 'storage'}'}}, delete: {{enabled: true}}}}\n"
    )
    command = ["docker-registry", "serve", str(configuration)]
    with Process(command, directory / "registry.log", {}, directory) as process:
        until("the registry", lambda: process.insist() and _listens(address), deadline=180)
        yield RealRegistry(address)


def _listens(address: str) -> bool:
    host, _, port = address.rpartition(":")
    with socket.create_connection((host, int(port)), 2):
        return True
