"""Certificates that real TLS accepts, for the right names only, and secrets that nobody else reads."""

import base64
import json
import os
import ssl
from pathlib import Path
from typing import Any

import pytest
from cryptography import x509
from cryptography.hazmat.primitives import serialization

from testbed.instance import Instance
from testbed.pki import Authority, Identity

INSTANCE = Instance(7)
Contexts = tuple[ssl.SSLContext, ssl.SSLContext]
ISSUED = {
    "kube-apiserver": "CN=kube-apiserver",
    "admin": "CN=admin,O=system:masters",
    "kubelet-client": "CN=kube-apiserver-kubelet-client,O=system:masters",
    "front-proxy": "CN=front-proxy-client",
    "kube-controller-manager": "CN=system:kube-controller-manager",
    "kube-scheduler": "CN=system:kube-scheduler",
    "kube-proxy": "CN=system:kube-proxy",
    "coredns": "CN=testbed:coredns",
    "kwok": "CN=testbed:kwok",
}


def certificate(path: Path) -> x509.Certificate:
    return x509.load_pem_x509_certificate(path.read_bytes())


def contexts(server: Authority, client: Authority, file: str = "kube-apiserver") -> Contexts:
    """A server that asks for a certificate and a client that has one, each with its own authority."""
    serving, asking = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER), ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    serving.verify_mode = ssl.CERT_REQUIRED
    serving.load_cert_chain(*server.files(file))
    serving.load_verify_locations(server.certificate)
    asking.load_cert_chain(*client.files("admin"))
    asking.load_verify_locations(client.certificate)
    return serving, asking


def handshake(serving: ssl.SSLContext, asking: ssl.SSLContext, name: str) -> ssl.SSLObject:
    """TLS without a network: two ends that read what the other has written."""
    up, down = ssl.MemoryBIO(), ssl.MemoryBIO()
    server, client = serving.wrap_bio(up, down, server_side=True), asking.wrap_bio(down, up, server_hostname=name)
    unfinished = [client, server]
    while unfinished:
        end = unfinished.pop(0)
        try:
            end.do_handshake()
        except ssl.SSLWantReadError:
            unfinished.append(end)
    return server


@pytest.mark.parametrize(
    "name",
    [
        "127.0.0.1",
        INSTANCE.gateway,
        INSTANCE.kubernetes_service,
        "localhost",
        "kubernetes",
        "kubernetes.default",
        "kubernetes.default.svc",
        "kubernetes.default.svc.cluster.local",
    ],
)
def test_api_server_is_trusted_under_every_name_it_is_called_by(authority: Authority, name: str) -> None:
    """From the host by address, from a pod by the Service's name and address."""
    server = handshake(*contexts(authority, authority), name)
    peer = server.getpeercert()
    assert peer is not None
    assert peer["subject"] == ((("organizationName", "system:masters"),), (("commonName", "admin"),))


@pytest.mark.parametrize("name", ["kubernetes.default.svc.example.com", "198.18.0.1", "198.19.224.10"])
def test_api_server_is_not_trusted_under_another_name(authority: Authority, name: str) -> None:
    with pytest.raises(ssl.SSLCertVerificationError, match="mismatch"):
        handshake(*contexts(authority, authority), name)


def test_client_trusts_no_server_of_another_instance(authority: Authority, own_home: Path) -> None:
    """A kubeconfig of one test bed is of no use at another, even if their addresses were mixed up."""
    assert not own_home.exists()
    stranger = Authority.create(Instance(6))
    (serving, _), (_, asking) = contexts(authority, authority), contexts(stranger, stranger)
    with pytest.raises(ssl.SSLCertVerificationError, match="certificate verify failed"):
        handshake(serving, asking, "localhost")


def test_certificate_without_a_place_is_no_server_s(authority: Authority) -> None:
    """A component's client certificate must not pass for the API server."""
    with pytest.raises(ssl.SSLCertVerificationError, match="mismatch"):
        handshake(*contexts(authority, authority, "kube-scheduler"), "localhost")


def test_certificates_satisfy_strict_verification(authority: Authority) -> None:
    """Python 3.13 is strict by default (`ssl.create_default_context`), and the project allows it."""
    serving, asking = contexts(authority, authority)
    asking.verify_flags |= ssl.VERIFY_X509_STRICT
    handshake(serving, asking, "localhost")


def test_every_component_has_an_identity_of_its_own(authority: Authority) -> None:
    """RBAC and the audit log tell components apart by nothing else."""
    subjects = {file: certificate(authority.files(file)[0]).subject.rfc4514_string() for file in ISSUED}
    assert subjects == ISSUED
    assert len(set(ISSUED.values())) == len(ISSUED)


