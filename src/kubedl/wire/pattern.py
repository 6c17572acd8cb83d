"""Regular expressions over text that other people wrote, never over more of it than a bound.

An expression that backtracks takes the square of the text's length, or worse, and the event loop stands still for as
long. So text is measured before it is matched. No other module of the operator imports `re` (a test sees to it), but
`nesting`, whose expression cannot backtrack.
"""

import re
from dataclasses import dataclass


@dataclass(frozen=True)
class Pattern:
    """An expression, and the longest text that it is ever applied to. Longer text does not match."""

    expression: str
    longest: int  # characters

    def fullmatch(self, text: str) -> re.Match[str] | None:
        """The match, if the whole text fits."""
        return re.fullmatch(self.expression, text) if len(text) <= self.longest else None

    def match(self, text: str) -> re.Match[str] | None:
        """The match, if the text begins so."""
        return re.match(self.expression, text) if len(text) <= self.longest else None

    def search(self, text: str) -> re.Match[str] | None:
        """The first match anywhere in the text."""
        return re.search(self.expression, text) if len(text) <= self.longest else None
