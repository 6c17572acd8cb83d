"""What `helm show` says about the chart is true."""

import re
import tomllib
from typing import Any

import pytest
import yaml

from harness.drivers.helm import CHART

ROOT = CHART.parents[1]
README = (CHART / "README.md").read_text()
METADATA: dict[str, Any] = yaml.safe_load((CHART / "Chart.yaml").read_text())
VALUES: dict[str, Any] = yaml.safe_load((CHART / "values.yaml").read_text())
ALIASES = yaml.safe_load((CHART / "files/aliases.yaml").read_text())["aliases"]


def named_values() -> list[str]:
    """Keys in the table and in `--set`, without what they are set to."""
    table = [line.rpartition(" | ")[2] for line in README.splitlines() if line.startswith("| ")]
    found = re.findall(r"`([a-z]\w*(?:\.\w+)*)(?:=[^`]*)?`", "\n".join(table))
    return [*found, *re.findall(r"--set ([\w.]+)=", README)]


@pytest.mark.parametrize("key", sorted(set(named_values()) - {"value"}))
def test_every_value_of_the_readme_is_one(key: str) -> None:
    place: Any = VALUES
    for part in key.split("."):
        assert part in place, key
        place = place[part]


@pytest.mark.parametrize("path", re.findall(r"`((?:docs|files|deploy)/[\w./-]+)`", README))
def test_every_file_of_the_readme_is_there(path: str) -> None:
    assert (CHART / path).exists() or (ROOT / path).exists()


def test_the_readme_names_every_role_file() -> None:
    """An administrator who makes the roles alone would else miss one; that of the test is not needed then."""
    named = set(re.findall(r"`files/rbac/([\w-]+)\.yaml`", README))
    assert named == {path.stem for path in (CHART / "files/rbac").iterdir()} - {"smoke-test"}


def test_other_names_of_settings_are_as_the_readme_says() -> None:
    """`enabled` is another name of `create` wherever there is one for an object."""
    told = set(re.findall(r"`([\w.]+)` for\s+`([\w.]+)`", README))
    names = {
        (".".join([*one.get("within", ()), one["alias"]]), ".".join([*one.get("within", ()), one["name"]]))
        for one in ALIASES
    }
    assert told - {("enabled", "create")} <= names
    assert {(one["alias"], one["name"]) for one in ALIASES if one["alias"] == "enabled"} == {
        ("enabled", "create"),
        ("enabled", "install"),
    }


def test_the_readme_installs_the_version_of_the_chart() -> None:
    assert f"--set-string image.tag={METADATA['appVersion']}" in README


def test_metadata_are_those_of_the_project() -> None:
    """Addresses are left out until there is one: an invented one would lead to somebody else."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    assert METADATA["annotations"]["artifacthub.io/license"] == project["license"]
    assert "://" not in (CHART / "Chart.yaml").read_text()
