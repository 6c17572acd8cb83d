"""Whom we trust, and that certificates are replaced under a client that goes on."""

import asyncio
import base64
import ssl
from collections.abc import AsyncIterator, Callable
from pathlib import Path

import pytest
import yaml

from kubedl.kube.certificates import READ_AGAIN, TLSConfig
from kubedl.kube.client import Client
from kubedl.kube.credentials import Credentials, from_kubeconfig, in_cluster
from kubedl.kube.errors import UnauthorizedError, UnknownOutcomeError
from kubedl.kube.tls import Certificates, client_context
from kubedl.kube.token_refresh import Token
from kubedl.kube.types.core import PODS
from kubedl.kube.types.meta import ObjectKey
from kubedl.oci.transport import Transport
from tests.authorities import BareAuthority, written
from tests.certificates import self_signed
from tests.unit.kube.secured import SecuredServer
from tests.unit.kube.server import Script, status

POD = {"metadata": {"name": "a"}}


@pytest.fixture
def strict(monkeypatch: pytest.MonkeyPatch) -> None:
    """The ssl module as of Python 3.13, whichever runs this."""
    lenient = ssl.create_default_context

    def create(cadata: str | None = None) -> ssl.SSLContext:
        made = lenient(cadata=cadata)
        made.verify_flags |= ssl.VERIFY_X509_STRICT
        return made

    monkeypatch.setattr(ssl, "create_default_context", create)


@pytest.fixture
async def secured(script: Script, tmp_path: Path) -> AsyncIterator[SecuredServer]:
    server = SecuredServer(script, tmp_path)
    yield server
    await server.stop()


@pytest.fixture
def kubeconfig(tmp_path: Path) -> Callable[..., Path]:
    """Writes one whose certificates are in files beside it."""

    def made(server: str, **cluster: object) -> Path:
        user = {"client-certificate": "client.crt", "client-key": "client.key"}
        config = {
            "current-context": "here",
            "contexts": [{"name": "here", "context": {"cluster": "c", "user": "u"}}],
            "clusters": [{"name": "c", "cluster": {"server": server, "certificate-authority": "ca.crt", **cluster}}],
            "users": [{"name": "u", "user": user}],
        }
        path = tmp_path / "config"
        path.write_text(yaml.safe_dump(config))
        return path

    return made


