"""A kubelet that knows one thing: the log of whatever container it is asked for, on a node that exists on paper."""

import ssl
import threading
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

from harness.drivers import console_objects
from harness.drivers.api_connection import Connection
from harness.fakes.node import NODES
from testbed.cluster import Cluster
from testbed.pki import Identity

HOST = "127.0.0.1"
FILE = "played-kubelet"


@dataclass(frozen=True)
class Printed:
    """What a pod has printed, all at once, some time ago."""

    lines: Sequence[str]
    ago: timedelta = timedelta(0)

    def __str__(self) -> str:
        when = (datetime.now(UTC) - self.ago).strftime("%Y-%m-%dT%H:%M:%SZ")
        return "".join(f"{when} {line}\n" for line in self.lines)


OFFER = {"cpu": "4", "memory": "8Gi"}
NOTHING: Mapping[str, Printed] = {}


@contextmanager
def node_with_logs(
    cluster: Cluster,
    connection: Connection,
    name: str,
    lines: Sequence[str],
    of_pods: Mapping[str, Printed] = NOTHING,
    offer: Mapping[str, str] = OFFER,
) -> Iterator[None]:
    """A node of this name; containers of these pods have printed that, and all others these lines. They still run."""
    ended = threading.Event()

    class Logs(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_GET(self) -> None:
            found = self.path.startswith("/containerLogs/")
            self.send_response(200 if found else 404)
            self.send_header("Transfer-Encoding", "chunked")
            self.end_headers()
            if found:
                pod = self.path.split("/")[3]
                text = str(of_pods.get(pod, Printed(lines))).encode()
                self.wfile.write(b"%x\r\n%s\r\n" % (len(text), text))
                if "follow=true" in self.path:
                    ended.wait()
            self.wfile.write(b"0\r\n\r\n")

        def log_message(self, format: str, *args: object) -> None:  # noqa: A002 - the name of the standard library
            """Say nothing."""

    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(*cluster.authority.issue(FILE, Identity(FILE, addresses=(HOST,))))
    with (
        ThreadingHTTPServer((HOST, 0), Logs) as server,
        console_objects.nodes(connection, {name: offer}),
    ):
        server.daemon_threads = True
        server.socket = context.wrap_socket(server.socket, server_side=True)
        threading.Thread(target=server.serve_forever, name=FILE, daemon=True).start()
        endpoint = {"kubeletEndpoint": {"Port": server.server_port}}
        addresses = [{"type": "InternalIP", "address": HOST}]
        connection.patch(f"{NODES}/{name}/status", {"status": {"addresses": addresses, "daemonEndpoints": endpoint}})
        try:
            yield
        finally:
            ended.set()
            server.shutdown()
