"""What a registry wants to be shown, learned from its refusals: a password, or a token from the place that it names.

The password goes to the registry itself, or to the token's place if that is reached over a connection that is as safe:
checked TLS, or, where the registry was said to be insecure, the same host. Nobody else ever sees it.
"""

import re
import threading
import time
from collections.abc import Callable
from typing import Any
from urllib.parse import urlencode, urlsplit

import msgspec

from kubedl.models.packer.address import Address
from kubedl.models.packer.exchange import Body, Exchange, Reply
from kubedl.models.packer.failure import PackingError
from kubedl.models.packer.login import Login

_PARAMETER = re.compile(r'([A-Za-z_-]+)\s*=\s*(?:"((?:[^"\\]|\\.)*)"|([^\s,"]+))')
_CLIENT = "kubedl-packer"
_LIFETIME = 60.0  # seconds of a token whose lifetime is not told, as the distribution project's token specification has
_USED = 0.8  # the part of a lifetime after which a token is renewed before a long request


class _Token(msgspec.Struct, frozen=True):
    token: str = ""
    access_token: str = ""
    expires_in: Any = None  # seconds; what is no number is passed over


class Authorization:
    """The header that opens one repository, for all threads; renewed when the registry asks for another."""

    def __init__(
        self,
        address: Address,
        exchange: Exchange,
        login: Login | None,
        *,
        insecure: bool,
        reading: bool = False,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        """`reading` asks for no more than the right to pull."""
        self._address = address
        self._reading = reading
        self._exchange = exchange
        self._login = login
        self._insecure = insecure
        self._lock = threading.Lock()
        self._clock = clock
        self._challenge: dict[str, str] = {}  # that the token was given for
        self._old_at = 0.0  # when the token is to be renewed
        self.header = ""

    def renew(self, refusal: Reply, shown: str) -> None:
        """Do what a 401 asks for; `shown` is the header that was refused, so that one thread renews it for all."""
        with self._lock:
            if self.header != shown:
                return
            scheme, parameters = parse_challenge(refusal.headers.get("www-authenticate", ""))
            if scheme == "bearer" and parameters.get("realm"):
                self._fetch(parameters)
            elif scheme == "basic" and self._login is not None and self._login.password:
                self.header = self._login.basic
            elif scheme:  # a refusal that asks for nothing may be a hiccup
                raise self.refused()

    def refresh(self) -> None:
        """Renew a token that may expire soon: before a request that cannot be sent again."""
        with self._lock:
            if self._challenge and self._clock() >= self._old_at:
                self._fetch(self._challenge)

    def refused(self) -> PackingError:
        """Why the registry does not know us."""
        registry, repository = self._address.registry, self._address.repository
        what = "pull from" if self._reading else "push to"
        if self._login is None:
            message = f"{registry} rejected an anonymous {what} {repository} (401)"
            hint = "set registry.credentials.secretName, or create the Secret regcred"
        else:
            message = f"{registry} rejected the credentials for a {what} {repository} (401)"
            hint = "check user name and password for this registry in the Secret of registry.credentials, or regcred"
        return PackingError("Unauthorized", f"{message}; {hint}")

    def _fetch(self, parameters: dict[str, str]) -> None:
        began = self._clock()
        found = self._token(parameters)
        self.header = f"Bearer {found.token or found.access_token}"
        lifetime = found.expires_in if isinstance(found.expires_in, int | float) else _LIFETIME
        self._challenge, self._old_at = parameters, began + _USED * lifetime

    def _token(self, parameters: dict[str, str]) -> _Token:
        realm = self._checked(parameters["realm"])
        rights = "pull" if self._reading else "pull,push"
        wish = {"service": parameters.get("service", ""), "scope": f"repository:{self._address.repository}:{rights}"}
        if self._login is not None and self._login.identity_token:
            form = {"grant_type": "refresh_token", "refresh_token": self._login.identity_token, "client_id": _CLIENT}
            data = urlencode(wish | form).encode()
            headers = {"Content-Type": "application/x-www-form-urlencoded"}
            reply = self._exchange.send("POST", realm, headers, Body(len(data), iter([data])))
        else:
            headers = {"Authorization": self._login.basic} if self._login is not None else {}
            joint = "&" if urlsplit(realm).query else "?"
            reply = self._exchange.send("GET", f"{realm}{joint}{urlencode(wish)}", headers)
        if reply.status in {400, 401, 403}:
            raise self.refused()
        try:
            found = msgspec.json.decode(reply.content, type=_Token) if reply.status == 200 else _Token()
        except msgspec.DecodeError:
            found = _Token()
        token = found.token or found.access_token
        if not token or not token.isprintable():
            # As good as silence: it may be in trouble itself, and is asked again.
            raise ConnectionError(f"{urlsplit(realm).netloc} answers {reply.status} and gives no token")
        return found

    def _checked(self, realm: str) -> str:
        place, registry = urlsplit(realm), urlsplit(f"//{self._address.host}")
        near = self._insecure and place.hostname == registry.hostname
        if place.scheme == "https" or (place.scheme == "http" and near):
            return realm
        raise PackingError(
            "RegistryNotTrusted",
            f"{self._address.registry} sends us for a token to {place.netloc!r:.100}, which is not reached over TLS; "
            "no password is sent there",
            permanent=True,
        )


def parse_challenge(header: str) -> tuple[str, dict[str, str]]:
    """The scheme, in lower case, and the parameters of a WWW-Authenticate header; Bearer if it offers several."""
    start = re.search(r"(?i)(?:^|,)\s*bearer\s", header)
    text = header[start.start() :].lstrip(", ") if start else header.strip()
    scheme, _, rest = text.partition(" ")
    found = {name.lower(): re.sub(r"\\(.)", r"\1", quoted) or plain for name, quoted, plain in _PARAMETER.findall(rest)}
    return scheme.lower(), found
