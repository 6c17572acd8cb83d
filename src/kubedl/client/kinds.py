"""The kinds of jobs that a cluster serves, from discovery. The answer is kept on disk for ten minutes."""

import os
import time
from hashlib import sha256
from pathlib import Path

from kubedl.kube import codec
from kubedl.kube.types.meta import Record

GROUP_VERSION = "training.kubedl.io/v1alpha1"
PATH = f"/apis/{GROUP_VERSION}"
KEPT = 600.0  # seconds
MOST_BYTES = 2**20


class JobKind(Record, frozen=True):
    """A kind of jobs."""

    kind: str
    plural: str
    short_names: tuple[str, ...] = ()

    @property
    def word(self) -> str:
        """Return the kind as people type it: `pytorch`, `tf`."""
        return short_word(self.kind)

    def is_called(self, name: str) -> bool:
        """Return whether a word means this kind: pytorch, PyTorchJob, pytorchjobs, pt."""
        asked = name.lower().partition(".")[0]
        return asked in (self.word, self.kind.lower(), self.plural, *self.short_names)

    def path(self, namespace: str, name: str = "") -> str:
        """Return the URL path of its jobs in a namespace (in all, if that is empty), or of one job."""
        place = f"{PATH}/namespaces/{namespace}" if namespace else PATH
        return f"{place}/{self.plural}/{name}" if name else f"{place}/{self.plural}"


class _Resource(Record, frozen=True):
    name: str
    kind: str
    namespaced: bool = True
    short_names: tuple[str, ...] = ()


class ResourceList(Record, frozen=True):
    """What an API group serves."""

    resources: tuple[_Resource, ...] = ()


def short_word(kind: str) -> str:
    """Return a kind as people type it: PyTorchJob is `pytorch`."""
    return kind.lower().removesuffix("job")


def kinds_in(served: ResourceList) -> tuple[JobKind, ...]:
    """Return the kinds among what is served, sorted; subresources are not kinds."""
    found = [one for one in served.resources if one.namespaced]
    kinds = (JobKind(kind=one.kind, plural=one.name, short_names=one.short_names) for one in found)
    return tuple(sorted((one for one in kinds if "/" not in one.plural), key=lambda one: one.kind))


class KindCache:
    """The kinds of one server, on disk. A file that cannot be read or written does no harm."""

    def __init__(self, server: str, directory: Path | None = None) -> None:
        home = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache")
        self._file = (directory or home / "kubedl") / f"kinds-{sha256(server.encode()).hexdigest()[:16]}.json"

    def read(self) -> tuple[JobKind, ...]:
        """Return what is kept; nothing if that is too old."""
        try:
            stat = self._file.stat()
            if not 0 <= time.time() - stat.st_mtime < KEPT or stat.st_size > MOST_BYTES:
                return ()
            return codec.decode(self._file.read_bytes(), tuple[JobKind, ...])
        except (OSError, *codec.UNREADABLE):
            return ()

    def write(self, kinds: tuple[JobKind, ...]) -> None:
        """Keep an answer."""
        try:
            self._file.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
            fresh = self._file.with_suffix(f".{os.getpid()}")
            fresh.write_bytes(codec.encode(kinds))
            fresh.replace(self._file)
        except OSError:
            return
