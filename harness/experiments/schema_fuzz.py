"""Documents drawn at random from an OpenAPI schema: ones that it allows, and ones with something wrong in them.

The dice decide everything: the same dice draw the same document.
"""

import copy
import random
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

Json = Any
Schema = dict[str, Any]

SEVERAL = 3  # fields that need not be there, items, entries: at most
WORDS = ("x", "0", "main", "Worker", "a-b.c", "A" * 63, "é \n", "", "../x", "$(HOME)", "-1", "true", "x" * 250)
MOMENTS = ("2026-01-01T00:00:00Z", "1000-01-01T00:00:00.123456789-14:00", "2999-12-31t23:59:59z")
ODDITIES: tuple[Json, ...] = (
    None, "", "a", 0, -1, 2**40, 1.5, True, [], {}, [None], [{}], ["a"], {"a": None}, [{"name": None}], [{"name": "x"}],
    [{"containerPort": "http"}], {"searches": "a"}, {"a": {"b": [1, {"c": None}]}}, "x" * 300, "ä\u0000\ud7ff",
)  # fmt: skip


class Drawing:
    """Draws what a schema allows.

    Hints say what a field of some name holds, where a schema alone would let nothing sensible come about; the items of
    a list are called `field[]`.
    """

    def __init__(self, dice: random.Random, hints: Mapping[str, Callable[[], Json]]) -> None:
        self._dice = dice
        self._hints = hints

    def value(self, schema: Schema, name: str = "") -> Json:
        """A value of the field."""
        if name in self._hints:
            return self._hints[name]()
        draw = {
            "object": self._object,
            "array": self._array,
            "string": self._string,
            "boolean": lambda *_: self._dice.random() < 0.5,
            "integer": self._number,
            "number": self._number,
        }.get(schema.get("type", ""))
        return draw(schema, name) if draw is not None else copy.deepcopy(self._dice.choice(ODDITIES))

    def some(self, names: Sequence[str]) -> list[str]:
        """Some of these, maybe none."""
        return self._dice.sample(names, min(len(names), self._dice.randint(0, SEVERAL)))

    def _object(self, schema: Schema, _: str) -> Json:
        fields, required = schema.get("properties", {}), schema.get("required", [])
        chosen = [*required, *self.some(sorted(fields.keys() - set(required)))]
        document = {field: self.value(fields[field], field) for field in chosen}
        if others := schema.get("additionalProperties"):
            return document | {word: self.value(others) for word in self.some(WORDS)}
        if not fields:  # and so whatever there is passes
            return {word: copy.deepcopy(self._dice.choice(ODDITIES)) for word in self.some(WORDS)}
        return document

    def _array(self, schema: Schema, name: str) -> Json:
        least, most = schema.get("minItems", 0), min(schema.get("maxItems", SEVERAL), SEVERAL)
        return [self.value(schema["items"], f"{name}[]") for _ in range(self._dice.randint(least, most))]

    def _string(self, schema: Schema, _: str) -> Json:
        if schema.get("format") == "date-time":
            return self._dice.choice(MOMENTS)
        least, most = schema.get("minLength", 0), schema.get("maxLength", 1000)
        return self._dice.choice(schema.get("enum") or [word for word in WORDS if least <= len(word) <= most])

    def _number(self, schema: Schema, _: str) -> Json:
        least, most = schema.get("minimum", -(2**31)), schema.get("maximum", 2**31 - 1)
        return self._dice.choice([least, min(least + 1, most), max(least, min(7, most)), most])


def spoil(document: Json, dice: random.Random, names: Sequence[str]) -> None:
    """Take something away, put something odd in its place, or add it under one of these names, anywhere inside."""
    place, deed = dice.choice(list(_places(document))), dice.random()
    odd = copy.deepcopy(dice.choice(ODDITIES))
    if isinstance(place, list):
        place[dice.randrange(len(place))] = odd
    elif not place or deed < 0.4:
        place[dice.choice(names)] = odd
    elif deed < 0.6:
        del place[dice.choice(sorted(place))]
    else:
        place[dice.choice(sorted(place))] = odd


def _places(document: Json) -> Iterator[Json]:
    """Every object, and every list that has something in it."""
    if isinstance(document, dict) or (isinstance(document, list) and document):
        yield document
        for inner in document.values() if isinstance(document, dict) else document:
            yield from _places(inner)
