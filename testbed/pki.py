"""Certificates and kubeconfigs of one test bed, made once and renamed into place whole.

Every component has an identity of its own, as on a real cluster, so that RBAC and the audit log
mean something here.
"""

import base64
import datetime
import ipaddress
import json
import shutil
from dataclasses import dataclass
from pathlib import Path

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.asymmetric.types import CertificatePublicKeyTypes
from cryptography.x509.oid import ExtendedKeyUsageOID, NameOID

from testbed.instance import CLUSTER_DOMAIN, Instance

VALID = datetime.timedelta(days=30)


@dataclass(frozen=True)
class Identity:
    """Who a certificate speaks for; a server also names where it is reached."""

    name: str
    organization: str | None = None
    addresses: tuple[str, ...] = ()
    hosts: tuple[str, ...] = ()


class Authority:
    """The test bed's certificate authority and the files it has issued, all in one directory."""

    def __init__(self, directory: Path, server: str) -> None:
        self._directory = directory
        self._server = server

    @classmethod
    def create(cls, instance: Instance) -> "Authority":
        """The instance's authority with the certificates of its control plane."""
        final = instance.state / "pki"
        if not final.exists():
            scratch = final.with_suffix(".partial")
            shutil.rmtree(scratch, ignore_errors=True)
            scratch.mkdir(parents=True, mode=0o700)
            authority = cls(scratch, instance.server)
            authority._initialize(instance)
            scratch.rename(final)
        return cls.of(instance)

    @classmethod
    def of(cls, instance: Instance) -> "Authority":
        """The authority of an instance that has one."""
        return cls(instance.state / "pki", instance.server)

    @property
    def certificate(self) -> Path:
        return self._directory / "ca.crt"

    @property
    def key(self) -> Path:
        return self._directory / "ca.key"

    @property
    def service_account_key(self) -> Path:
        return self._directory / "service-account.key"

    def files(self, file: str) -> tuple[Path, Path]:
        """Certificate and key of what was issued under this name."""
        return self._directory / f"{file}.crt", self._directory / f"{file}.key"

    def kubeconfig(self, file: str) -> Path:
        return self._directory / f"{file}.kubeconfig"

    def issue(self, file: str, identity: Identity) -> tuple[Path, Path]:
        """Write a certificate and key, valid for a server and for a client, and its kubeconfig."""
        authority = x509.load_pem_x509_certificate(self.certificate.read_bytes())
        signer = serialization.load_pem_private_key(self.key.read_bytes(), None)
        key = ec.generate_private_key(ec.SECP256R1())
        names = [x509.NameAttribute(NameOID.COMMON_NAME, identity.name)]
        if identity.organization:
            names.insert(0, x509.NameAttribute(NameOID.ORGANIZATION_NAME, identity.organization))
        issuer = authority.subject, authority.public_key()
        builder = _builder(x509.Name(names), issuer, key.public_key()).add_extension(
            x509.ExtendedKeyUsage([ExtendedKeyUsageOID.SERVER_AUTH, ExtendedKeyUsageOID.CLIENT_AUTH]), critical=False
        )
        places: list[x509.GeneralName] = [x509.DNSName(host) for host in identity.hosts]
        places += [x509.IPAddress(ipaddress.ip_address(address)) for address in identity.addresses]
        if places:
            builder = builder.add_extension(x509.SubjectAlternativeName(places), critical=False)
        if not isinstance(signer, ec.EllipticCurvePrivateKey):
            raise TypeError("the authority's key is an elliptic-curve key")
        certificate, private = self.files(file)
        certificate.write_bytes(builder.sign(signer, hashes.SHA256()).public_bytes(serialization.Encoding.PEM))
        _write_key(private, key)
        write_kubeconfig(
            self.kubeconfig(file), self._server, self.certificate.read_bytes(), certificate.read_bytes(), private
        )
        return certificate, private

    def _initialize(self, instance: Instance) -> None:
        key = ec.generate_private_key(ec.SECP256R1())
        name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, f"kubedl-testbed-{instance.index}")])
        usage = x509.KeyUsage(
            digital_signature=True,
            key_cert_sign=True,
            crl_sign=True,
            content_commitment=False,
            key_encipherment=False,
            data_encipherment=False,
            key_agreement=False,
            encipher_only=False,
            decipher_only=False,
        )
        certificate = (
            _builder(name, (name, key.public_key()), key.public_key())
            .add_extension(x509.BasicConstraints(ca=True, path_length=None), critical=True)
            .add_extension(usage, critical=True)
            .sign(key, hashes.SHA256())
        )
        self.certificate.write_bytes(certificate.public_bytes(serialization.Encoding.PEM))
        _write_key(self.key, key)
        _write_key(self.service_account_key, ec.generate_private_key(ec.SECP256R1()))
        service = "kubernetes.default.svc"
        self.issue(
            "kube-apiserver",
            Identity(
                "kube-apiserver",
                addresses=("127.0.0.1", instance.gateway, instance.kubernetes_service),
                hosts=("localhost", "kubernetes", "kubernetes.default", service, f"{service}.{CLUSTER_DOMAIN}"),
            ),
        )
        self.issue("admin", Identity("admin", "system:masters"))
        self.issue("kubelet-client", Identity("kube-apiserver-kubelet-client", "system:masters"))
        self.issue("front-proxy", Identity("front-proxy-client"))
        for component in ("kube-controller-manager", "kube-scheduler", "kube-proxy"):
            self.issue(component, Identity(f"system:{component}"))
        for component in ("coredns", "kwok"):
            self.issue(component, Identity(f"testbed:{component}"))


