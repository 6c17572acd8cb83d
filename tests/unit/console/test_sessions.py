"""Sign-ins: sealed cookies, one-time codes, failed tries, and what a token may look like."""

import base64
import json
from pathlib import Path

import pytest

from kubedl.console.people import Caller, Person, is_token
from kubedl.console.sessions import KeyFileError, OneTimeCode, Seal, TokenTooLongError, Tries, key_from
from tests.unit.console.world import KEY, SERVER, Clock


def test_a_cookie_returns_its_token_for_eight_hours() -> None:
    """And does not show it."""
    clock = Clock()
    seal = Seal(KEY, clock)
    cookie, seconds = seal.close("token-of-ada")
    assert "token-of-ada" not in cookie
    assert (seal.open(cookie), seconds) == ("token-of-ada", 8 * 3600)
    clock.now += 8 * 3600
    assert seal.open(cookie) is None


def test_a_cookie_ends_with_its_token() -> None:
    """If the token says when it ends."""
    clock = Clock()
    claims = base64.urlsafe_b64encode(json.dumps({"exp": clock.now + 60}).encode()).decode().rstrip("=")
    assert Seal(KEY, clock).close(f"head.{claims}.signature")[1] == 60


def test_a_cookie_of_another_key_or_that_was_changed_is_nothing() -> None:
    """Never an error."""
    seal = Seal(KEY, Clock())
    cookie, _ = seal.close("token-of-ada")
    changed = cookie[:-2] + ("AA" if not cookie.endswith("AA") else "BB")
    for other in (Seal(b"x" * 32, Clock()).close("t")[0], changed, cookie[:20], "", "é", "====", "a b"):
        assert seal.open(other) is None


def test_a_token_that_does_not_fit_into_a_cookie_is_refused() -> None:
    """Instead of a sign-in that the browser forgets."""
    with pytest.raises(TokenTooLongError):
        Seal(KEY, Clock()).close("x" * 4000)


def test_a_code_works_once() -> None:
    """And opens one session."""
    code = OneTimeCode()
    assert code.redeem("guess") is None
    assert not code.is_session("")
    session = code.redeem(code.code)
    assert session is not None
    assert code.is_session(session)
    assert not code.is_session("other")
    assert code.redeem(code.code) is None


def test_ten_failed_tries_a_minute_are_enough() -> None:
    """Per address."""
    clock = Clock()
    tries = Tries(clock)
    for _ in range(10):
        assert not tries.exhausted("10.0.0.1")
        tries.failed("10.0.0.1")
    assert tries.exhausted("10.0.0.1")
    assert not tries.exhausted("10.0.0.2")
    clock.now += 60
    assert not tries.exhausted("10.0.0.1")


def test_a_try_that_did_not_fail_does_not_count() -> None:
    tries = Tries(Clock())
    for _ in range(20):
        assert not tries.exhausted("10.0.0.1")
        tries.failed("10.0.0.1")
        tries.succeeded("10.0.0.1")


@pytest.mark.parametrize("text", ["", "a b", "a\r\nX-Remote-User: root", "é", "a" * 20_000, "=a"])
def test_what_could_add_a_header_is_not_a_token(text: str) -> None:
    """Tokens are sent to the API server in a request's head."""
    assert not is_token(text)


def test_a_token_is_not_printed_with_its_owner() -> None:
    """So that no log and no error has one."""
    assert "secret" not in repr(Caller(Person("ada"), SERVER.with_token("secret")))


def test_a_key_file_has_32_bytes(tmp_path: Path) -> None:
    """The message says how to make one."""
    file = tmp_path / "key"
    file.write_text(base64.b64encode(KEY).decode() + "\n")
    assert key_from(str(file)) == KEY
    file.write_text(base64.b64encode(b"short").decode())
    with pytest.raises(KeyFileError, match="head -c 32"):
        key_from(str(file))
    with pytest.raises(KeyFileError):
        key_from(str(tmp_path / "missing"))
