"""How many streams each person has open: every one holds connections, of which the process has some hundreds."""

from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field

from kubedl.console.people import Person
from kubedl.console.problems import RefusalError

MOST = 100  # of one person; a tab has one, and one for a log


@dataclass(frozen=True)
class OpenStreams:
    """The streams of lists and logs, by the name of the person: each token of a service account has other extras."""

    _open: Counter[str] = field(default_factory=Counter)

    @contextmanager
    def one_of(self, person: Person) -> Iterator[None]:
        """Count a stream while the block runs. Raises RefusalError if there are too many."""
        name = person.name
        if self._open[name] >= MOST:
            why = f"{name} has {MOST} lists and logs open"
            raise RefusalError(429, "too much is open", why, "Close some pages.")
        self._open[name] += 1
        try:
            yield
        finally:
            self._open[name] -= 1
            if not self._open[name]:
                del self._open[name]
