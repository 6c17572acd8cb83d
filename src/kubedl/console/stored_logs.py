"""Objects of the archive of logs, of which the last that were asked for are kept, compressed as they are.

The packages of the history are an extra of the product: they are loaded if a storage is named.
"""

import asyncio
import zlib
from collections import OrderedDict
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, TypeVar

import structlog

from kubedl.console.log_text import LogText
from kubedl.console.problems import RefusalError

if TYPE_CHECKING:
    from collections.abc import Callable

    from kubedl.history.logs.stored_log import StoredObject

MOST_KEPT = 48 << 20  # bytes, compressed
LARGEST = 64 << 20  # bytes of a log, as the recorder's own limit
AT_ONCE = 2  # logs in memory, each up to twice its size while it is unpacked or searched
SETTING = "console.history.logsSecret"

Found = TypeVar("Found")

log = structlog.get_logger()


@dataclass
class StoredLogs:
    """Logs by their places; `read` gets an object, and is called in a thread. Without it no log can be read."""

    read: "Callable[[str], StoredObject] | None" = None
    problem: str = "this console has no access to the storage of logs"
    _kept: "OrderedDict[str, StoredObject]" = field(default_factory=OrderedDict, compare=False)
    _size: int = field(default=0, compare=False)
    _room: asyncio.Semaphore = field(default_factory=lambda: asyncio.Semaphore(AT_ONCE), compare=False)

    @property
    def readable(self) -> bool:
        """Return whether a storage is named."""
        return self.read is not None

    async def use(self, location: str, what: "Callable[[LogText], Found]", *, cut: bool) -> "Found":
        """Return what is found in a log, by a thread: no more logs are unpacked than there is room for.

        Raises RefusalError.
        """
        if self.read is None:
            step = f"An administrator can name the storage: {SETTING} of the chart."
            raise RefusalError(404, "no archived log", self.problem, step)
        await self._room.acquire()
        task = asyncio.create_task(self._found(self.read, location, lambda stored: what(_unpacked(stored, cut))))
        task.add_done_callback(self._done)
        return await asyncio.shield(task)  # a thread goes on, and keeps its room, when nobody waits for it any more

    def _done(self, task: "asyncio.Task[Found]") -> None:
        self._room.release()
        if not task.cancelled():
            task.exception()  # whoever still waits raises it

    async def _found(
        self, read: "Callable[[str], StoredObject]", location: str, what: "Callable[[StoredObject], Found]"
    ) -> "Found":
        stored = self._kept.get(location)
        if stored is None:
            stored = await self._fetched(read, location)
        else:
            self._kept.move_to_end(location)
        return await asyncio.to_thread(what, stored)

    async def _fetched(self, read: "Callable[[str], StoredObject]", location: str) -> "StoredObject":
        from kubedl.history.logs.bucket_settings import BucketError, BucketSettingsError  # noqa: PLC0415
        from kubedl.history.logs.stored_log import LogMissingError  # noqa: PLC0415

        try:
            stored = await asyncio.to_thread(read, location)
        except LogMissingError:
            why = "a rule of the storage may have deleted it"
            raise RefusalError(
                404, "the log is not in the archive any more", why, "Nothing can bring it back."
            ) from None
        except (BucketError, BucketSettingsError) as error:  # it may name hosts and keys
            log.warning("the storage of logs failed", error=str(error)[:300])
            raise RefusalError(
                503, "the log cannot be read now", "its storage does not answer", "Try again."
            ) from error
        self._keep(location, stored)
        return stored

    def _keep(self, location: str, stored: "StoredObject") -> None:
        if location in self._kept or len(stored.body) > MOST_KEPT // 4:
            return
        self._kept[location] = stored
        self._size += len(stored.body)
        while self._size > MOST_KEPT:
            _, oldest = self._kept.popitem(last=False)
            self._size -= len(oldest.body)


def reading(endpoint: str, region: str, authority: str) -> StoredLogs:
    """Return the logs of a storage, with the access key of the environment; whatever is wrong, the console runs."""
    if not endpoint:
        return StoredLogs()
    try:
        from kubedl.history.logs.bucket_settings import (  # noqa: PLC0415
            BucketSettings,
            BucketSettingsError,
            credentials_from,
        )
        from kubedl.history.logs.stored_log import read_object, split_location  # noqa: PLC0415
    except ImportError as error:
        log.warning("archived logs need the packages of kubedl[history]", error=str(error))
        return StoredLogs(problem="the packages of kubedl[history] are not installed")

    def settings(bucket: str) -> BucketSettings:
        return BucketSettings(endpoint, bucket, region=region, authority=authority)

    try:
        credentials = credentials_from()
        settings("any")
    except BucketSettingsError as error:
        log.warning("the storage of logs cannot be asked", error=str(error))
        return StoredLogs(problem="the settings of its storage are not complete")

    def read(location: str) -> "StoredObject":
        bucket, key = split_location(location)
        return read_object(settings(bucket), key, credentials, LARGEST)

    return StoredLogs(read)


def _unpacked(stored: "StoredObject", cut: bool) -> LogText:
    """Return the lines of an object; a log that is larger than one can be is not unpacked whole."""
    try:
        content = zlib.decompressobj(31).decompress(stored.body, LARGEST)
    except zlib.error as error:
        raise RefusalError(
            503, "the log cannot be read", "the archive has another format", "Ask an administrator."
        ) from error
    return LogText.of(content, timed=stored.timed, cut=cut, started=stored.started)
