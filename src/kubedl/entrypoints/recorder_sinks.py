"""The sinks of `kubedl recorder run --sink NAME:ARGUMENT`: those of KubeDL, and those of installed packages."""

from collections.abc import Callable

from kubedl.history.sink import Sink, installed_sinks
from kubedl.history.sinks.json_lines import JsonLines
from kubedl.history.sinks.otlp import OtlpLogs

OWN: dict[str, Callable[[str, str], Sink]] = {JsonLines.name: JsonLines, OtlpLogs.name: OtlpLogs}


class UnknownSinkError(Exception):
    """There is no sink of this name."""


def sink(text: str, cluster: str) -> Sink:
    """Return a sink for the history of a cluster. Raises UnknownSinkError or OtlpError."""
    name, _, argument = text.partition(":")
    if name in OWN:
        return OWN[name](cluster, argument)
    known = installed_sinks()
    if name not in known:
        raise UnknownSinkError(f"no sink {name!r}; there are {', '.join(sorted([*OWN, *known]))}")
    return known[name](argument)
