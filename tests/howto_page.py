"""A how-to page as a program: its files and its commands, section by section.

A fence whose title is a file (```python title="acme_ring.py") is that file; one of language sh is commands.
"""

import re
from dataclasses import dataclass
from pathlib import Path

HOW_TO = Path(__file__).parents[1] / "docs" / "how-to"

_FENCE = re.compile(r'^```(\w+)(?: title="(\S+)")?\n(.*?)^```$', re.MULTILINE | re.DOTALL)
_SECTION = re.compile(r"^## (.+)\n", re.MULTILINE)


@dataclass(frozen=True)
class Section:
    """What one section asks its reader to write and to run."""

    files: dict[str, str]
    commands: str


def sections(page: str) -> dict[str, Section]:
    """The sections of a page under docs/how-to, by their headings."""
    _, *parts = _SECTION.split((HOW_TO / page).read_text())
    return {heading: _section(text) for heading, text in zip(parts[::2], parts[1::2], strict=True)}


def _section(text: str) -> Section:
    fences = _FENCE.findall(text)
    return Section(
        files={name: body for _, name, body in fences if name},
        commands="".join(body for language, name, body in fences if language == "sh" and not name),
    )