def write_kubeconfig(path: Path, server: str, authority: bytes, certificate: bytes, key: Path) -> None:
    """A kubeconfig that needs no other file, so that it can be copied anywhere."""

    def encoded(content: bytes) -> str:
        return base64.b64encode(content).decode()

    user = {"client-certificate-data": encoded(certificate), "client-key-data": encoded(key.read_bytes())}
    config = {
        "apiVersion": "v1",
        "kind": "Config",
        "current-context": "testbed",
        "clusters": [
            {"name": "testbed", "cluster": {"server": server, "certificate-authority-data": encoded(authority)}}
        ],
        "users": [{"name": "testbed", "user": user}],
        "contexts": [{"name": "testbed", "context": {"cluster": "testbed", "user": "testbed"}}],
    }
    path.touch(mode=0o600)
    path.write_text(json.dumps(config, indent=1))


def _builder(
    subject: x509.Name, issuer: tuple[x509.Name, CertificatePublicKeyTypes], public_key: ec.EllipticCurvePublicKey
) -> x509.CertificateBuilder:
    """Named by key as well, which strict verification (Python 3.13 and later) asks for."""
    now = datetime.datetime.now(datetime.UTC)
    return (
        x509.CertificateBuilder()
        .subject_name(subject)
        .issuer_name(issuer[0])
        .public_key(public_key)
        .serial_number(x509.random_serial_number())
        .not_valid_before(now - datetime.timedelta(hours=1))
        .not_valid_after(now + VALID)
        .add_extension(x509.SubjectKeyIdentifier.from_public_key(public_key), critical=False)
        .add_extension(_authority_identifier(issuer[1]), critical=False)
    )


def _authority_identifier(key: CertificatePublicKeyTypes) -> x509.AuthorityKeyIdentifier:
    if not isinstance(key, ec.EllipticCurvePublicKey):
        raise TypeError("the authority's key is an elliptic-curve key")
    return x509.AuthorityKeyIdentifier.from_issuer_public_key(key)


def _write_key(path: Path, key: ec.EllipticCurvePrivateKey) -> None:
    path.touch(mode=0o600)
    path.write_bytes(
        key.private_bytes(
            serialization.Encoding.PEM, serialization.PrivateFormat.TraditionalOpenSSL, serialization.NoEncryption()
        )
    )
