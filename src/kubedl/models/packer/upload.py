"""One blob on its way into a repository: sent once, and after a cut from where the registry says that it stopped.

A registry may also have dropped the upload (those built on distribution 2 do when they are asked); then it begins anew.

A blob that the repository has is not sent. Bytes that were sent count only when the registry has confirmed the whole,
by its digest: what it has then is what was hashed, whatever happened on the way. So a registry may also be mistaken
about how far it is: ECR's Range stands still after the first request although it keeps what it is sent. Then what was
sent is believed to be there, once, and the digest decides.
"""

from collections.abc import Callable, Iterator
from urllib.parse import urlsplit

from kubedl.models.packer.exchange import BROKEN, COMMIT_PATIENCE, PATIENCE, Body, Reply
from kubedl.models.packer.failure import PackingError, source_changed
from kubedl.models.packer.patience import asked_for
from kubedl.models.packer.registry import MOST_REFUSALS, Registry, words_of

MOST_AT_ONCE = 8 << 30  # registries and proxies before them refuse requests that are too large
TAKEN = frozenset({200, 201, 202, 204})  # answers to a PATCH: 202 by the specification, 201 by ECR, 204 by Pulp

Pieces = Callable[[int, int], Iterator[memoryview]]
Told = Callable[[int], None]


def ensure_blob(registry: Registry, digest: str, size: int, pieces: Pieces, told: Told) -> int:
    """Make the repository hold a blob; how many bytes had to be sent. `told` hears how far it is."""
    if registry.has_blob(digest):
        told(size)
        return 0
    upload = _Upload(registry, digest, size, pieces, told)
    while not upload.step():
        pass
    told(size)
    return upload.sent


def ensure_bytes(registry: Registry, digest: str, content: bytes) -> int:
    """The same for what is in memory."""
    view = memoryview(content)
    return ensure_blob(registry, digest, len(content), lambda start, end: iter([view[start:end]]), lambda _: None)


class _Upload:
    """Where it goes on, and what has gone wrong so far."""

    def __init__(self, registry: Registry, digest: str, size: int, pieces: Pieces, told: Told) -> None:
        self._registry = registry
        self._digest = digest
        self._size = size
        self._pieces = pieces
        self._told = told
        self._patience = registry.patience()
        self._location = ""
        self._offset = 0
        self._confirmed = 0  # the farthest that the registry ever said, in any attempt
        self._taken = 0  # the farthest that the connection ever took
        self._went_on = False  # after a cut: then a wrong digest may be the cut's fault
        self._believed = False  # that bytes arrived which the registry's Range does not count
        self._doubted = False  # whether that was wrong once
        self._refusals = 0
        self.sent = 0

    def step(self) -> bool:
        """Begin, send what is left, or finish; whether the registry has confirmed the blob."""
        if not self._location:
            self._begin()
        try:
            reply = self._finish() if self._offset == self._size else self._send()
        except BROKEN as error:
            return self._recover(self._registry.unreachable(error), None)
        return self._judged(reply)

    def _begin(self) -> None:
        reply = self._registry.call("POST", "blobs/uploads/", {202}, content=b"")
        self._offset, self._went_on, self._believed = 0, False, False
        self._move(reply)

    def _send(self) -> Reply:
        start, end = self._piece()
        headers = {"Content-Type": "application/octet-stream"}
        if (start, end) != (0, self._size):  # a blob in one piece needs no range, and some registries know none
            headers["Content-Range"] = f"{start}-{end - 1}"
        body = Body(end - start, self._counted(start, end))
        return self._registry.once("PATCH", self._location, headers, body)

    def _piece(self) -> tuple[int, int]:
        """What one request carries."""
        return self._offset, min(self._offset + MOST_AT_ONCE, self._size)

    def _finish(self) -> Reply:
        joint = "&" if urlsplit(self._location).query else "?"
        target = f"{self._location}{joint}digest={self._digest}"
        return self._registry.once("PUT", target, {}, b"", COMMIT_PATIENCE if self._size > 1 << 20 else PATIENCE)

    def _counted(self, start: int, end: int) -> Iterator[memoryview]:
        at = start
        for piece in self._pieces(start, end):
            yield piece
            at += len(piece)
            self.sent += len(piece)
            self._told(at)
            self._advance(taken=at)

    def _judged(self, reply: Reply) -> bool:
        finishing = self._offset == self._size
        if reply.status in {201, 204} and finishing:
            return True
        if reply.status in TAKEN and not finishing:
            return self._accepted(reply)
        if finishing and reply.status in {400, 422} and "DIGEST" in words_of(reply):
            return self._spoilt()
        self._refusals = self._refusals + 1 if reply.status == 401 else 0
        trouble = self._registry.trouble(reply)
        # 404 and 416: the registry lost the upload, or has another idea of how far it is.
        if (not trouble.retry and reply.status not in {404, 416}) or self._refusals >= MOST_REFUSALS:
            if finishing and self._registry.has_blob(self._digest):
                return True  # somebody else has sent the same meanwhile, and it is refused a second time
            raise trouble
        return self._recover(trouble, asked_for(reply.headers.get("retry-after", "")))

    def _accepted(self, reply: Reply) -> bool:
        start, end = self._piece()
        has = _confirmed(reply.headers.get("range", ""))
        self._refusals = 0
        self._move(reply)
        if has is not None and has <= start and not self._doubted:
            has, self._believed = end, True
        if has is not None and has <= start:  # else it would be sent the same for ever
            address = self._registry.address
            words = f"{address.registry} takes what it is sent and keeps {has} of {self._size} bytes"
            return self._recover(PackingError("RegistryFailed", f"{words}; try again when it is well"), None)
        self._offset = end if has is None else min(has, end)
        self._advance(confirmed=self._offset)
        return False

    def _spoilt(self) -> bool:
        if not self._went_on and not self._believed:
            raise source_changed("the registry got other bytes than were hashed")
        self._doubted, self._location = self._believed or self._doubted, ""
        return False

    def _recover(self, trouble: PackingError, asked: float | None) -> bool:
        """Ask how far the upload came. Without an answer to that, begin anew; the registry may have all already.

        It is given up after the question and not before: a request that took long may have come far.
        """
        self._patience.wait(asked)
        if self._offset == self._size and self._registry.has_blob(self._digest):
            return True
        reply = self._registry.call("GET", self._location, {200, 202, 204, 400, 404, 405, 416})
        has = _confirmed(reply.headers.get("range", "")) if reply.status in {200, 202, 204} else None
        if has is None or has > self._size or self._believed:
            self._location = ""
        else:
            self._offset, self._went_on = has, True
            self._advance(confirmed=has)
            self._told(has)
            self._move(reply)
        if self._patience.spent():
            raise trouble
        return False

    def _advance(self, confirmed: int = 0, taken: int = 0) -> None:
        """Only what was never reached before counts as progress, else two that fail in turn would go on for ever.

        Nothing is confirmed while a request runs, so what the connection takes counts as well as what is confirmed.
        """
        if confirmed > self._confirmed or taken > self._taken:
            self._confirmed, self._taken = max(confirmed, self._confirmed), max(taken, self._taken)
            self._patience.moved()

    def _move(self, reply: Reply) -> None:
        self._location = self._registry.located(reply.headers.get("location", "") or self._location)


def _confirmed(header: str) -> int | None:
    """How many bytes the registry has, of `0-499` or `bytes=0-499`. `0-0` is said of one byte and of none."""
    first, _, last = header.removeprefix("bytes=").partition("-")
    return int(last) + 1 if first == "0" and last.isdigit() and int(last) > 0 else None
