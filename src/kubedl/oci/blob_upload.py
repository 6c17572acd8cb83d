"""Uploads one blob to a repository, and resumes after an interruption where the registry says that it stopped.

A registry may also drop an interrupted upload (those based on distribution 2 do); then it starts again.

A blob that the repository has is not uploaded. Bytes count only when the registry has confirmed the digest of the whole
blob. So a registry may also report a wrong offset: ECR's Range does not advance after the first request, although it
stores the data. Then the sent bytes are assumed to be stored, once, and the digest decides.
"""

from collections.abc import Callable, Iterator
from urllib.parse import urlsplit

from kubedl.oci.errors import ImageError, source_changed
from kubedl.oci.registry import MOST_REFUSALS, Registry, error_message
from kubedl.oci.retry import asked_for
from kubedl.oci.transport import BROKEN, COMMIT_PATIENCE, PATIENCE, Body, Response

MOST_AT_ONCE = 8 << 30  # registries and their proxies limit the size of requests
TAKEN = frozenset({200, 201, 202, 204})  # responses to a PATCH: 202 by the specification, 201 from ECR, 204 from Pulp

Pieces = Callable[[int, int], Iterator[memoryview]]
OnProgress = Callable[[int], None]


def ensure_blob(registry: Registry, digest: str, size: int, pieces: Pieces, on_progress: OnProgress) -> int:
    """Upload a blob if it is missing; returns the number of bytes sent. `told` is called with the progress."""
    if registry.has_blob(digest):
        on_progress(size)
        return 0
    upload = _Upload(registry, digest, size, pieces, on_progress)
    while not upload.step():
        pass
    on_progress(size)
    return upload.sent


def ensure_bytes(registry: Registry, digest: str, content: bytes) -> int:
    """Upload a blob from memory."""
    view = memoryview(content)
    return ensure_blob(registry, digest, len(content), lambda start, end: iter([view[start:end]]), lambda _: None)


class _Upload:
    """The state of an upload: its offset and its failures."""

    def __init__(self, registry: Registry, digest: str, size: int, pieces: Pieces, on_progress: OnProgress) -> None:
        self._registry = registry
        self._digest = digest
        self._size = size
        self._pieces = pieces
        self._on_progress = on_progress
        self._patience = registry.retry_policy()
        self._location = ""
        self._offset = 0
        self._confirmed = 0  # highest offset that the registry reported, in any attempt
        self._taken = 0  # highest offset that was sent
        self._went_on = False  # after an interruption, which may explain a wrong digest
        self._believed = False  # assume that bytes were stored which the registry's Range does not count
        self._doubted = False  # whether that assumption was wrong once
        self._refusals = 0
        self.sent = 0

    def step(self) -> bool:
        """Start, send the next part, or finish; returns whether the registry has confirmed the blob."""
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

    def _send(self) -> Response:
        start, end = self._piece()
        headers = {"Content-Type": "application/octet-stream"}
        if (start, end) != (
            0,
            self._size,
        ):  # a blob in one request needs no range, which some registries do not support
            headers["Content-Range"] = f"{start}-{end - 1}"
        body = Body(end - start, self._counted(start, end))
        return self._registry.once("PATCH", self._location, headers, body)

    def _piece(self) -> tuple[int, int]:
        """Return the bytes of one request."""
        return self._offset, min(self._offset + MOST_AT_ONCE, self._size)

    def _finish(self) -> Response:
        joint = "&" if urlsplit(self._location).query else "?"
        target = f"{self._location}{joint}digest={self._digest}"
        return self._registry.once("PUT", target, {}, b"", COMMIT_PATIENCE if self._size > 1 << 20 else PATIENCE)

    def _counted(self, start: int, end: int) -> Iterator[memoryview]:
        at = start
        for piece in self._pieces(start, end):
            yield piece
            at += len(piece)
            self.sent += len(piece)
            self._on_progress(at)
            self._advance(taken=at)

    def _judged(self, reply: Response) -> bool:
        finishing = self._offset == self._size
        if reply.status in {201, 204} and finishing:
            return True
        if reply.status in TAKEN and not finishing:
            return self._accepted(reply)
        if finishing and reply.status in {400, 422} and "DIGEST" in error_message(reply):
            return self._spoilt()
        self._refusals = self._refusals + 1 if reply.status == 401 else 0
        problem = self._registry.error_for(reply)
        # 404 and 416: the registry dropped the upload, or has another offset.
        if (not problem.retry and reply.status not in {404, 416}) or self._refusals >= MOST_REFUSALS:
            if finishing and self._registry.has_blob(self._digest):
                return True  # another client uploaded the same blob meanwhile, so the second one is rejected
            raise problem
        return self._recover(problem, asked_for(reply.headers.get("retry-after", "")))

    def _accepted(self, reply: Response) -> bool:
        start, end = self._piece()
        has = _confirmed(reply.headers.get("range", ""))
        self._refusals = 0
        self._move(reply)
        if has is not None and has <= start and not self._doubted:
            has, self._believed = end, True
        if has is not None and has <= start:  # otherwise it would be sent forever
            address = self._registry.address
            message = f"{address.registry} accepts the data but keeps only {has} of {self._size} bytes"
            return self._recover(ImageError("RegistryFailed", f"{message}; try again later"), None)
        self._offset = end if has is None else min(has, end)
        self._advance(confirmed=self._offset)
        return False

    def _spoilt(self) -> bool:
        if not self._went_on and not self._believed:
            raise source_changed("the registry received other bytes than were hashed")
        self._doubted, self._location = self._believed or self._doubted, ""
        return False

    def _recover(self, problem: ImageError, asked: float | None) -> bool:
        """Query the offset of the upload. Without a response, start again; the registry may also have the whole blob.

        The retry limit is checked after the query: a long request may have made progress.
        """
        self._registry.report(problem)
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
            self._on_progress(has)
            self._move(reply)
        if self._patience.spent():
            raise problem
        return False

    def _advance(self, confirmed: int = 0, taken: int = 0) -> None:
        """Record progress. Only a new highest offset counts, or two alternating failures would retry forever.

        Nothing is confirmed while a request runs, so sent bytes count as well as confirmed ones.
        """
        if confirmed > self._confirmed or taken > self._taken:
            self._confirmed, self._taken = max(confirmed, self._confirmed), max(taken, self._taken)
            self._patience.progressed()

    def _move(self, reply: Response) -> None:
        self._location = self._registry.located(reply.headers.get("location", "") or self._location)


def _confirmed(header: str) -> int | None:
    """Parse `0-499` or `bytes=0-499` into a number of bytes. `0-0` may mean one byte or none."""
    first, _, last = header.removeprefix("bytes=").partition("-")
    return int(last) + 1 if first == "0" and last.isdigit() and int(last) > 0 else None
