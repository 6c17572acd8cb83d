"""A rule: which evidence it speaks about, what it says, and what helps. Rules are data; their tests are cases."""

import shlex
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from enum import IntEnum

from kubedl.why.evidence import Evidence

LONGEST_VALUE = 240  # characters of one value in a text
COMMANDS = ("create",)  # values that are commands: whoever makes them quotes their words


class Gate(IntEnum):
    """How far an object had come. The earliest gate that is shut is the cause."""

    HELD = 0
    OPERATOR = 1
    CODE = 2
    QUEUE = 3
    REFUSED = 4
    ORDER = 5
    GANG = 6
    FIT = 7
    VOLUME = 8
    IMAGE = 9
    START = 10
    MEET = 11
    RUN = 12
    NODE = 13
    END = 14
    MODEL = 15
    SERVE = 16
    CRON = 17


class Sure(IntEnum):
    """How certain a rule is: a field says so, the words of a message or log say so, or nothing else is left."""

    CERTAIN = 0
    LIKELY = 1
    GUESS = 2


PREFIX = {Sure.CERTAIN: "", Sure.LIKELY: "Probably: ", Sure.GUESS: "Perhaps: "}


@dataclass(frozen=True)
class Match:
    """What a rule found: values for its texts, and which pods it is about."""

    values: Mapping[str, str] = field(default_factory=dict)
    pods: int = 1
    sure: Sure | None = None  # if it is another than that of the rule


@dataclass(frozen=True)
class Try:
    """Something that helps: a command and what it does; `by` says who may do it."""

    command: str
    effect: str = ""
    by: str = "you"


@dataclass(frozen=True)
class Rule:
    """One cause."""

    id: str
    gate: Gate
    when: Callable[[Evidence], Match | None]  # pure
    says: str  # the first line, a format string over the values of the match
    shows: tuple[tuple[str, str], ...] = ()  # label and text; one whose value is missing is left out
    tries: tuple[Try, ...] = ()  # one whose value is missing is left out
    sure: Sure = Sure.CERTAIN
    over: bool | None = False  # whether it is about objects that have ended; None: about both
    about: tuple[str, ...] = ("job",)  # subjects of evidence
    yields: bool = False  # gives way to any other cause, of which it is a consequence
    besides: bool = False  # told beside another cause too, with what helps: the object is not there to be changed
    explains: tuple[str, ...] = ()  # ids of rules, or their beginnings, that are consequences of this one


@dataclass(frozen=True)
class Found:
    """A rule that spoke, with its texts."""

    rule: Rule
    match: Match
    values: Mapping[str, str]

    @property
    def sure(self) -> Sure:
        """Return how certain it is."""
        return self.rule.sure if self.match.sure is None else self.match.sure

    @property
    def first(self) -> str:
        """Return the first line."""
        return PREFIX[self.sure] + self.rule.says.format_map(_Filled(self.values, missing="?"))

    @property
    def supporting(self) -> list[tuple[str, str]]:
        """Return the lines below it."""
        lines = [(label, fill(text, self.values)) for label, text in self.rule.shows]
        return [(label, text) for label, text in lines if text]

    @property
    def tries(self) -> list[Try]:
        """Return what helps. A guess suggests no change."""
        if self.sure is Sure.GUESS:
            return []
        made = [
            Try(fill(one.command, self.values, quoted=True), fill(one.effect, self.values, quoted=True), one.by)
            for one in self.rule.tries
        ]
        return [one for one in made if one.command]


def fill(text: str, values: Mapping[str, str], *, quoted: bool = False) -> str:
    """Return a text with its values; empty if one of them is missing or empty.

    A value whose name ends with `_` may be empty, and keeps the spaces around it. With `quoted`, a value is one word of
    a shell: names come from whoever wrote the object, and another person runs the command.
    """
    try:
        return text.format_map(_Filled(values, quoted=quoted))
    except KeyError:
        return ""


class _Filled(dict[str, str]):
    def __init__(self, values: Mapping[str, str], missing: str = "", *, quoted: bool = False) -> None:
        super().__init__(values)
        self._missing = missing
        self._quoted = quoted

    def __getitem__(self, name: str) -> str:
        given = self.get(name) or ""
        value = " ".join(given.split()) if not name.endswith("_") else given.replace("\n", " ")
        if not value and not name.endswith("_"):
            if not self._missing:
                raise KeyError(name)
            return self._missing
        short = value if len(value) <= LONGEST_VALUE else f"{value[: LONGEST_VALUE - 1]}…"
        return shlex.quote(short) if self._quoted and value and name not in COMMANDS else short