def test_every_certificate_is_the_authority_s_and_fits_its_key(authority: Authority) -> None:
    issuer = certificate(authority.certificate)
    issuer.verify_directly_issued_by(issuer)
    for file in ISSUED:
        public, private = authority.files(file)
        certificate(public).verify_directly_issued_by(issuer)
        key = serialization.load_pem_private_key(private.read_bytes(), None)
        assert key.public_key() == certificate(public).public_key()


def test_only_the_authority_may_issue(authority: Authority) -> None:
    """A node's certificate, taken from a node, must not be able to make another."""
    constraints = certificate(authority.certificate).extensions.get_extension_for_class(x509.BasicConstraints)
    assert constraints.value.ca is True
    for file in ISSUED:
        with pytest.raises(x509.ExtensionNotFound):
            certificate(authority.files(file)[0]).extensions.get_extension_for_class(x509.BasicConstraints)


def test_node_certificate_names_its_address_and_host(authority: Authority) -> None:
    """The API server reaches a kubelet by address and verifies it (logs, exec)."""
    place = INSTANCE.node(1)
    public, _ = authority.issue("node1-serving", Identity("node1", addresses=(place.address,), hosts=("node1",)))
    names = certificate(public).extensions.get_extension_for_class(x509.SubjectAlternativeName).value
    assert names.get_values_for_type(x509.DNSName) == ["node1"]
    assert [str(address) for address in names.get_values_for_type(x509.IPAddress)] == [place.address]
    handshake(*contexts(authority, authority, "node1-serving"), place.address)


@pytest.mark.parametrize("file", sorted(ISSUED))
def test_kubeconfig_needs_no_other_file(authority: Authority, file: str) -> None:
    """It is copied to other machines and mounted into containers."""
    text = authority.kubeconfig(file).read_text()
    config: dict[str, Any] = json.loads(text)
    public, private = authority.files(file)
    assert str(authority.certificate.parent) not in text
    (cluster,), (user,), (context,) = config["clusters"], config["users"], config["contexts"]
    assert config["current-context"] == context["name"]
    assert context["context"] == {"cluster": cluster["name"], "user": user["name"]}
    assert cluster["cluster"]["server"] == INSTANCE.server
    assert base64.b64decode(cluster["cluster"]["certificate-authority-data"]) == authority.certificate.read_bytes()
    assert base64.b64decode(user["user"]["client-certificate-data"]) == public.read_bytes()
    assert base64.b64decode(user["user"]["client-key-data"]) == private.read_bytes()


def test_secrets_are_readable_by_their_owner_only(own_home: Path) -> None:
    """Whoever reads the administrator's key is administrator; no umask may change that."""
    assert not own_home.exists()
    before = os.umask(0)
    try:
        authority = Authority.create(INSTANCE)
        authority.issue("node1", Identity("system:node:node1", "system:nodes"))
    finally:
        os.umask(before)
    directory = authority.certificate.parent
    secrets = [path for path in directory.iterdir() if path.suffix != ".crt"]
    assert len(secrets) == 2 * (len(ISSUED) + 1) + 2
    assert {oct(path.stat().st_mode & 0o777) for path in secrets} == {"0o600"}
    assert oct(directory.stat().st_mode & 0o777) == "0o700"


def test_second_call_finds_the_first_one_s_authority(own_home: Path) -> None:
    """A running cluster knows only the authority it was started with."""
    first = Authority.create(INSTANCE)
    before = {path.name: path.read_bytes() for path in first.certificate.parent.iterdir()}
    second = Authority.create(INSTANCE)
    assert second.certificate == first.certificate == own_home / "instances/7/pki/ca.crt"
    assert {path.name: path.read_bytes() for path in second.certificate.parent.iterdir()} == before


def test_half_made_authority_is_replaced(own_home: Path) -> None:
    """A launcher that was killed while it wrote keys leaves a directory that is never used."""
    scratch = own_home / "instances/7/pki.partial"
    scratch.mkdir(parents=True)
    (scratch / "ca.crt").write_text("half a certificate")
    (scratch / "leftover.key").write_text("half a key")
    authority = Authority.create(INSTANCE)
    assert [path.name for path in (own_home / "instances/7").iterdir()] == ["pki"]
    assert not authority.certificate.with_name("leftover.key").exists()
    handshake(*contexts(authority, authority), "localhost")


def test_killed_creation_is_not_taken_for_an_authority(own_home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The final name appears only when every file is there."""

    def killed(*_: object) -> None:
        raise KeyboardInterrupt

    with monkeypatch.context() as interrupted:
        interrupted.setattr(Authority, "issue", killed)
        with pytest.raises(KeyboardInterrupt):
            Authority.create(INSTANCE)
    assert not (own_home / "instances/7/pki").exists()
    whole = Authority.create(INSTANCE)
    handshake(*contexts(whole, whole), "localhost")