@pytest.mark.usefixtures("strict")
class TestBareAuthority:
    """A CA without key usage and key identifiers, as on EKS, under the rules of Python 3.13."""

    async def test_a_pod_trusts_it(
        self, secured: SecuredServer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        authority = BareAuthority.create()
        await secured.start(authority)
        _mount(tmp_path, authority)
        host, _, port = secured.url.removeprefix("https://").partition(":")
        monkeypatch.setenv("KUBERNETES_SERVICE_HOST", host)
        monkeypatch.setenv("KUBERNETES_SERVICE_PORT", port)
        client = Client(in_cluster(tmp_path))
        assert (await client.get(PODS, ObjectKey("team", "a"))).metadata.name == "usual"
        await client.close()

    async def test_a_kubeconfig_s_is_trusted(
        self, secured: SecuredServer, tmp_path: Path, kubeconfig: Callable[..., Path]
    ) -> None:
        authority = BareAuthority.create()
        await secured.start(authority, clients=authority)
        _put(tmp_path, authority)
        client = Client(from_kubeconfig(kubeconfig(secured.url)))
        assert (await client.get(PODS, ObjectKey("team", "a"))).metadata.name == "usual"
        await client.close()

    async def test_a_registry_s_is_trusted(
        self, secured: SecuredServer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        authority = BareAuthority.create()
        await secured.start(authority)
        (tmp_path / "company.crt").write_bytes(authority.certificate)
        monkeypatch.setenv("SSL_CERT_FILE", str(tmp_path / "company.crt"))
        monkeypatch.setenv("NO_PROXY", "127.0.0.1")
        exchange = Transport()
        answer = await asyncio.to_thread(exchange.send, "GET", f"{secured.url}/v2/", {})
        assert answer.status == 200
        exchange.close()

    @pytest.mark.parametrize(
        ("hosts", "days", "stranger", "complaint"),
        [
            (("127.0.0.1",), 7, True, "certificate verify failed"),
            (("127.0.0.1",), -1, False, "certificate has expired"),
            (("10.0.0.1",), 7, False, "IP address mismatch"),
        ],
    )
    async def test_chain_dates_and_name_are_still_checked(
        self, tmp_path: Path, hosts: tuple[str, ...], days: int, stranger: bool, complaint: str
    ) -> None:
        authority = BareAuthority.create()
        serving = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        serving.load_cert_chain(*written(authority.issue("server", hosts=hosts, days=days), tmp_path, "server"))
        trusted = BareAuthority.create() if stranger else authority
        server = await asyncio.start_server(lambda *_: None, "127.0.0.1", 0, ssl=serving)
        port = server.sockets[0].getsockname()[1]
        with pytest.raises(ssl.SSLCertVerificationError, match=complaint):
            await asyncio.open_connection("127.0.0.1", port, ssl=client_context(trusted.certificate.decode()))
        server.close()

    @pytest.mark.parametrize("encoding", ["utf-8", "latin-1"])
    def test_text_beside_certificates_may_have_any_characters(self, encoding: str) -> None:
        """As in the bundles of many systems, which name each CA in its language."""
        authority = BareAuthority.create().certificate
        bundle = "# Főtanúsítvány\n".encode(encoding, "replace") + authority
        assert Certificates(bundle).context().cert_store_stats()["x509"] == 1

    def test_what_is_no_certificate_is_refused(self) -> None:
        with pytest.raises(ssl.SSLError):
            Certificates("é".encode()).context()


class TestRotation:
    """Certificates replaced under a client that is not started anew."""

    async def test_a_new_authority_is_trusted_at_once(
        self, secured: SecuredServer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        """The kubelet replaced ca.crt; the first connection that fails has it read again, and no call fails."""
        first, second = BareAuthority.create(), BareAuthority.create()
        await secured.start(first)
        _mount(tmp_path, first)
        host, _, port = secured.url.removeprefix("https://").partition(":")
        monkeypatch.setenv("KUBERNETES_SERVICE_HOST", host)
        monkeypatch.setenv("KUBERNETES_SERVICE_PORT", port)
        client = Client(in_cluster(tmp_path))
        await client.create(PODS, "team", POD)
        (tmp_path / "ca.crt").write_bytes(second.certificate)
        await secured.start(second)
        await client.create(PODS, "team", POD)
        await client.close()

    async def test_client_certificates_and_authority_are_replaced_and_no_write_is_lost(
        self, secured: SecuredServer, script: Script, tmp_path: Path, kubeconfig: Callable[..., Path]
    ) -> None:
        """Five times; the server takes certificates of the new authority only, and each write arrives once."""
        authority = BareAuthority.create()
        await secured.start(authority, clients=authority)
        _put(tmp_path, authority)
        client = Client(from_kubeconfig(kubeconfig(secured.url)))
        await client.create(PODS, "team", POD)
        for number in range(5):
            authority = BareAuthority.create()
            _put(tmp_path, authority)
            await secured.start(authority, clients=authority)
            await asyncio.gather(*(client.create(PODS, "team", POD) for _ in range(8)))
            assert len(script.received) == 1 + 8 * (number + 1)
        await client.close()

    async def test_a_certificate_that_is_not_taken_any_more_is_read_again(
        self, secured: SecuredServer, tmp_path: Path, kubeconfig: Callable[..., Path]
    ) -> None:
        """Under TLS 1.3 the refusal comes after the request: that one call is unsure, the next one is good."""
        authority, clients = BareAuthority.create(), BareAuthority.create()
        await secured.start(authority, clients=clients)
        _put(tmp_path, authority)
        client = Client(from_kubeconfig(kubeconfig(secured.url)))
        with pytest.raises(UnknownOutcomeError):
            await client.create(PODS, "team", POD)
        written(clients.issue("operator"), tmp_path, "client")
        await client.create(PODS, "team", POD)
        await client.close()

    async def test_an_unknown_client_reads_its_certificate_again_and_opens_another_connection(
        self, secured: SecuredServer, script: Script, tmp_path: Path, kubeconfig: Callable[..., Path]
    ) -> None:
        """The API server checks a certificate's dates at each request, on connections that are open too."""
        authority = BareAuthority.create()
        await secured.start(authority, clients=authority)
        _put(tmp_path, authority)
        client = Client(from_kubeconfig(kubeconfig(secured.url)))
        await client.create(PODS, "team", POD)
        _put(tmp_path, authority)
        script.plan(status(401, "Unauthorized"))
        await client.create(PODS, "team", POD)
        script.plan(status(401, "Unauthorized"), status(401, "Unauthorized"))
        with pytest.raises(UnauthorizedError):
            await client.create(PODS, "team", POD)
        await client.close()

    async def test_certificates_inside_the_kubeconfig_are_replaced_with_it(
        self, secured: SecuredServer, tmp_path: Path, kubeconfig: Callable[..., Path]
    ) -> None:
        first, second = BareAuthority.create(), BareAuthority.create()
        await secured.start(first)
        _put(tmp_path, first)
        path = kubeconfig(secured.url, **{"certificate-authority-data": _encoded(first)})
        client = Client(from_kubeconfig(path))
        await client.create(PODS, "team", POD)
        kubeconfig(secured.url, **{"certificate-authority-data": _encoded(second)})
        await secured.start(second)
        await client.create(PODS, "team", POD)
        await client.close()

    async def test_a_server_may_be_known_by_another_name(
        self, secured: SecuredServer, tmp_path: Path, kubeconfig: Callable[..., Path]
    ) -> None:
        authority = BareAuthority.create()
        await secured.start(authority, hosts=("kubernetes.example.com",))
        _put(tmp_path, authority)
        client = Client(from_kubeconfig(kubeconfig(secured.url)))
        with pytest.raises(UnknownOutcomeError, match="mismatch"):
            await client.get(PODS, ObjectKey("team", "a"))
        await client.close()
        client = Client(from_kubeconfig(kubeconfig(secured.url, **{"tls-server-name": "kubernetes.example.com"})))
        await client.get(PODS, ObjectKey("team", "a"))
        await client.close()


class TestTLSConfig:
    """When certificates are read, and what is used meanwhile."""

    async def test_they_are_read_every_minute(self) -> None:
        now, authority = 0.0, BareAuthority.create()
        found = Certificates(authority.certificate)
        config = TLSConfig(lambda: found, clock=lambda: now)
        first = await config.context()
        found = Certificates(BareAuthority.create().certificate)
        assert await config.context() is first
        now = READ_AGAIN
        second = await config.context()
        assert second is not first
        now += READ_AGAIN
        assert await config.context() is second  # nothing changed, so connections are kept

    async def test_the_last_good_ones_stay_while_a_pair_does_not_fit(self) -> None:
        """A certificate was replaced and its key not yet."""
        authority = BareAuthority.create()
        certificate, key = authority.issue("operator")
        other, other_key = authority.issue("operator")
        found = Certificates(authority.certificate, certificate, key)
        now = 0.0
        config = TLSConfig(lambda: found, clock=lambda: now)
        first = await config.context()
        found = Certificates(authority.certificate, other, key)
        config.suspect()
        assert await config.context() is first
        found = Certificates(authority.certificate, other, other_key)
        assert await config.context() is first
        now += 5
        assert await config.context() is not first


def _mount(directory: Path, authority: BareAuthority) -> None:
    """As the kubelet mounts a service account."""
    (directory / "namespace").write_text("team")
    (directory / "token").write_text("t")
    (directory / "ca.crt").write_bytes(authority.certificate)


def _put(directory: Path, authority: BareAuthority) -> None:
    (directory / "ca.crt").write_bytes(authority.certificate)
    written(authority.issue("operator"), directory, "client")


def _encoded(authority: BareAuthority) -> str:
    return base64.b64encode(authority.certificate).decode()


def test_somebody_elses_token_comes_without_our_certificate(monkeypatch: pytest.MonkeyPatch) -> None:
    """A server prefers a certificate to a token: with both, a person would act as this process."""
    pem = self_signed("localhost").encode()
    loaded: list[Certificates] = []
    context = Certificates.context

    def spied(self: Certificates) -> ssl.SSLContext:
        loaded.append(self)
        return context(self)

    monkeypatch.setattr(Certificates, "context", spied)
    own = Credentials(
        "https://localhost", TLSConfig(lambda: Certificates(None, pem, pem), "name"), Token(lambda: ("own", 1))
    )
    for theirs in (own.without_identity(), own.with_token("theirs")):
        assert theirs.tls is not None
        assert theirs.tls.server_name == "name"
        assert (loaded[-1].certificate, loaded[-1].key) == (None, None)
    assert own.without_identity().token is None
    assert loaded[0].certificate == pem
