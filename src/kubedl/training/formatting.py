"""Formatting of durations, times and long error texts in messages."""

from datetime import UTC, datetime, timedelta

CUT = " … "
LONGEST_LINE = 160  # characters of a line in `kubectl get`
LONGEST_PIECE = 12  # characters; a longer word is cut rather than dropped
UNITS = ((86400, "d"), (3600, "h"), (60, "min"), (1, "s"))
# Seconds from which on a wait is "over" that long: few enough that each costs a status write, the last after 64 days.
STEPS = (10, 20, 40, 60, 120, 300, 600, 1200, 2400, 3600, 7200, 18000, 36000, *(86400 * 2**days for days in range(7)))


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


def coarse(passed: timedelta) -> tuple[str, timedelta | None]:
    """Return a lower bound of a duration, empty for less than ten seconds, and from when on another one holds."""
    seconds = passed.total_seconds()
    following = next((step for step in STEPS if step > seconds), None)
    reached = max((step for step in STEPS if step <= seconds), default=0)
    size, unit = next((one for one in UNITS if reached >= one[0]), UNITS[-1])
    text = f"{reached // size} {unit}" if reached else ""
    return text, timedelta(seconds=following) if following is not None else None


def headline(reason: str, message: str) -> str:
    """Return one line for `kubectl get`, without boilerplate, so that the cause fits.

    Prefixes of the API server and the kubelet are removed, and remarks of the scheduler on preemption and claims.
    The condition has the whole text.
    """
    if reason.endswith("Forbidden"):
        message = message.partition(" is forbidden: ")[2] or message
    if message.startswith("rpc error: code = "):
        message = message.partition(" desc = ")[2] or message
    message = message.removeprefix("Internal error occurred: ").replace("failed to call webhook: ", "", 1)
    for tail in (" no new claims to deallocate", " preemption: "):
        message = message.partition(tail)[0]
    if message.endswith(". not found"):
        message = message.removesuffix(" not found")
    return shorten(f"{reason}: {message}" if message else reason, LONGEST_LINE)
