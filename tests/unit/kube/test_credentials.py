"""Who we are, from every form of file that people have, and what is said when something is missing."""

import asyncio
import base64
import os
import ssl
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import yaml
from aiohttp.test_utils import RawTestServer

from kubedl.kube import credentials as module
from kubedl.kube import sync_credentials
from kubedl.kube.client import Client
from kubedl.kube.credentials import Credentials, from_kubeconfig, in_cluster, load
from kubedl.kube.errors import UnauthorizedError, UnknownOutcomeError
from kubedl.kube.kubeconfig import Choice, CredentialsError
from kubedl.kube.token_refresh import Token
from kubedl.kube.types.core import PODS
from kubedl.kube.types.meta import ObjectKey
from testbed.pki import Authority
from tests.unit.kube.server import Script

Write = Callable[..., Path]


@pytest.fixture
def write(tmp_path: Path) -> Write:
    """Writes a kubeconfig with this user and cluster."""

    def written(user: dict[str, Any] | None = None, cluster: dict[str, Any] | None = None, **context: str) -> Path:
        config = {
            "current-context": "here",
            "contexts": [{"name": "here", "context": {"cluster": "c", "user": "u", **context}}],
            "clusters": [{"name": "c", "cluster": {"server": "http://127.0.0.1:1/", **(cluster or {})}}],
            "users": [{"name": "u", "user": user or {}}],
        }
        path = tmp_path / "config"
        path.write_text(yaml.safe_dump(config))
        return path

    return written


def test_the_current_context_counts(write: Write) -> None:
    found = from_kubeconfig(write({"token": "t"}, namespace="team"))
    assert (found.server, found.namespace, found.tls) == ("http://127.0.0.1:1", "team", None)
    assert from_kubeconfig(write()).namespace == "default"
    assert from_kubeconfig(write()).token is None


async def test_a_token_may_stand_in_the_file(write: Write) -> None:
    assert await _token(from_kubeconfig(write({"token": "t"}))) == "t"


async def test_a_token_may_stand_in_another_file(write: Write, tmp_path: Path) -> None:
    """A relative path is meant from the kubeconfig."""
    (tmp_path / "token").write_text("from-file\n")
    assert await _token(from_kubeconfig(write({"tokenFile": "token"}))) == "from-file"
    assert await _token(from_kubeconfig(write({"tokenFile": "token", "token": "beside"}))) == "from-file"
    assert await _token(from_kubeconfig(write({"tokenFile": "nowhere", "token": "beside"}))) == "beside"
    assert await _token(from_kubeconfig(write({"tokenFile": str(tmp_path / "token")}))) == "from-file"


async def test_a_token_may_come_from_a_command(write: Write, tmp_path: Path) -> None:
    """It gets its arguments, its environment and what client-go tells it."""
    script = tmp_path / "login"
    script.write_text(
        "#!/bin/sh\n"
        'echo "$KUBERNETES_EXEC_INFO" > "$2"\n'
        """echo '{"kind": "ExecCredential", "status": {"token": "'"$1-$WHO"'"}}'\n"""
    )
    script.chmod(0o755)
    on_request = tmp_path / "told"
    command = {"command": "./login", "args": ["for", str(on_request)], "env": [{"name": "WHO", "value": "me"}]}
    found = from_kubeconfig(write({"exec": {"apiVersion": "client.authentication.k8s.io/v1beta1", **command}}))
    assert await _token(found) == "for-me"
    info = yaml.safe_load(on_request.read_text())
    assert (info["apiVersion"], info["kind"]) == ("client.authentication.k8s.io/v1beta1", "ExecCredential")


@pytest.mark.parametrize(("lifetime", "runs"), [(3600, 1), (5, 2)])
async def test_a_token_from_a_command_is_kept_until_it_expires(
    write: Write, tmp_path: Path, lifetime: int, runs: int
) -> None:
    """Less than ten seconds are not enough to be sure that the call still arrives in time."""
    ends = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(time.time() + lifetime))
    answer = f'{{"status": {{"token": "t", "expirationTimestamp": "{ends}"}}}}'
    line = f"echo x >> {tmp_path}/runs; echo '{answer}'"
    found = from_kubeconfig(write({"exec": {"command": "sh", "args": ["-c", line]}}))
    assert [await _token(found), await _token(found)] == ["t", "t"]
    assert len((tmp_path / "runs").read_text().split()) == runs


