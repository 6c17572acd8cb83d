"""Who is shown what: passwords and tokens go where they belong, and nowhere else."""

import pytest

from kubedl.oci.auth import parse_challenge
from kubedl.oci.credentials import RegistryCredentials
from kubedl.oci.errors import ImageError
from kubedl.oci.transport import Body
from tests.unit.oci.conftest import Clock, Connect
from tests.unit.oci.fake_registry import FakeRegistry, Fault, serving

ME = RegistryCredentials("me", "secret")


@pytest.mark.parametrize(
    ("header", "expected"),
    [
        ('Bearer realm="https://a/t",service="s"', ("bearer", {"realm": "https://a/t", "service": "s"})),
        ("bearer realm=https://a/t , scope=x", ("bearer", {"realm": "https://a/t", "scope": "x"})),
        ('Basic realm="a, b"', ("basic", {"realm": "a, b"})),
        ('Basic realm="x", Bearer realm="https://a/t"', ("bearer", {"realm": "https://a/t"})),
        (
            'Bearer realm="https://a/t",service="s", Basic realm="x"',
            ("bearer", {"realm": "https://a/t", "service": "s"}),
        ),
        ('Bearer realm="a\\"b"', ("bearer", {"realm": 'a"b'})),
        ("", ("", {})),
    ],
)
def test_challenges(header: str, expected: tuple[str, dict[str, str]]) -> None:
    assert parse_challenge(header) == expected


@pytest.mark.parametrize("login", [None, ME])
def test_a_token_is_fetched_once_and_shown_from_then_on(
    fake: FakeRegistry, connect: Connect, login: RegistryCredentials | None
) -> None:
    fake.token = "t1"  # noqa: S105
    registry = connect(login)
    for digest in ("sha256:a", "sha256:b"):
        assert not registry.has_blob(digest)
    assert fake.logins == [login.basic if login else ""]
    assert fake.paths("GET") == ["/token?service=fake&scope=repository%3Ateam%2Fmodel%3Apull%2Cpush"]


def test_a_token_that_is_over_is_fetched_anew(fake: FakeRegistry, connect: Connect) -> None:
    fake.token = "t1"  # noqa: S105
    registry = connect(ME)
    registry.has_blob("sha256:a")
    fake.token = "t2"  # noqa: S105
    assert not registry.has_blob("sha256:a")
    assert len(fake.logins) == 2


def test_a_token_is_renewed_before_a_body_that_cannot_be_sent_again(
    fake: FakeRegistry, connect: Connect, clock: Clock
) -> None:
    """When most of its life is over; a body in memory is sent again instead."""
    fake.token = "t1"  # noqa: S105
    registry = connect(ME)
    registry.has_blob("sha256:a")
    for seconds, renewals in ((47, 1), (48, 2), (49, 2)):  # a minute, where nobody says how long it is good
        clock.now = seconds
        registry.once("PATCH", "blobs/uploads/none", {}, Body(1, iter([b"x"])))
        assert len(fake.logins) == renewals


def test_a_body_in_memory_is_sent_again_with_a_new_token(fake: FakeRegistry, connect: Connect) -> None:
    fake.token = "t1"  # noqa: S105
    registry = connect(ME)
    registry.has_blob("sha256:a")
    fake.token = "t2"  # noqa: S105
    for content in (b"", b"{}"):
        assert registry.once("POST", "blobs/uploads/", {}, content).status == 202


def test_a_403_with_a_challenge_asks_for_another_token(fake: FakeRegistry, connect: Connect) -> None:
    fake.token = "t1"  # noqa: S105
    registry = connect(ME)
    registry.has_blob("sha256:a")
    fake.token = "t2"  # noqa: S105
    challenge = {"WWW-Authenticate": f'Bearer realm="http://{fake.address}/token"'}
    fake.faults = [Fault("HEAD", 403, headers=challenge)]
    assert not registry.has_blob("sha256:a")


def test_an_identity_token_is_exchanged(fake: FakeRegistry, connect: Connect) -> None:
    fake.token = "t1"  # noqa: S105
    connect(RegistryCredentials(identity_token="lasting")).has_blob("sha256:a")  # noqa: S106
    assert "refresh_token=lasting" in fake.logins[0]


def test_a_password_is_shown_to_a_registry_that_asks_for_it(fake: FakeRegistry, connect: Connect) -> None:
    fake.faults = [Fault("HEAD", 401, headers={"WWW-Authenticate": 'Basic realm="x"'})]
    connect(ME).has_blob("sha256:a")
    assert [request.authorization for request in fake.seen] == ["", ME.basic]


def test_a_registry_that_takes_passwords_and_tokens_is_shown_a_token(fake: FakeRegistry, connect: Connect) -> None:
    """Also by somebody without a password, whichever it names first, in two headers."""
    fake.token = "t1"  # noqa: S105
    bearer, basic = f'Bearer realm="http://{fake.address}/token"', 'Basic realm="x"'
    for first, second in ((bearer, basic), (basic, bearer)):
        headers = {"WWW-Authenticate": first, "Www-Authenticate": second}
        fake.faults = [Fault("HEAD", 401, headers=headers)]
        assert not connect().has_blob("sha256:a")
    assert fake.logins == ["", ""]


def test_somebody_without_a_password_is_refused_at_once(fake: FakeRegistry, connect: Connect) -> None:
    fake.faults = [Fault("HEAD", 401, headers={"WWW-Authenticate": 'Basic realm="x"'})]
    with pytest.raises(ImageError) as caught:
        connect().has_blob("sha256:a")
    assert (caught.value.reason, len(fake.seen)) == ("Unauthorized", 1)
    assert caught.value.message == (
        f"{fake.address} rejected an anonymous push to team/model (401); "
        "set registry.credentials.secretName, or create the Secret regcred"
    )


def test_a_refusal_that_stays_is_the_answer(fake: FakeRegistry, connect: Connect) -> None:
    """A few in a row may be a hiccup; and what the password is stays out of the message."""
    basic = {"WWW-Authenticate": 'Basic realm="x"'}
    fake.faults = [Fault("HEAD", 401, headers=basic) for _ in range(20)]
    with pytest.raises(ImageError) as caught:
        connect(ME).has_blob("sha256:a")
    assert caught.value.reason == "Unauthorized"
    assert "secret" not in caught.value.message
    fake.faults = [Fault("HEAD", 401, headers=basic) for _ in range(2)]
    assert not connect(ME).has_blob("sha256:a")


@pytest.mark.parametrize("realm", ["http://elsewhere.example.com/token", "ftp://x/token", "file:///etc/passwd"])
def test_no_password_goes_to_another_host_without_tls(fake: FakeRegistry, connect: Connect, realm: str) -> None:
    fake.token, fake.realm = "t1", realm
    with pytest.raises(ImageError) as caught:
        connect(ME).has_blob("sha256:a")
    assert (caught.value.reason, caught.value.permanent) == ("RegistryNotTrusted", True)
    assert fake.logins == []


def test_another_host_is_not_shown_what_opens_the_registry(fake: FakeRegistry, connect: Connect) -> None:
    """A registry may keep blobs elsewhere and say so."""
    other = FakeRegistry()
    other.blobs["sha256:a"] = b"x"
    with serving(other) as address:
        fake.token = "t1"  # noqa: S105
        place = f"http://{address}/v2/x/blobs/sha256:a"
        with connect(ME) as registry:
            registry.has_blob("sha256:b")
            fake.faults = [Fault("HEAD", 307, headers={"Location": place})]
            assert registry.has_blob("sha256:a")
    assert [request.authorization for request in other.seen] == [""]
