"""How people prove who they are: by a proxy in front, by a token that they paste, or as the owner of a kubeconfig.

The console stores nobody's token. A request without a valid proof has no caller, and gets nothing but the page itself.
"""

from typing import Protocol

from aiohttp import web

from kubedl.console.people import Caller, Person, is_token
from kubedl.console.problems import RefusalError
from kubedl.console.reviews import TokenReviews
from kubedl.console.sessions import OneTimeCode, Seal, TokenTooLongError, Tries
from kubedl.console.wire import SignIn
from kubedl.kube.credentials import Credentials
from kubedl.kube.errors import ApiError

BEARER = "Bearer "
SESSION_COOKIE = "__Host-kubedl-console"
SESSION_COOKIE_BELOW = "__Secure-kubedl-console"  # below a path: browsers allow __Host- for whole hosts only
ADDRESS_UNKNOWN = "unknown"


class Access(Protocol):
    """A mode of the console."""

    mode: str

    async def caller(self, request: web.Request) -> Caller | None:
        """Return who calls; None if that is not proved."""

    async def sign_in(self, request: web.Request, proof: SignIn, answer: web.Response) -> Person:
        """Check a proof and let the answer carry the session."""

    def sign_out(self, answer: web.Response) -> None:
        """Let the answer end the session."""


class ProxyAccess:
    """A proxy in front signs people in and adds their token to every request."""

    mode = "proxy"

    def __init__(self, reviews: TokenReviews, server: Credentials) -> None:
        self._reviews, self._server = reviews, server

    async def caller(self, request: web.Request) -> Caller | None:
        """Return the owner of the token in the header."""
        return await caller_with(self._reviews, self._server, bearer(request))

    async def sign_in(self, request: web.Request, proof: SignIn, answer: web.Response) -> Person:
        """Refuse: the proxy does this."""
        raise _elsewhere()

    def sign_out(self, answer: web.Response) -> None:
        """Leave the session to the proxy."""


class TokenAccess:
    """A person pastes a token, which comes back encrypted in a cookie that scripts cannot read."""

    mode = "token"

    def __init__(self, reviews: TokenReviews, server: Credentials, seal: Seal, tries: Tries, path: str = "") -> None:
        """`path` is that under which browsers have the console: other programs of the host do not get the cookie."""
        self._reviews, self._server, self._seal, self._tries = reviews, server, seal, tries
        self._cookie, self._path = (SESSION_COOKIE_BELOW, path) if path else (SESSION_COOKIE, "/")

    async def caller(self, request: web.Request) -> Caller | None:
        """Return the owner of the token in the cookie."""
        token = self._seal.open(request.cookies.get(self._cookie, ""))
        return await caller_with(self._reviews, self._server, token or "")

    async def sign_in(self, request: web.Request, proof: SignIn, answer: web.Response) -> Person:
        """Ask the API server whose token it is, at most ten times a minute and address in vain."""
        address = request.remote or ADDRESS_UNKNOWN
        if self._tries.exhausted(address):
            raise RefusalError(
                429, "not signed in", "ten tries failed within a minute", "Wait a minute, then try again."
            )
        token = proof.token.strip()
        self._tries.failed(address)  # until it is known: others are asked about at the same time
        try:
            person = await self._reviews.person(token)
        except ApiError:
            self._tries.succeeded(address)  # nobody has judged it
            raise
        if person is None:
            raise RefusalError(
                401,
                "not signed in",
                "the API server does not accept this token",
                "Make a new one, for example: kubectl create token NAME --namespace NAMESPACE",
            )
        self._tries.succeeded(address)
        try:
            cookie, seconds = self._seal.close(token)
        except TokenTooLongError:
            raise RefusalError(
                413, "not signed in", "the token is too long for a cookie", "Use the mode proxy for such tokens."
            ) from None
        answer.set_cookie(
            self._cookie, cookie, max_age=seconds, path=self._path, secure=True, httponly=True, samesite="Strict"
        )
        return person

    def sign_out(self, answer: web.Response) -> None:
        """Forget the cookie."""
        answer.del_cookie(self._cookie, path=self._path, secure=True, httponly=True, samesite="Strict")


class LocalAccess:
    """One person with a kubeconfig, on this machine only. A one-time code keeps other users of the machine out."""

    mode = "local"

    def __init__(self, caller: Caller, code: OneTimeCode, name: str) -> None:
        """`name` tells the cookies of several local consoles apart: browsers do not by port."""
        self._caller, self._code, self._cookie = caller, code, name

    async def caller(self, request: web.Request) -> Caller | None:
        """Return the owner of the kubeconfig if this is the browser that had the code."""
        return self._caller if self._code.is_session(request.cookies.get(self._cookie, "")) else None

    async def sign_in(self, request: web.Request, proof: SignIn, answer: web.Response) -> Person:
        """Redeem the code."""
        session = self._code.redeem(proof.code)
        if session is None:
            raise RefusalError(
                401, "not signed in", "the code was used before, or is of another console", "Run `kubedl open` again."
            )
        answer.set_cookie(self._cookie, session, path="/", httponly=True, samesite="Strict")
        return self._caller.person

    def sign_out(self, answer: web.Response) -> None:
        """Forget the cookie."""
        answer.del_cookie(self._cookie, path="/", httponly=True, samesite="Strict")


def bearer(request: web.Request) -> str:
    """Return the token in the header of a request."""
    header = request.headers.get("Authorization", "")
    return header[len(BEARER) :].strip() if header.startswith(BEARER) else ""


async def caller_with(reviews: TokenReviews, server: Credentials, token: str) -> Caller | None:
    """Return the owner of a token, with credentials that prove this person and nobody else."""
    if not is_token(token) or (person := await reviews.person(token)) is None:
        return None
    return Caller(person, server.with_token(token))


def _elsewhere() -> RefusalError:
    return RefusalError(
        405, "no sign-in here", "the proxy in front of the console signs people in", "Open the proxy's address."
    )