@pytest.mark.parametrize(
    ("command", "message"),
    [
        ({"command": "no-such-program"}, "'no-such-program' of the kubeconfig returned no token: .*No such file"),
        (
            {"command": "sh", "args": ["-c", "echo please log in >&2; exit 1"]},
            "'sh' of the kubeconfig returned no token: please log in",
        ),
        ({"command": "echo", "args": ["hello"]}, "'echo' of the kubeconfig returned no token: .*malformed"),
        (
            {"command": "echo", "args": ['{"status": {}}']},
            "'echo' of the kubeconfig returned no token .*certificates are not supported",
        ),
    ],
)
async def test_a_command_that_gives_no_token_is_named(write: Write, command: dict[str, Any], message: str) -> None:
    with pytest.raises(CredentialsError, match=message):
        await _token(from_kubeconfig(write({"exec": command})))


async def test_a_call_without_a_token_to_be_had_is_unauthorized(write: Write) -> None:
    """Whoever calls meets a typed error, not the trouble of some file."""
    client = Client(from_kubeconfig(write({"tokenFile": "nowhere"})))
    with pytest.raises(UnauthorizedError, match="nowhere"):
        await client.get(PODS, ObjectKey("team", "a"))
    await client.close()


@pytest.mark.parametrize("form", ["data", "files"])
async def test_certificates_may_be_in_the_file_or_beside_it(
    write: Write, tmp_path: Path, authority: Authority, script: Script, form: str
) -> None:
    """A server that asks for a certificate accepts us, and we accept only a server of our authority."""
    certificate, key = authority.files("admin")
    files = {"certificate-authority": authority.certificate, "client-certificate": certificate, "client-key": key}
    if form == "data":
        entries = {f"{name}-data": base64.b64encode(path.read_bytes()).decode() for name, path in files.items()}
    else:
        for name, path in files.items():
            (tmp_path / name).write_bytes(path.read_bytes())
        entries = {name: name for name in files}
    cluster = {name: value for name, value in entries.items() if name.startswith("certificate-authority")}
    async with _secured(authority, script) as address:
        await _get(from_kubeconfig(write(entries, {"server": address, **cluster})))
        with pytest.raises(UnknownOutcomeError, match="certificate verify failed"):
            await _get(from_kubeconfig(write(entries, {"server": address})))
        await _get(from_kubeconfig(write(entries, {"server": address, "insecure-skip-tls-verify": True})))
    assert len(script.received) == 2


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"current-context": "there"}, "there is no context named 'there'; available: here, other"),
        ({"current-context": ""}, "no context is chosen; available: here, other"),
        ({"contexts": None}, "there is no context named 'here'; available: none"),
        ({"clusters": []}, "there is no cluster named 'c'; available: none"),
        ({"users": [{"name": "v", "user": {}}]}, "there is no user named 'u'; available: v"),
        ({"clusters": [{"name": "c", "cluster": {}}]}, "cluster 'c' has no server"),
    ],
)
def test_what_a_kubeconfig_lacks_is_said(write: Write, change: dict[str, Any], message: str) -> None:
    path = write()
    config = yaml.safe_load(path.read_text())
    config["contexts"].append({"name": "other", "context": {"cluster": "c", "user": "u"}})
    path.write_text(yaml.safe_dump(config | change))
    with pytest.raises(CredentialsError, match=message) as error:
        from_kubeconfig(path)
    assert str(path) in str(error.value)


@pytest.mark.parametrize(
    ("user", "cluster", "message"),
    [
        ({}, {"certificate-authority": "nowhere.crt"}, "nowhere.crt"),
        ({}, {"certificate-authority-data": "bm8gY2VydGlmaWNhdGU="}, "certificates: "),
        ({"client-certificate-data": "%%%", "client-key-data": "eA=="}, {}, "certificates: "),
        ({"client-certificate-data": "eA=="}, {}, "certificate needs its key"),
        ({"exec": {"args": ["x"]}}, {}, "missing required field `command`"),
    ],
)
def test_files_that_do_not_help_are_said(
    write: Write, user: dict[str, Any], cluster: dict[str, Any], message: str
) -> None:
    with pytest.raises(CredentialsError, match=message):
        from_kubeconfig(write(user, {"server": "https://127.0.0.1:1", **cluster}))


