"""The page of values has every value of the chart."""

from typing import Any

import yaml

from devtools.values import VALUES, describe_values, entries


def test_every_value_is_told_with_its_default() -> None:
    """As YAML itself reads the file."""
    told = {key: yaml.safe_load(default) for key, default, _ in entries(VALUES.read_text())}
    given = yaml.safe_load(VALUES.read_text())
    assert {key: _at(given, key) for key in told} == told
    assert sorted(key for key in _leaves(given) if not any(_within(key, one) for one in told)) == []


def test_comments_are_those_above() -> None:
    text = "# Of all.\na:\n  # Of b.\n  b: 1\n  c: {}\n\n# Lost.\n\nd: x\n"
    assert list(entries(text)) == [("a.b", "1", "Of all. Of b."), ("a.c", "{}", ""), ("d", "x", "")]


def test_flags_have_their_own_page() -> None:
    assert "`operator." not in describe_values().replace("`operator.*`", "")


def _within(key: str, one: str) -> bool:
    return key == one or key.startswith(f"{one}.")


def _at(given: Any, key: str) -> Any:  # noqa: ANN401
    for part in key.split("."):
        given = given[part]
    return given


def _leaves(given: dict[str, Any], place: str = "") -> list[str]:
    found = []
    for key, value in given.items():
        here = f"{place}{key}"
        found += _leaves(value, f"{here}.") if isinstance(value, dict) and value else [here]
    return found
