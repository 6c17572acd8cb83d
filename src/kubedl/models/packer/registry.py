"""A repository of an OCI registry (distribution spec 1.1): blobs, manifests, and what refers to them.

Calls are tried again for as long as that may help and no longer; every one of them may be made twice without harm.
What the registry does not confirm did not happen.
"""

import threading
import time
from collections.abc import Callable, Collection, Mapping
from typing import Any, Self
from urllib.parse import urljoin, urlsplit

import msgspec

from kubedl.models.packer.address import Address
from kubedl.models.packer.authorization import Authorization
from kubedl.models.packer.exchange import BROKEN, PATIENCE, Body, Exchange, Reply
from kubedl.models.packer.failure import EndedError, PackingError, shown
from kubedl.models.packer.login import Login
from kubedl.models.packer.manifests import INDEX, MANIFEST, Document, digest_of
from kubedl.models.packer.patience import Patience, asked_for

ACCEPTED = ", ".join(
    (
        MANIFEST,
        INDEX,
        "application/vnd.docker.distribution.manifest.v2+json",
        "application/vnd.docker.distribution.manifest.list.v2+json",
    )
)
MOST_REFUSALS = 4  # that say who are you, before it is taken for the answer
MOST_REDIRECTS = 3
MOST_WORDS = 200  # bytes of an error in plain text
_NEVER_TWICE = {501, 505}  # not by waiting


class _Words(msgspec.Struct, frozen=True):
    code: str = ""
    message: str = ""
    detail: Any = None  # some registries say only here what they refuse: a string, or an object with a message


class _Errors(msgspec.Struct, frozen=True):
    errors: list[_Words] = []