@pytest.mark.parametrize("text", ["", "just words", "a: [", None])
def test_a_file_that_is_no_kubeconfig_is_named(tmp_path: Path, text: str | None) -> None:
    path = tmp_path / "config"
    if text is not None:
        path.write_text(text)
    with pytest.raises(CredentialsError, match=str(path)):
        from_kubeconfig(path)


@pytest.mark.parametrize(
    ("user", "cluster", "message"),
    [
        ({}, {"proxy-url": "http://proxy:3128"}, "cluster 'c' has proxy-url, which is not supported"),
        ({"as": "somebody"}, {}, "user 'u' has as, which is not supported"),
        ({"auth-provider": {"name": "gcp"}}, {}, "user 'u' has auth-provider, which is not supported"),
    ],
)
def test_what_is_not_supported_is_refused_by_name(
    write: Write, user: dict[str, Any], cluster: dict[str, Any], message: str
) -> None:
    with pytest.raises(CredentialsError, match=message):
        from_kubeconfig(write(user, cluster))


async def test_several_files_are_merged_as_kubectl_merges_them(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The first to have an entry wins, files that are missing or empty are left out, paths begin at their own file."""
    mine, shared = tmp_path / "mine", tmp_path / "shared"
    mine.mkdir()
    shared.mkdir()
    (mine / "token").write_text("my own")
    context = {"cluster": "c", "user": "u", "namespace": "team"}
    (mine / "config").write_text(
        yaml.safe_dump({"users": [{"name": "u", "user": {"tokenFile": "token"}}], "current-context": "first"})
    )
    (shared / "config").write_text(
        yaml.safe_dump(
            {
                "current-context": "second",
                "contexts": [{"name": "first", "context": context}, {"name": "second", "context": {}}],
                "clusters": [{"name": "c", "cluster": {"server": "http://127.0.0.1:1"}}],
                "users": [{"name": "u", "user": {"token": "shared"}}],
            }
        )
    )
    monkeypatch.delenv("KUBERNETES_SERVICE_HOST", raising=False)
    (tmp_path / "empty").touch()
    files = [mine / "config", tmp_path / "missing", tmp_path / "empty", shared / "config"]
    monkeypatch.setenv("KUBECONFIG", os.pathsep.join(map(str, files)))
    found = load(None)
    assert (found.server, found.namespace, await _token(found)) == ("http://127.0.0.1:1", "team", "my own")
    monkeypatch.setenv("KUBECONFIG", os.pathsep.join([str(tmp_path / "no"), str(tmp_path / "none")]))
    with pytest.raises(CredentialsError, match="no such files"):
        load(None)


def test_a_file_that_cannot_be_looked_for_is_named(
    write: Write, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As one in the home directory of another user, which kubectl does not leave out either."""
    hidden = tmp_path / ("x" * 300)  # longer than a name can be
    with pytest.raises(CredentialsError, match=hidden.name):
        from_kubeconfig(write(), hidden)
    monkeypatch.setenv("KUBECONFIG", str(hidden))
    with pytest.raises(CredentialsError, match=hidden.name):
        sync_credentials.load(sync_credentials.Overrides())


async def test_a_token_that_is_replaced_in_the_kubeconfig_is_read_again(write: Write) -> None:
    found = from_kubeconfig(write({"token": "first"}))
    assert await _token(found) == "first"
    write({"token": "second"})
    found.refused()
    assert await _token(found) == "second"


async def test_a_pod_is_its_service_account(
    tmp_path: Path, authority: Authority, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "namespace").write_text("team\n")
    (tmp_path / "token").write_text("mounted")
    (tmp_path / "ca.crt").write_bytes(authority.certificate.read_bytes())
    monkeypatch.setenv("KUBERNETES_SERVICE_HOST", "fd00::1")
    monkeypatch.setenv("KUBERNETES_SERVICE_PORT", "6443")
    found = in_cluster(tmp_path)
    assert (found.server, found.namespace, await _token(found)) == ("https://[fd00::1]:6443", "team", "mounted")
    assert found.tls is not None
    with pytest.raises(CredentialsError, match="service account of the pod is not mounted"):
        in_cluster(tmp_path / "nowhere")


def test_a_named_file_comes_first_then_the_pod_then_the_environment(
    write: Write, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    named = str(write())
    monkeypatch.setenv("KUBERNETES_SERVICE_HOST", "10.0.0.1")
    assert load(named).server == "http://127.0.0.1:1"
    monkeypatch.setattr(module, "in_cluster", lambda: Credentials("https://pod", None))
    assert load(None).server == "https://pod"
    monkeypatch.delenv("KUBERNETES_SERVICE_HOST")
    monkeypatch.setenv("KUBECONFIG", f"{named}{os.pathsep}{tmp_path}/other")
    assert load(None).server == "http://127.0.0.1:1"
    monkeypatch.delenv("KUBECONFIG")
    monkeypatch.setenv("HOME", str(tmp_path))
    with pytest.raises(CredentialsError, match=r"\.kube/config"):
        load(None)


class TestToken:
    """A token that changes behind our back."""

    async def test_it_is_read_again_after_a_minute(self, tmp_path: Path, write: Write) -> None:
        """The kubelet replaces the file; a process that kept the first token would be locked out after an hour."""
        file, now = tmp_path / "token", 1000.0
        file.write_text("first")
        found = from_kubeconfig(write({"tokenFile": "token"})).token
        assert found is not None
        found._clock = lambda: now  # noqa: SLF001
        assert await found.value() == "first"
        file.write_text("second")
        now += 59
        assert await found.value() == "first"
        now += 1
        assert await found.value() == "second"

    async def test_it_is_read_again_when_refused(self, tmp_path: Path, write: Write) -> None:
        file = tmp_path / "token"
        file.write_text("first")
        found = from_kubeconfig(write({"tokenFile": "token"})).token
        assert found is not None
        assert await found.value() == "first"
        file.write_text("second")
        found.refused()
        assert await found.value() == "second"

    async def test_many_callers_fetch_it_once(self) -> None:
        """A command may open a browser or take a second; sixty-four of them at once would be a storm."""
        go, fetched = threading.Event(), []

        def fetch() -> tuple[str, float]:
            assert go.wait(10)
            fetched.append(1)
            return "t", 60.0

        token = Token(fetch)
        callers = [asyncio.ensure_future(token.value()) for _ in range(8)]
        await asyncio.sleep(0)
        go.set()
        assert await asyncio.gather(*callers) == ["t"] * 8
        assert fetched == [1]

    async def test_the_old_one_serves_while_a_new_one_cannot_be_had(self) -> None:
        now, good = 0.0, True

        def fetch() -> tuple[str, float]:
            if good:
                return "t", 60.0
            raise CredentialsError("for a moment")

        token = Token(fetch, lambda: now)
        assert await token.value() == "t"
        now, good = 60.0, False
        assert await token.value() == "t"


def _secured(authority: Authority, script: Script) -> "_Secured":
    return _Secured(authority, script)


class _Secured:
    """The server behind TLS, for clients with a certificate only."""

    def __init__(self, authority: Authority, script: Script) -> None:
        self._tls = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH, cafile=authority.certificate)
        self._tls.load_cert_chain(*authority.files("kube-apiserver"))
        self._tls.verify_mode = ssl.CERT_REQUIRED
        self._server = RawTestServer(script.handle, scheme="https")

    async def __aenter__(self) -> str:
        await self._server.start_server(ssl=self._tls)
        return str(self._server.make_url("")).rstrip("/")

    async def __aexit__(self, *_: object) -> None:
        await self._server.close()


async def _get(found: Credentials) -> None:
    client = Client(found)
    try:
        await client.get(PODS, ObjectKey("team", "a"))
    finally:
        await client.close()


async def _token(found: Credentials) -> str:
    assert found.token is not None
    return await found.token.value()


def test_another_context_can_be_chosen(tmp_path: Path) -> None:
    """With its own server and token."""
    file = tmp_path / "config"
    file.write_text(
        "apiVersion: v1\nkind: Config\ncurrent-context: a\n"
        "contexts:\n- {name: a, context: {cluster: a, user: a}}\n"
        "- {name: b, context: {cluster: b, user: b, namespace: n}}\n"
        "clusters: [{name: a, cluster: {server: 'http://a'}}, {name: b, cluster: {server: 'http://b'}}]\n"
        "users: [{name: a, user: {token: of-a}}, {name: b, user: {token: of-b}}]\n"
    )
    found = load(str(file), Choice(context="b"))
    assert (found.server, found.namespace) == ("http://b", "n")
    assert found.token is not None
    assert asyncio.run(found.token.value()) == "of-b"
