"""Client of one repository of an OCI registry (distribution spec 1.1): blobs, manifests and referrers.

Calls are retried while that may help; all are idempotent. Only what the registry confirms counts as done.
"""

import threading
import time
from collections.abc import Callable, Collection, Mapping
from typing import Any, Self
from urllib.parse import urljoin, urlsplit

import msgspec

from kubedl.oci.auth import Authorizer
from kubedl.oci.credentials import RegistryCredentials
from kubedl.oci.errors import EndedError, ImageError, quote_for_display
from kubedl.oci.manifests import INDEX, MANIFEST, Document, digest_of
from kubedl.oci.reference import ImageReference
from kubedl.oci.retry import RetryPolicy, asked_for
from kubedl.oci.transport import BROKEN, PATIENCE, Body, Response, Transport

ACCEPTED = ", ".join(
    (
        MANIFEST,
        INDEX,
        "application/vnd.docker.distribution.manifest.v2+json",
        "application/vnd.docker.distribution.manifest.list.v2+json",
    )
)
MOST_REFUSALS = 4  # number of 401 responses before it is treated as the final response
MOST_REDIRECTS = 3
MOST_TEXT = 200  # bytes of a plain-text error
_NEVER_TWICE = {501, 505}  # not retryable


class _Error(msgspec.Struct, frozen=True):
    code: str = ""
    message: str = ""
    detail: Any = None  # some registries put the error only here: a string, or an object with a message


class _Errors(msgspec.Struct, frozen=True):
    errors: list[_Error] = []


# Made here, since threads that upload meet their first error at the same time: msgspec crashes if two of them inspect
# a type at once.
_ERRORS = msgspec.json.Decoder(_Errors)


