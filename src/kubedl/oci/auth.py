"""Registry authentication, following the registry's challenges: basic authentication, or a bearer token.

The password is sent only to the registry itself, or to its token server over an equally secure connection: verified TLS
or, for an insecure registry, the same host.
"""

import re
import threading
import time
from collections.abc import Callable
from typing import Any
from urllib.parse import urlencode, urlsplit

import msgspec

from kubedl.oci.credentials import RegistryCredentials
from kubedl.oci.errors import ImageError
from kubedl.oci.reference import ImageReference
from kubedl.oci.transport import Body, Response, Transport

_PARAMETER = re.compile(r'([A-Za-z_-]+)\s*=\s*(?:"((?:[^"\\]|\\.)*)"|([^\s,"]+))')
_CLIENT = "kubedl-packer"
_LIFETIME = 60.0  # seconds: lifetime of a token without expires_in, by the distribution specification
_USED = 0.8  # fraction of the lifetime after which a token is renewed before a long request


class _Token(msgspec.Struct, frozen=True):
    token: str = ""
    access_token: str = ""
    expires_in: Any = None  # seconds; other values are ignored


class Authorizer:
    """The Authorization header for one repository, shared by all threads; renewed when the registry asks for it."""

    def __init__(
        self,
        address: ImageReference,
        exchange: Transport,
        login: RegistryCredentials | None,
        *,
        insecure: bool,
        reading: bool = False,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        """`reading` requests pull permission only."""
        self._address = address
        self._reading = reading
        self._exchange = exchange
        self._login = login
        self._insecure = insecure
        self._lock = threading.Lock()
        self._clock = clock
        self._challenge: dict[str, str] = {}  # scope of the token
        self._old_at = 0.0  # when the token is renewed
        self.header = ""

    def renew(self, refusal: Response, shown: str) -> None:
        """Handle a 401; `shown` is the rejected header, so that one thread renews it for all."""
        with self._lock:
            if self.header != shown:
                return
            scheme, parameters = parse_challenge(refusal.headers.get("www-authenticate", ""))
            if scheme == "bearer" and parameters.get("realm"):
                self._fetch(parameters)
            elif scheme == "basic" and self._login is not None and self._login.password:
                self.header = self._login.basic
            elif scheme:  # a 401 without a challenge may be transient
                raise self.refused()

    def refresh(self) -> None:
        """Renew a token that expires soon, before a request that cannot be repeated."""
        with self._lock:
            if self._challenge and self._clock() >= self._old_at:
                self._fetch(self._challenge)

    def refused(self) -> ImageError:
        """Return the error for rejected or missing credentials."""
        registry, repository = self._address.registry, self._address.repository
        what = "pull from" if self._reading else "push to"
        if self._login is None:
            message = f"{registry} rejected an anonymous {what} {repository} (401)"
            hint = "set registry.credentials.secretName, or create the Secret regcred"
        else:
            message = f"{registry} rejected the credentials for a {what} {repository} (401)"
            hint = "check user name and password for this registry in the Secret of registry.credentials, or regcred"
        return ImageError("Unauthorized", f"{message}; {hint}")

    def _fetch(self, parameters: dict[str, str]) -> None:
        began = self._clock()
        token = self._token(parameters)
        self.header = f"Bearer {token.token or token.access_token}"
        lifetime = token.expires_in if isinstance(token.expires_in, int | float) else _LIFETIME
        self._challenge, self._old_at = parameters, began + _USED * lifetime

    def _token(self, parameters: dict[str, str]) -> _Token:
        realm = self._checked(parameters["realm"])
        rights = "pull" if self._reading else "pull,push"
        scope = f"repository:{self._address.repository}:{rights}"
        query = {"service": parameters.get("service", ""), "scope": scope}
        if self._login is not None and self._login.identity_token:
            form = {"grant_type": "refresh_token", "refresh_token": self._login.identity_token, "client_id": _CLIENT}
            data = urlencode(query | form).encode()
            headers = {"Content-Type": "application/x-www-form-urlencoded"}
            reply = self._exchange.send("POST", realm, headers, Body(len(data), iter([data])))
        else:
            headers = {"Authorization": self._login.basic} if self._login is not None else {}
            joint = "&" if urlsplit(realm).query else "?"
            reply = self._exchange.send("GET", f"{realm}{joint}{urlencode(query)}", headers)
        if reply.status in {400, 401, 403}:
            raise self.refused()
        try:
            found = msgspec.json.decode(reply.content, type=_Token) if reply.status == 200 else _Token()
        except msgspec.DecodeError:
            found = _Token()
        token = found.token or found.access_token
        if not token or not token.isprintable():
            # Treat as no response: the token server may be failing, so retry.
            raise ConnectionError(f"{urlsplit(realm).netloc} returned {reply.status} and no token")
        return found

    def _checked(self, realm: str) -> str:
        place, registry = urlsplit(realm), urlsplit(f"//{self._address.host}")
        near = self._insecure and place.hostname == registry.hostname
        if place.scheme == "https" or (place.scheme == "http" and near):
            return realm
        raise ImageError(
            "RegistryNotTrusted",
            f"{self._address.registry} refers to the token server {place.netloc!r:.100}, which does not use TLS; no "
            "password is sent there",
            permanent=True,
        )


def parse_challenge(header: str) -> tuple[str, dict[str, str]]:
    """Parse a WWW-Authenticate header into its scheme, in lower case, and parameters; prefers Bearer."""
    start = re.search(r"(?i)(?:^|,)\s*bearer\s", header)
    text = header[start.start() :].lstrip(", ") if start else header.strip()
    scheme, _, rest = text.partition(" ")
    found: dict[str, str] = {}
    for name, quoted, plain in _PARAMETER.findall(rest):
        # The first counts: parameters of another scheme may follow.
        found.setdefault(name.lower(), re.sub(r"\\(.)", r"\1", quoted) or plain)
    return scheme.lower(), found
