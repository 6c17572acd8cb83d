"""Formatting of durations, times and long error texts in messages."""

from datetime import UTC, datetime, timedelta

CUT = " … "
LONGEST_PIECE = 12  # characters; a longer word is cut rather than dropped


def shorten(text: str, most: int) -> str:
    """Shorten text to one line, cut in the middle: errors begin with what failed and end with why.

    It is cut between words, unless a word is too long.
    """
    if len(text) > 8 * most:
        text = text[: 4 * most] + CUT + text[-4 * most :]
    line = " ".join(text.split())
    if len(line) <= most:
        return line
    room = most - len(CUT)
    before, after = line[: room // 2], line[room // 2 - room :]
    end, start = before.rfind(" "), after.find(" ")
    if end > 0 and len(before) - end <= LONGEST_PIECE:
        before = before[:end]
    if 0 <= start < LONGEST_PIECE:
        after = after[start + 1 :]
    return f"{before.rstrip()}{CUT}{after.lstrip()}"


def since(moment: datetime | None) -> str:
    """Return the end of a sentence; empty if unknown."""
    return f" (since {moment.astimezone(UTC):%Y-%m-%dT%H:%M:%SZ})" if moment is not None else ""


def duration(passed: timedelta) -> str:
    """Format with the two largest units."""
    seconds = max(0, int(passed.total_seconds()))
    if seconds < 60:
        return f"{seconds} s"
    if seconds < 3600:
        return f"{seconds // 60} min {seconds % 60} s"
    if seconds < 86400:
        return f"{seconds // 3600} h {seconds % 3600 // 60} min"
    return f"{seconds // 86400} d {seconds % 86400 // 3600} h"