class Registry:
    """One repository, shared by all threads of a packer."""

    def __init__(
        self,
        address: ImageReference,
        login: RegistryCredentials | None = None,
        *,
        insecure: bool = False,
        reading: bool = False,  # pull only
        clock: Callable[[], float] = time.monotonic,
        pause: Callable[[float], None] | None = None,
        report: Callable[[ImageError], None] = lambda _: None,
    ) -> None:
        """`report` is called with every error after which the registry is tried again."""
        self.address = address
        self.ended = threading.Event()  # set after a failure in another thread: ends all waits
        self._clock = clock
        self._pause = pause or self._wait
        self.report = report
        self._exchange = Transport(address.host if insecure else "")
        self._insecure = insecure
        self._verb = "pull from" if reading else "push to"
        self._authorization = Authorizer(
            address, self._exchange, login, insecure=insecure, reading=reading, clock=clock
        )

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._exchange.close()

    def retry_policy(self) -> RetryPolicy:
        """Return a retry policy for one operation with this registry."""
        return RetryPolicy(self._clock, self._pause)

    def call(
        self,
        method: str,
        target: str,
        fine: Collection[int],
        headers: Mapping[str, str] | None = None,
        content: bytes | None = None,
    ) -> Response:
        """Send a request until the status is in `fine`; the target is a path in the repository, or a URL from it."""
        patience, refusals = self.retry_policy(), 0
        while True:
            try:
                reply = self.once(method, target, headers or {}, content)
            except BROKEN as error:
                problem, asked = self.unreachable(error), None
            else:
                if reply.status in fine:
                    return reply
                refusals += reply.status == 401
                problem, asked = self.error_for(reply), asked_for(reply.headers.get("retry-after", ""))
            if not problem.retry or refusals >= MOST_REFUSALS or patience.spent():
                raise problem
            self.report(problem)
            patience.wait(asked)

    def once(
        self,
        method: str,
        target: str,
        headers: Mapping[str, str],
        content: Body | bytes | None = None,
        patience: float = PATIENCE,
    ) -> Response:
        """Send once, renewing a token that the registry rejects.

        A request without a streamed body is then sent again. A stream cannot be: an expiring token is renewed before it
        is sent, and after a 401 the caller's next attempt uses the new one.
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
        """Resolve a path in the repository, or a URL given by the registry, and check that it may be used."""
        origin = f"{self._exchange.scheme(self.address.host)}://{self.address.host}"
        url = urlsplit(urljoin(f"{origin}/v2/{self.address.repository}/", target))
        if self._is_ours(url.geturl()):
            # A registry behind a TLS-terminating proxy may return http URLs.
            return url._replace(scheme=urlsplit(origin).scheme, netloc=self.address.host, fragment="").geturl()
        if url.scheme != "https" and not self._insecure:
            raise ImageError(
                "RegistryNotTrusted", f"{self.address.registry} redirects to {url.netloc}, without TLS", permanent=True
            )
        return url._replace(fragment="").geturl()

    def has_blob(self, digest: str) -> bool:
        """Return whether the repository has the blob."""
        return self.call("HEAD", f"blobs/{digest}", {200, 404}).status == 200

    def manifest_digest(self, reference: str) -> str | None:
        """Return the descriptor of a tag or digest; None if there is no such manifest."""
        head = self.call("HEAD", f"manifests/{reference}", {200, 404}, {"Accept": ACCEPTED})
        if head.status == 404:
            return None
        message = head.headers.get("docker-content-digest", "")
        return message if message.startswith("sha256:") else digest_of(self.manifest(reference) or b"")

    def manifest(self, reference: str) -> bytes | None:
        """Return the manifest."""
        reply = self.call("GET", f"manifests/{reference}", {200, 404}, {"Accept": ACCEPTED})
        return reply.content if reply.status == 200 else None

    def put_manifest(self, document: Document, reference: str = "") -> Response:
        """Push a manifest by digest or tag, and verify that it is there."""
        name = reference or document.digest
        headers = {"Content-Type": document.media_type}
        reply = self.call("PUT", f"manifests/{name}", {200, 201, 202}, headers, document.content)
        found = self.manifest_digest(name)
        if found != document.digest:
            raise ImageError(
                "RegistryFailed",
                f"{self.address} accepted {quote_for_display(name)} but now has {found or 'nothing'} there; try again",
            )
        return reply

    def error_for(self, reply: Response) -> ImageError:
        """Return the error for an unexpected status."""
        reported = error_message(reply)
        answer = f"{self.address.registry} answers {reply.status}" + (f", {reported}" if reported else "")
        if reply.status == 401:
            return self._authorization.refused()
        if reply.status == 403:  # also for an expired token (ECR), and for an exceeded quota
            permission = f"permission to {self._verb} {self.address.repository}"
            message = f"{answer}: the credentials have expired, or have no {permission}"
            return ImageError("Forbidden", f"{message}; renew the Secret or grant the permission", retry=False)
        if reply.status in {408, 425, 429} or (reply.status >= 500 and reply.status not in _NEVER_TWICE):
            return ImageError("RegistryFailed", f"{answer}; try again later")
        if "BLOB_UNKNOWN" in reported:
            return ImageError("RegistryFailed", f"{answer}: it lost data that it had confirmed; try again")
        if reply.status == 404:
            message = f"{answer}: the repository {self.address.repository} does not exist; create it in the registry"
            return ImageError("RepositoryMissing", message, retry=False)
        return ImageError("RegistryRefused", f"{answer}; see the log of the registry", permanent=True)

    def unreachable(self, error: Exception) -> ImageError:
        """Return the error for a missing response."""
        why = str(error) or type(error).__name__
        return ImageError("RegistryUnreachable", f"{self.address.registry} cannot be reached: {why:.200}")

    def _wait(self, seconds: float) -> None:
        if self.ended.wait(seconds):
            raise EndedError

    def _is_ours(self, url: str) -> bool:
        asked, ours = urlsplit(url), urlsplit(f"//{self.address.host}")
        usual = {"https": 443, "http": 80}.get(asked.scheme)
        return asked.hostname == ours.hostname and (asked.port or usual) == (ours.port or usual)


def error_message(reply: Response) -> str:
    """Return the error message of a registry, shortened: from its JSON, or plain text as from ECR."""
    try:
        errors = _ERRORS.decode(reply.content).errors
    except msgspec.DecodeError:
        plain = reply.headers.get("content-type", "").startswith("text/plain") and reply.content.strip()
        return quote_for_display(plain[:MOST_TEXT].decode(errors="replace")) if plain else ""
    return "; ".join(_format(error) for error in errors[:3])


def _format(error: _Error) -> str:
    detail = error.detail.get("message") if isinstance(error.detail, dict) else error.detail
    more = f" {quote_for_display(detail)}" if isinstance(detail, str) and detail else ""
    return f"{error.code} {quote_for_display(error.message)}{more}"


def _asks_for_login(reply: Response) -> bool:
    """Return whether a registry asks for other credentials. Some return 403 with a challenge for an expired token."""
    return reply.status == 401 or (reply.status == 403 and "www-authenticate" in reply.headers)
