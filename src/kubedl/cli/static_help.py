"""Help of the groups of commands, as text that `make generate` writes: it appears before click could be imported."""

import os.path
from collections.abc import Sequence

DIRECTORY = os.path.join(os.path.dirname(__file__), "help")  # noqa: PTH118, PTH120 - pathlib takes as long as the rest
_NAMES = ("submit", "top", "model", "serve", "cron", "history", "queue", "config")
GROUPS: dict[tuple[str, ...], str] = {(): "kubedl.txt", **{(name,): f"{name}.txt" for name in _NAMES}}
ASKS = ("-h", "--help")


def help_for(words: Sequence[str]) -> str | None:
    """Return the help that the words ask for: a group alone, or with --help; None if it is something else."""
    if list(words) in (["help"], []):
        group: tuple[str, ...] = ()
    elif words[-1] in ASKS:
        group = tuple(words[:-1])
    else:
        group = tuple(words)
    if group not in GROUPS or (group == () and words and words[0] not in (*ASKS, "help")):
        return None
    with open(os.path.join(DIRECTORY, GROUPS[group]), encoding="utf-8") as file:  # noqa: PTH118, PTH123
        return file.read()
