"""MinIO, a real server of S3-compatible storage, with a bucket of logs, TLS and an authority of its own."""

import gzip
import shutil
import tempfile
import urllib.error
import urllib.request
from datetime import UTC, datetime
from pathlib import Path
from typing import Self
from urllib.parse import urlsplit

from harness.drivers.operator_process import free_port
from harness.drivers.process import Process
from kubedl.history.logs.signature import Credentials, encode_path, sign
from kubedl.kube.tls import client_context
from testbed import tools
from testbed.errors import TestbedError
from testbed.waiting import until

BUCKET = "logs"
CREDENTIALS = Credentials("recorder", "not-a-secret-of-anybody")  # of a server that ends with its test
DEADLINE = 120.0


class MinIO(Process):
    """Ready when the block begins; its files are removed at the end."""

    def __init__(self, host: str, certificate: bytes, key: bytes, authority: bytes) -> None:
        """Certificate and key are for the host."""
        self.directory = Path(tempfile.mkdtemp(prefix="kubedl-minio-"))
        self.url, self.authority = f"https://{host}:{free_port()}", authority
        certificates = self.directory / "certs"
        certificates.mkdir()
        (certificates / "public.crt").write_bytes(certificate)
        (certificates / "private.key").write_bytes(key)
        (self.directory / "data").mkdir()
        self._opener = urllib.request.build_opener(
            urllib.request.ProxyHandler({}), urllib.request.HTTPSHandler(context=client_context(authority.decode()))
        )
        command = [str(tools.binary("minio")), "server", str(self.directory / "data"), "--quiet"]
        command += ["--address", urlsplit(self.url).netloc, "--certs-dir", str(certificates)]
        command += ["--console-address", f"127.0.0.1:{free_port()}"]
        environment = {
            "MINIO_ROOT_USER": CREDENTIALS.access_key,
            "MINIO_ROOT_PASSWORD": CREDENTIALS.secret_key,
            "MINIO_BROWSER": "off",
            "MINIO_UPDATE": "off",
            "GOMAXPROCS": "1",
        }
        super().__init__(command, self.directory / "minio.log", environment, self.directory)

    def __enter__(self) -> Self:
        super().__enter__()
        until("MinIO", lambda: self.insist() and self._has_bucket(), deadline=DEADLINE, interval=0.2)
        return self

    def __exit__(self, *arguments: object) -> None:
        super().__exit__(*arguments)  # type: ignore[arg-type]
        shutil.rmtree(self.directory, ignore_errors=True)

    def keys(self) -> list[str]:
        """Of every object in the bucket, as MinIO's own files have them."""
        bucket = self.directory / "data" / BUCKET
        return sorted(str(file.parent.relative_to(bucket)) for file in bucket.rglob("xl.meta"))

    def read(self, location: str) -> bytes:
        """An object, which is compressed, by its location as the history has it."""
        prefix = f"s3://{BUCKET}/"
        if not location.startswith(prefix):
            raise TestbedError(f"{location} is not in the bucket")
        return gzip.decompress(self._call("GET", f"/{BUCKET}/{location.removeprefix(prefix)}"))

    def printed(self, location: str) -> bytes:
        """What a container printed: an archived log without the times of its lines."""
        return b"".join(map(_without_time, self.read(location).splitlines(keepends=True)))

    def _has_bucket(self) -> bool:
        """Whether the bucket was created; a server that starts refuses connections, and then calls."""
        try:
            self._call("PUT", f"/{BUCKET}")
        except OSError as error:
            return isinstance(error, urllib.error.HTTPError) and error.code == 409  # it exists: an answer came too late
        return True

    def _call(self, method: str, path: str) -> bytes:
        encoded = encode_path(path)
        headers = sign(
            method,
            encoded,
            {"host": urlsplit(self.url).netloc},
            b"",
            CREDENTIALS,
            ("us-east-1", "s3"),
            datetime.now(UTC),
        )
        request = urllib.request.Request(  # noqa: S310 - an address of its own making
            f"{self.url}{encoded}", method=method, headers=headers
        )
        with self._opener.open(request, timeout=30) as response:
            content: bytes = response.read()
        return content


def _without_time(line: bytes) -> bytes:
    stamp, _, words = line.partition(b" ")
    if line.startswith(b"[kubedl: "):  # what the archive says itself
        return line
    if not stamp.endswith(b"Z"):
        raise TestbedError(f"a line without a time: {line[:200]!r}")
    return words