class Registry:
    """One repository, for all threads of a packer."""

    def __init__(
        self,
        address: Address,
        login: Login | None = None,
        *,
        insecure: bool = False,
        reading: bool = False,  # nothing will be pushed
        clock: Callable[[], float] = time.monotonic,
        pause: Callable[[float], None] | None = None,
    ) -> None:
        self.address = address
        self.ended = threading.Event()  # set when packing has failed: then nobody waits for another attempt
        self._clock = clock
        self._pause = pause or self._wait
        self._exchange = Exchange(address.host if insecure else "")
        self._insecure = insecure
        self._verb = "pull from" if reading else "push to"
        self._authorization = Authorization(
            address, self._exchange, login, insecure=insecure, reading=reading, clock=clock
        )

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._exchange.close()

    def patience(self) -> Patience:
        """For one piece of work with this registry."""
        return Patience(self._clock, self._pause)

    def call(
        self,
        method: str,
        target: str,
        fine: Collection[int],
        headers: Mapping[str, str] | None = None,
        content: bytes | None = None,
    ) -> Reply:
        """An answer whose status is among `fine`; the target is a path in the repository, or an address given by it."""
        patience, refusals = self.patience(), 0
        while True:
            try:
                reply = self.once(method, target, headers or {}, content)
            except BROKEN as error:
                trouble, asked = self.unreachable(error), None
            else:
                if reply.status in fine:
                    return reply
                refusals += reply.status == 401
                trouble, asked = self.trouble(reply), asked_for(reply.headers.get("retry-after", ""))
            if not trouble.retry or refusals >= MOST_REFUSALS or patience.spent():
                raise trouble
            patience.wait(asked)

    def once(
        self,
        method: str,
        target: str,
        headers: Mapping[str, str],
        content: Body | bytes | None = None,
        patience: float = PATIENCE,
    ) -> Reply:
        """One attempt, in which a token that the registry does not accept is renewed.

        A request without a stream in its body is then sent again. A stream cannot be: a token that is about to expire
        is renewed before it is sent, and after a 401 the caller's next attempt shows the new one.
        """
        url = self.located(target)
        if isinstance(content, Body):
            self._authorization.refresh()
        for _ in range(MOST_REDIRECTS):
            known = self._authorization.header if self._is_ours(url) else ""
            shown_headers = {**headers, **({"Authorization": known} if known else {})}
            body = Body(len(content), iter([content])) if isinstance(content, bytes) else content
            reply = self._exchange.send(method, url, shown_headers, body, patience)
            if _asks_for_login(reply) and self._is_ours(url):
                self._authorization.renew(reply, known)
                if not isinstance(content, Body) and self._authorization.header != known:
                    continue
            if method not in {"GET", "HEAD"} or reply.status not in {301, 302, 303, 307, 308}:
                return reply
            url = self.located(urljoin(url, reply.headers.get("location", "")))
        return reply

    def located(self, target: str) -> str:
        """A path in the repository, or an address that the registry gave, as a whole address that may be gone to."""
        origin = f"{self._exchange.scheme(self.address.host)}://{self.address.host}"
        url = urlsplit(urljoin(f"{origin}/v2/{self.address.repository}/", target))
        if self._is_ours(url.geturl()):
            # A registry behind a proxy that ends TLS may not know that it is there.
            return url._replace(scheme=urlsplit(origin).scheme, netloc=self.address.host, fragment="").geturl()
        if url.scheme != "https" and not self._insecure:
            raise PackingError(
                "RegistryNotTrusted", f"{self.address.registry} sends us to {url.netloc}, without TLS", permanent=True
            )
        return url._replace(fragment="").geturl()

    def has_blob(self, digest: str) -> bool:
        """Whether the repository has it."""
        return self.call("HEAD", f"blobs/{digest}", {200, 404}).status == 200

    def manifest_digest(self, reference: str) -> str | None:
        """What a tag or digest leads to; None if there is no such manifest."""
        head = self.call("HEAD", f"manifests/{reference}", {200, 404}, {"Accept": ACCEPTED})
        if head.status == 404:
            return None
        told = head.headers.get("docker-content-digest", "")
        return told if told.startswith("sha256:") else digest_of(self.manifest(reference) or b"")

    def manifest(self, reference: str) -> bytes | None:
        """The manifest itself."""
        reply = self.call("GET", f"manifests/{reference}", {200, 404}, {"Accept": ACCEPTED})
        return reply.content if reply.status == 200 else None

    def put_manifest(self, document: Document, reference: str = "") -> Reply:
        """Store a manifest under its digest, or under a tag too, and make sure that it is there."""
        name = reference or document.digest
        headers = {"Content-Type": document.media_type}
        reply = self.call("PUT", f"manifests/{name}", {200, 201, 202}, headers, document.content)
        found = self.manifest_digest(name)
        if found != document.digest:
            raise PackingError(
                "RegistryFailed", f"{self.address} took {shown(name)} and now has {found or 'nothing'} there; try again"
            )
        return reply

    def trouble(self, reply: Reply) -> PackingError:
        """What an answer that nobody wished for means."""
        words = words_of(reply)
        said = f"{self.address.registry} answers {reply.status}" + (f", {words}" if words else "")
        if reply.status == 401:
            return self._authorization.refused()
        if reply.status == 403:  # also of a token that has expired, as ECR does, and of a quota that is used up
            message = f"{said}: the credentials have expired or may not {self._verb} {self.address.repository}"
            return PackingError("Forbidden", f"{message}; renew the Secret or grant the right", retry=False)
        if reply.status in {408, 425, 429} or (reply.status >= 500 and reply.status not in _NEVER_TWICE):
            return PackingError("RegistryFailed", f"{said}; try again when it is well")
        if "BLOB_UNKNOWN" in words:
            return PackingError("RegistryFailed", f"{said}: it lost what it had confirmed; try again")
        if reply.status == 404:
            message = f"{said}: the repository {self.address.repository} does not exist; create it in the registry"
            return PackingError("RepositoryMissing", message, retry=False)
        return PackingError("RegistryRefused", f"{said}; see the registry's own log", permanent=True)

    def unreachable(self, error: Exception) -> PackingError:
        """No answer at all."""
        why = str(error) or type(error).__name__
        return PackingError("RegistryUnreachable", f"{self.address.registry} cannot be reached: {why:.200}")

    def _wait(self, seconds: float) -> None:
        if self.ended.wait(seconds):
            raise EndedError

    def _is_ours(self, url: str) -> bool:
        asked, ours = urlsplit(url), urlsplit(f"//{self.address.host}")
        usual = {"https": 443, "http": 80}.get(asked.scheme)
        return asked.hostname == ours.hostname and (asked.port or usual) == (ours.port or usual)


def words_of(reply: Reply) -> str:
    """The registry's own words about an error, cut short: from its JSON, or plain text as ECR answers it."""
    try:
        found = msgspec.json.decode(reply.content, type=_Errors).errors
    except msgspec.DecodeError:
        plain = reply.headers.get("content-type", "").startswith("text/plain") and reply.content.strip()
        return shown(plain[:MOST_WORDS].decode(errors="replace")) if plain else ""
    return "; ".join(_said(words) for words in found[:3])


def _said(words: _Words) -> str:
    detail = words.detail.get("message") if isinstance(words.detail, dict) else words.detail
    more = f" {shown(detail)}" if isinstance(detail, str) and detail else ""
    return f"{words.code} {shown(words.message)}{more}"


def _asks_for_login(reply: Reply) -> bool:
    """Whether a registry wants other credentials. Some answer 403 to a token that has expired, with a challenge."""
    return reply.status == 401 or (reply.status == 403 and "www-authenticate" in reply.headers)
