"""Durations as people write and read them: 90s, 30m, 2h11m, 3d."""

import click

_UNITS = {"s": 1, "m": 60, "h": 3600, "d": 86400, "w": 604800}
LONGEST = 2**31 - 1  # seconds


def age(seconds: float) -> str:
    """Return the largest unit: 14m, 2h, 3d."""
    return _parts(seconds)[0]


def precise(seconds: float) -> str:
    """Return the two largest units: 2h11m, 1m40s."""
    return "".join(part for part in _parts(seconds)[:2] if not part.startswith("0") or part == "0s")


def _parts(seconds: float) -> list[str]:
    left = max(0, int(seconds))
    found: list[str] = []
    for unit in ("d", "h", "m", "s"):
        count, left = divmod(left, _UNITS[unit])
        if count or found or unit == "s":
            found.append(f"{count}{unit}")
    return found


def parse(text: str) -> int:
    """Return the seconds of 90, 90s, 30m, 1h30m or 2d; raises ValueError."""
    number, total, seen = "", 0, False
    for letter in text.strip().lower():
        if letter.isdecimal() and letter.isascii():
            number += letter
        elif letter in _UNITS and number:
            total, number, seen = total + int(number) * _UNITS[letter], "", True
        else:
            raise ValueError(f"{text!r} is no duration such as 90s, 30m, 1h30m or 2d")
    if bool(number) == seen or len(text) > 20:  # a number without a unit stands alone
        raise ValueError(f"{text!r} is no duration such as 90s, 30m, 1h30m or 2d")
    total += int(number or 0)
    if total > LONGEST:
        raise ValueError(f"{text!r} is longer than 68 years")
    return total


class Duration(click.ParamType[int]):
    """The type of a flag that is a duration, in seconds."""

    name = "duration"

    def convert(self, value: object, param: click.Parameter | None, ctx: click.Context | None) -> int:
        if isinstance(value, int):
            return value
        try:
            return parse(str(value))
        except ValueError as error:
            self.fail(str(error), param, ctx)
