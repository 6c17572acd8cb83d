"""The proxy between a test and a stand-in API server, with certificates made on the spot."""

import datetime
import http.client
import ipaddress
import ssl
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import urlsplit

import pytest
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID

from testbed.faultproxy import FaultProxy
from tests.unit.testbed.test_faultproxy.api_server import DEADLINE, ApiServer


@dataclass(frozen=True)
class Certificates:
    """PEM files: an authority and what it signed."""

    authority: Path
    server: Path
    server_key: Path
    client: Path
    client_key: Path

    def trusting(self) -> ssl.SSLContext:
        """Build the TLS context of a client that trusts the authority."""
        return ssl.create_default_context(cafile=self.authority)


@pytest.fixture(scope="session")
def certificates(tmp_path_factory: pytest.TempPathFactory) -> Certificates:
    directory = tmp_path_factory.mktemp("certificates")
    authority_key = ec.generate_private_key(ec.SECP256R1())
    authority = _certificate("authority", authority_key, "authority", authority_key)
    (directory / "authority.crt").write_bytes(authority.public_bytes(serialization.Encoding.PEM))
    for name in ("server", "client"):
        key = ec.generate_private_key(ec.SECP256R1())
        certificate = _certificate(name, key, "authority", authority_key)
        (directory / f"{name}.crt").write_bytes(certificate.public_bytes(serialization.Encoding.PEM))
        (directory / f"{name}.key").write_bytes(
            key.private_bytes(
                serialization.Encoding.PEM,
                serialization.PrivateFormat.PKCS8,
                serialization.NoEncryption(),
            )
        )
    return Certificates(
        authority=directory / "authority.crt",
        server=directory / "server.crt",
        server_key=directory / "server.key",
        client=directory / "client.crt",
        client_key=directory / "client.key",
    )


@pytest.fixture
def api_server(certificates: Certificates) -> Iterator[ApiServer]:
    tls = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH, cafile=certificates.authority)
    tls.load_cert_chain(certificates.server, certificates.server_key)
    tls.verify_mode = ssl.CERT_OPTIONAL
    with ApiServer(tls) as server:
        yield server


@pytest.fixture
def make_proxy(certificates: Certificates) -> Callable[[str], FaultProxy]:
    def make(upstream: str) -> FaultProxy:
        return FaultProxy(
            upstream=upstream,
            certificate=certificates.server,
            key=certificates.server_key,
            authority=certificates.authority,
            client_certificate=certificates.client,
            client_key=certificates.client_key,
        )

    return make


@pytest.fixture
def proxy(api_server: ApiServer, make_proxy: Callable[[str], FaultProxy]) -> Iterator[FaultProxy]:
    with make_proxy(api_server.url) as running:
        yield running


@pytest.fixture
def connect(certificates: Certificates) -> Iterator[Callable[[FaultProxy], http.client.HTTPSConnection]]:
    opened: list[http.client.HTTPSConnection] = []

    def open_connection(proxy: FaultProxy) -> http.client.HTTPSConnection:
        port = urlsplit(proxy.url).port
        opened.append(http.client.HTTPSConnection("127.0.0.1", port, context=certificates.trusting(), timeout=DEADLINE))
        return opened[-1]

    yield open_connection
    for connection in opened:
        connection.close()


@pytest.fixture
def client(
    proxy: FaultProxy, connect: Callable[[FaultProxy], http.client.HTTPSConnection]
) -> http.client.HTTPSConnection:
    return connect(proxy)


def _certificate(
    name: str, key: ec.EllipticCurvePrivateKey, issuer: str, issuer_key: ec.EllipticCurvePrivateKey
) -> x509.Certificate:
    now = datetime.datetime.now(datetime.UTC)
    loopback = x509.IPAddress(ipaddress.ip_address("127.0.0.1"))
    return (
        x509.CertificateBuilder()
        .subject_name(x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, name)]))
        .issuer_name(x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, issuer)]))
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(now - datetime.timedelta(minutes=1))
        .not_valid_after(now + datetime.timedelta(hours=1))
        .add_extension(x509.SubjectAlternativeName([loopback]), critical=False)
        .add_extension(x509.BasicConstraints(ca=name == issuer, path_length=None), critical=True)
        .sign(issuer_key, hashes.SHA256())
    )
