"""Sign-ins that outlast a page: sealed cookies, one-time codes, and a limit on failed tries.

A token is kept nowhere but in the browser's cookie, encrypted; the key is a Secret of the cluster, or lives as long as
the process.
"""

import base64
import secrets
from collections import deque
from collections.abc import Callable
from pathlib import Path

import msgspec
from cryptography.exceptions import InvalidTag
from cryptography.hazmat.primitives.ciphers.aead import AESGCM

LONGEST_SESSION = 8 * 3600.0  # seconds
LONGEST_COOKIE = 3800  # browsers keep 4,096 bytes with name and attributes
FAILED_TRIES, PER_SECONDS = 10, 60.0
MOST_ADDRESSES = 10_000
_PURPOSE = b"kubedl console session 1"
_NONCE = 12


class TokenTooLongError(ValueError):
    """A token does not fit into a cookie."""


class KeyFileError(ValueError):
    """The file with the key for sessions is of no use; the message says why."""


class _Session(msgspec.Struct, frozen=True):
    token: str
    until: float


class _Claims(msgspec.Struct, frozen=True):
    exp: float = float("inf")


class Seal:
    """Encrypts tokens into cookies (AES-256-GCM)."""

    def __init__(self, key: bytes, clock: Callable[[], float]) -> None:
        """`clock` tells the time of day."""
        self._cipher, self._clock = AESGCM(key), clock

    def close(self, token: str) -> tuple[str, int]:
        """Return a cookie for a token, and for how many seconds it is good: never longer than the token itself."""
        until = min(self._clock() + LONGEST_SESSION, _expiry(token))
        nonce = secrets.token_bytes(_NONCE)
        sealed = nonce + self._cipher.encrypt(nonce, msgspec.json.encode(_Session(token, until)), _PURPOSE)
        cookie = base64.urlsafe_b64encode(sealed).decode().rstrip("=")
        if len(cookie) > LONGEST_COOKIE:
            raise TokenTooLongError
        return cookie, max(0, int(until - self._clock()))

    def open(self, cookie: str) -> str | None:
        """Return the token in a cookie; None if it is not ours, or too old."""
        try:
            sealed = base64.b64decode(cookie + "=" * (-len(cookie) % 4), altchars=b"-_", validate=True)
            session = msgspec.json.decode(
                self._cipher.decrypt(sealed[:_NONCE], sealed[_NONCE:], _PURPOSE), type=_Session
            )
        except (InvalidTag, ValueError, msgspec.MsgspecError):
            return None
        return session.token if self._clock() < session.until else None


class OneTimeCode:
    """A code that opens one session; a second use of it opens nothing."""

    def __init__(self) -> None:
        self.code = secrets.token_urlsafe(24)
        self._session = secrets.token_urlsafe(24)
        self._used = False

    def redeem(self, code: str) -> str | None:
        """Return the session for a code, once."""
        if self._used or not secrets.compare_digest(code.encode(), self.code.encode()):
            return None
        self._used = True
        return self._session

    def is_session(self, value: str) -> bool:
        """Return whether this is the session that was opened."""
        return self._used and secrets.compare_digest(value.encode(), self._session.encode())


class Tries:
    """Failed sign-ins by address."""

    def __init__(self, clock: Callable[[], float]) -> None:
        self._clock = clock
        self._failed: dict[str, deque[float]] = {}

    def exhausted(self, address: str) -> bool:
        """Return whether an address has to wait."""
        failed = self._failed.get(address)
        if failed is None:
            return False
        while failed and failed[0] <= self._clock() - PER_SECONDS:
            failed.popleft()
        if not failed:
            del self._failed[address]
        return len(failed) >= FAILED_TRIES

    def failed(self, address: str) -> None:
        """Count a failed sign-in."""
        if len(self._failed) >= MOST_ADDRESSES:
            self._failed.pop(next(iter(self._failed)))
        self._failed.setdefault(address, deque()).append(self._clock())

    def succeeded(self, address: str) -> None:
        """Take back what was counted last: that one did not fail."""
        failed = self._failed.get(address)
        if failed:
            failed.pop()
        if not failed:
            self._failed.pop(address, None)


def key_from(file: str) -> bytes:
    """Return the key in a file: 32 bytes as base64. Without a file, a new one: sign-ins end with the process."""
    if not file:
        return AESGCM.generate_key(256)
    try:
        key = base64.b64decode(Path(file).read_text().strip(), validate=True)
    except (OSError, ValueError) as error:
        raise KeyFileError(f"{file}: {error}") from error
    if len(key) != 32:
        raise KeyFileError(f"{file} has {len(key)} bytes; write 32, for example: head -c 32 /dev/urandom | base64")
    return key


def _expiry(token: str) -> float:
    """Return when a token ends, if it says so. It is not trusted: the API server judges every use."""
    parts = token.split(".")
    if len(parts) != 3:
        return float("inf")
    try:
        claims = base64.urlsafe_b64decode(parts[1] + "=" * (-len(parts[1]) % 4))
        return msgspec.json.decode(claims, type=_Claims).exp
    except (ValueError, msgspec.MsgspecError):
        return float("inf")
