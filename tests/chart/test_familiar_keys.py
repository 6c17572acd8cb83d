"""An administrator who knows cert-manager's chart finds its settings in ours."""

import re
import tomllib
from pathlib import Path
from typing import Any

import pytest
import yaml

from harness.drivers.helm import CHART

KEYS: dict[str, dict[str, str]] = tomllib.loads((Path(__file__).parent / "cert_manager_keys.toml").read_text())
VALUES: dict[str, Any] = yaml.safe_load((CHART / "values.yaml").read_text())
DECIDED = re.compile(r"(ours|left out): (\S.*)")
MOST_LEFT_OUT = 5


def decided(section: str, how: str) -> dict[str, str]:
    """The keys of a section that are ours, or left out, with our key or the reason."""
    found = {key: DECIDED.fullmatch(text) for key, text in KEYS[section].items()}
    assert [key for key, match in found.items() if match is None] == []
    return {key: match[2] for key, match in found.items() if match is not None and match[1] == how}


@pytest.mark.parametrize("section", KEYS)
def test_what_is_said_to_be_ours_is_among_our_values(section: str) -> None:
    """A value that was renamed or removed would else be promised here."""
    missing = []
    for key, ours in decided(section, "ours").items():
        place: Any = VALUES
        for part in ours.split("."):
            place = place.get(part, KeyError) if isinstance(place, dict) else KeyError
        if place is KeyError:
            missing.append((key, ours))
    assert missing == []


def test_few_general_settings_are_left_out() -> None:
    left_out = decided("general", "left out")
    print("\n".join(f"{key}: {reason}" for key, reason in left_out.items()))
    assert len(left_out) <= MOST_LEFT_OUT
