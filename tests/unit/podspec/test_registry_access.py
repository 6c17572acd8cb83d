"""An authority of one's own: a registry whose certificate it signed is trusted, as the build pod's variable has it."""

import datetime
import ipaddress
import ssl
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path

import pytest
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID

from kubedl.oci.errors import ImageError
from kubedl.oci.transport import Transport

USES = (
    "digital_signature",
    "content_commitment",
    "key_encipherment",
    "data_encipherment",
    "key_agreement",
    "key_cert_sign",
    "crl_sign",
    "encipher_only",
    "decipher_only",
)


class Answering(BaseHTTPRequestHandler):
    """A registry that says that it is one."""

    def do_GET(self) -> None:
        self.send_response(200)
        self.send_header("Content-Length", "0")
        self.end_headers()

    def log_message(self, *_: object) -> None:
        """Say nothing."""


@pytest.fixture
def authority(tmp_path: Path) -> Path:
    """A certificate that vouches for 127.0.0.1 and for itself, and its key beside it."""
    key = ec.generate_private_key(ec.SECP256R1())
    name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "company")])
    now = datetime.datetime.now(datetime.UTC)
    place = x509.SubjectAlternativeName([x509.IPAddress(ipaddress.ip_address("127.0.0.1"))])
    allowed = dict.fromkeys(USES, False) | {"digital_signature": True, "key_cert_sign": True}
    made = (
        x509.CertificateBuilder(name, name, key.public_key(), x509.random_serial_number())
        .not_valid_before(now - datetime.timedelta(days=1))
        .not_valid_after(now + datetime.timedelta(days=1))
        .add_extension(x509.BasicConstraints(ca=True, path_length=None), critical=True)
        .add_extension(x509.KeyUsage(**allowed), critical=True)
        .add_extension(x509.SubjectKeyIdentifier.from_public_key(key.public_key()), critical=False)
        .add_extension(place, critical=False)
        .sign(key, hashes.SHA256())
    )
    (tmp_path / "ca.crt").write_bytes(made.public_bytes(serialization.Encoding.PEM))
    form = serialization.PrivateFormat.PKCS8
    secret = key.private_bytes(serialization.Encoding.PEM, form, serialization.NoEncryption())
    (tmp_path / "ca.key").write_bytes(secret)
    return tmp_path / "ca.crt"


@pytest.fixture
def registry(authority: Path) -> Iterator[str]:
    """Its address."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(authority, authority.with_suffix(".key"))
    with HTTPServer(("127.0.0.1", 0), Answering) as server:
        server.socket = context.wrap_socket(server.socket, server_side=True)
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
        thread.start()
        yield f"https://127.0.0.1:{server.server_port}/v2/"
        server.shutdown()
        thread.join()


def test_who_is_vouched_for_is_trusted(registry: str, authority: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """And nobody else is; the message says which field is missing. A CA may be added later: it is not permanent."""
    monkeypatch.setenv("NO_PROXY", "127.0.0.1")
    with pytest.raises(ImageError) as refused:
        Transport().send("GET", registry, {})
    assert (refused.value.reason, refused.value.permanent) == ("RegistryNotTrusted", False)
    assert "set registry.authority.secretName, or set registry.insecure: true" in refused.value.message
    monkeypatch.setenv("SSL_CERT_FILE", str(authority))
    exchange = Transport()
    assert exchange.send("GET", registry, {}).status == 200
    exchange.close()
