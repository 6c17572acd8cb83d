"""Price books: what an hour of a CPU, of a GiB and of a GPU costs on which nodes.

A YAML file, in the chart a ConfigMap: `currency`, and `prices`, a list whose first entry that matches a node counts. An
entry may match the recorded labels of nodes: `pool`, `spot`, `instanceType`, `zone`; one that names none matches all.
The version of a book is a digest of its content, so a receipt can be computed again with the prices it began with.
"""

import hashlib
from pathlib import Path
from typing import Annotated

import msgspec
import structlog
import yaml
from msgspec import Meta

from kubedl.kube import codec

log = structlog.get_logger()

Price = Annotated[float, Meta(ge=0, le=1e9)]


class PriceBookError(Exception):
    """The price book cannot be read."""


class NodeLabels(msgspec.Struct, frozen=True, rename="camel"):
    """What prices depend on."""

    pool: str = ""
    spot: bool = False
    instance_type: str = ""
    zone: str = ""


class PriceEntry(msgspec.Struct, frozen=True, rename="camel", forbid_unknown_fields=True, kw_only=True):
    """The prices of some nodes."""

    pool: str | None = None
    spot: bool | None = None
    instance_type: str | None = None
    zone: str | None = None
    cpu_hour: Price = 0.0
    memory_gib_hour: Price = 0.0
    gpu_hour: Price = 0.0

    def matches(self, node: NodeLabels) -> bool:
        """Return whether these prices are those of a node."""
        pairs = (
            (self.pool, node.pool),
            (self.spot, node.spot),
            (self.instance_type, node.instance_type),
            (self.zone, node.zone),
        )
        return all(wanted is None or wanted == found for wanted, found in pairs)


class PriceBook(msgspec.Struct, frozen=True, rename="camel", forbid_unknown_fields=True):
    """All prices. An empty book prices nothing: receipts have amounts and no cost."""

    currency: Annotated[str, Meta(max_length=16)] = ""
    prices: Annotated[tuple[PriceEntry, ...], Meta(max_length=1000)] = ()

    @property
    def version(self) -> str:
        """The digest by which receipts name the book."""
        return hashlib.sha256(codec.encode(self)).hexdigest()[:16]

    def entry(self, node: NodeLabels) -> PriceEntry | None:
        """Return the prices of a node."""
        return next((entry for entry in self.prices if entry.matches(node)), None)


def read_price_book(path: str) -> PriceBook:
    """Read a file. Raises PriceBookError with the place of the mistake."""
    try:
        return msgspec.convert(yaml.safe_load(Path(path).read_text()) or {}, PriceBook)
    except (OSError, UnicodeDecodeError, yaml.YAMLError, msgspec.ValidationError) as error:
        raise PriceBookError(f"{path}: {error}") from error


class PriceBookFile:
    """A file that may change. While it cannot be read, the last prices count."""

    def __init__(self, path: str) -> None:
        """Read the file. Raises PriceBookError."""
        self._path = path
        self._changed = self._time()
        self._book = read_price_book(path)

    def current(self) -> PriceBook:
        """Return the prices, read again if the file has changed."""
        if (changed := self._time()) != self._changed:
            try:
                self._book = read_price_book(self._path)
            except PriceBookError as error:
                log.warning("the price book cannot be read, using the last one", error=str(error))
            self._changed = changed
        return self._book

    def _time(self) -> float:
        try:
            return Path(self._path).stat().st_mtime
        except OSError:
            return 0.0


def stored_price_book(body: object) -> PriceBook:
    """Return a book as the database keeps it."""
    return msgspec.convert(body, PriceBook)
