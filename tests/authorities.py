"""Certificate authorities as clusters have them: as bare as that of EKS, which has basic constraints only."""

import datetime
import ipaddress
import ssl
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID

LOOPBACK = "127.0.0.1"
PEM = serialization.Encoding.PEM


@dataclass(frozen=True)
class BareAuthority:
    """Neither its certificate nor those that it signs have key usage or key identifiers."""

    name: x509.Name
    key: ec.EllipticCurvePrivateKey
    certificate: bytes

    @classmethod
    def create(cls, name: str = "kubernetes") -> "BareAuthority":
        """A new one: its key differs from that of any other of the same name."""
        key, subject = ec.generate_private_key(ec.SECP256R1()), _name(name)
        builder = _builder(subject, subject, key.public_key(), days=30)
        made = builder.add_extension(x509.BasicConstraints(ca=True, path_length=None), critical=True)
        return cls(subject, key, made.sign(key, hashes.SHA256()).public_bytes(PEM))

    def issue(
        self, common_name: str, *, hosts: Sequence[str] = (), organization: str = "", days: int = 7
    ) -> tuple[bytes, bytes]:
        """A certificate for so many days from now (ended, if negative) and its key."""
        key = ec.generate_private_key(ec.SECP256R1())
        builder = _builder(_name(common_name, organization), self.name, key.public_key(), days)
        places: list[x509.GeneralName] = [
            x509.IPAddress(ipaddress.ip_address(host)) if host[0].isdigit() else x509.DNSName(host) for host in hosts
        ]
        if places:
            builder = builder.add_extension(x509.SubjectAlternativeName(places), critical=False)
        private = key.private_bytes(PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption())
        return builder.sign(self.key, hashes.SHA256()).public_bytes(PEM), private


def written(pair: tuple[bytes, bytes], directory: Path, name: str) -> tuple[Path, Path]:
    """The files of a certificate and its key."""
    files = directory / f"{name}.crt", directory / f"{name}.key"
    for file, content in zip(files, pair, strict=True):
        file.write_bytes(content)
    return files


def served_by(
    authority: BareAuthority,
    directory: Path,
    *,
    clients: BareAuthority | None = None,
    hosts: Sequence[str] = (LOOPBACK,),
) -> ssl.SSLContext:
    """A server whose certificate is this authority's. It asks for a client's, as `clients` signs them, or for none."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(*written(authority.issue("kube-apiserver", hosts=hosts), directory, "server"))
    if clients is not None:
        context.load_verify_locations(cadata=clients.certificate.decode())
        context.verify_mode = ssl.CERT_REQUIRED
    return context


def _builder(
    subject: x509.Name, issuer: x509.Name, key: ec.EllipticCurvePublicKey, days: int
) -> x509.CertificateBuilder:
    now = datetime.datetime.now(datetime.UTC)
    return (
        x509.CertificateBuilder(issuer, subject, key, x509.random_serial_number())
        .not_valid_before(now - datetime.timedelta(days=30))
        .not_valid_after(now + datetime.timedelta(days=days))
    )


def _name(common_name: str, organization: str = "") -> x509.Name:
    names = [x509.NameAttribute(NameOID.ORGANIZATION_NAME, organization)] if organization else []
    return x509.Name([*names, x509.NameAttribute(NameOID.COMMON_NAME, common_name)])
