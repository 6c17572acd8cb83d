"""A sink that prints every observation as one line of JSON, for collectors of logs."""

import asyncio
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TextIO

from kubedl.history.observation import Change, Closing
from kubedl.history.sink import Epoch, SinkUnavailableError
from kubedl.kube import codec

NAME = "jsonl"


class JsonLines:
    """Appends to a file, or prints to standard output. Lines may repeat: readers keep the highest resourceVersion."""

    name = NAME

    def __init__(self, cluster: str, path: str = "") -> None:
        self._cluster = cluster
        self._path = Path(path) if path else None
        self._stream: TextIO | None = None

    async def claim(self, epoch: Epoch) -> None:
        """Nothing to claim: several writers of a log do no harm."""

    async def write(self, batch: Sequence[Change]) -> None:
        """Append a batch."""
        lines = "".join(f"{codec.encode(self._document(change)).decode()}\n" for change in batch)
        try:
            await asyncio.to_thread(self._append, lines)
        except OSError as error:
            raise SinkUnavailableError(str(error)) from error

    async def close(self) -> None:
        """Close the file."""
        if self._stream is not None and self._path is not None:
            self._stream.close()

    def _append(self, lines: str) -> None:
        if self._stream is None:
            self._stream = self._path.open("a") if self._path is not None else sys.stdout
        self._stream.write(lines)
        self._stream.flush()

    def _document(self, change: Change) -> dict[str, object]:
        head = {"cluster": self._cluster, "table": change.table, "uid": change.uid, "created": change.created}
        if isinstance(change, Closing):
            return {**head, "deleted": change.noticed, "deletion": "Missed"}
        body = {"body": change.body} if change.body is not None else {}
        return {**head, "resourceVersion": change.version, **change.values, **body}
