"""A claim: a sentence, the command that measures it, and the bar it must meet.

A command prints its result as JSON on its last line: a number, a word, or an object of several, from
which a claim takes one by name. Claims that name the same command share one run of it.
"""

import json
import operator
import random
import tomllib
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path

Value = float | int | str | bool

# Tests are run by CI as what they are, each once, so nothing is left to be measured of them at a small size.
TEST = "python -m proofs.run_tests "
COMPARISONS: dict[str, Callable[[float, float], bool]] = {"<=": operator.le, ">=": operator.ge, "==": operator.eq}


@dataclass(frozen=True)
class Claim:
    """One entry of an area's file."""

    sentence: str
    command: str
    bar: str  # "<= 15", ">= 1.0", "== passed"
    unit: str = ""
    value: str = ""  # which of the command's results, if it prints several
    small: bool = True  # whether CI measures it too, at a small size
    sampled: bool = False  # CI measures one of an area's sampled commands, another one with each commit
    small_bar: str = ""  # for seconds: a wider bar in CI, whose machine may be busy with other things
    limit: str = ""  # what was found to limit it, for the page if it is short

    def met(self, measured: Value) -> bool:
        """Whether a result meets the bar."""
        comparison, _, bound = self.bar.partition(" ")
        if isinstance(measured, str):
            return comparison == "==" and measured == bound
        return COMPARISONS[comparison](float(measured), float(bound))


def at_size(claims: list[Claim], size: str, seed: str = "") -> list[Claim]:
    """The claims that are measured at a size, with the bars of that size; a seed draws one of the sampled."""
    if size == "full":
        return claims
    small = [claim for claim in claims if claim.small and not claim.command.startswith(TEST)]
    sampled = sorted({claim.command for claim in small if claim.sampled})
    drawn = random.Random(seed).choice(sampled) if sampled else ""  # noqa: S311 - no secret
    return [
        replace(claim, bar=claim.small_bar or claim.bar)
        for claim in small
        if not claim.sampled or claim.command == drawn
    ]


def load(area: str) -> list[Claim]:
    """The claims of an area, in order."""
    path = Path(__file__).parent / f"{area}.toml"
    if not path.exists():
        known = ", ".join(sorted(file.stem for file in path.parent.glob("*.toml")))
        raise SystemExit(f"no area is called {area!r}; there are: {known}")
    return [Claim(**entry) for entry in tomllib.loads(path.read_text())["claim"]]


def result(output: str, value: str) -> Value:
    """What a command measured: its last line, or one named part of it."""
    lines = output.strip().splitlines()
    try:
        parsed = json.loads(lines[-1])
        measured: Value = parsed[value] if value else parsed
    except (IndexError, KeyError, TypeError, ValueError):
        return f"no result {value!r} in its last line".replace(" ''", "")
    return measured
