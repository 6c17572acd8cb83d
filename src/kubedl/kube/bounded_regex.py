"""Regular expressions for untrusted text, with a length limit.

A backtracking expression takes time quadratic in the length of the text, or worse, and blocks the event loop. So the
length is checked before the match. No other module of the operator imports `re` (enforced by a test), except `nesting`
and `http_parser`, whose expressions cannot backtrack.
"""

import re
from dataclasses import dataclass


@dataclass(frozen=True)
class BoundedPattern:
    """An expression with the maximum length of its input. Longer text does not match."""

    expression: str
    longest: int  # characters

    def fullmatch(self, text: str) -> re.Match[str] | None:
        """Return the match if the whole text matches."""
        return re.fullmatch(self.expression, text) if len(text) <= self.longest else None

    def match(self, text: str) -> re.Match[str] | None:
        """Return the match at the start of the text."""
        return re.match(self.expression, text) if len(text) <= self.longest else None

    def search(self, text: str) -> re.Match[str] | None:
        """Return the first match anywhere in the text."""
        return re.search(self.expression, text) if len(text) <= self.longest else None
