"""Every flag of the operator can be set by a value of the chart, and what is written by hand is kept."""

import json
import tomllib
from pathlib import Path

import yaml

from devtools.chart import BEGIN, END, OWN_DEFAULTS, generated, values
from devtools.flags import LIMITS, NEEDS, OF_THE_CHART, Flag, describe_flags, flags, rules
from devtools.generate import DEPLOY

CHART = DEPLOY / "chart"
CHOSEN = [flag for flag in flags() if flag.name not in OF_THE_CHART]


def test_every_flag_has_a_value_with_its_default() -> None:
    """The chart's defaults are the operator's own, but where the chart knows better."""
    given = yaml.safe_load((CHART / "values.yaml").read_text())["operator"]
    assert given == {flag.key: OWN_DEFAULTS.get(flag.name, (flag.default, ""))[0] for flag in CHOSEN}


def test_every_flag_that_is_not_a_value_is_given_by_the_template() -> None:
    """But the one that is for operators outside a cluster."""
    template = (CHART / "templates/deployment.yaml").read_text()
    assert {flag for flag in OF_THE_CHART if f"- {flag}" not in template} == {"--kubeconfig"}
    assert OF_THE_CHART.keys() <= {flag.name for flag in flags()}


def test_the_template_knows_the_flag_of_every_value() -> None:
    assert yaml.safe_load((CHART / "files/flags.yaml").read_text()) == {flag.key: flag.name for flag in CHOSEN}


def test_the_schema_has_every_value_and_nothing_else() -> None:
    """A misspelt value would else be ignored without a word."""
    schema = json.loads((CHART / "values.schema.json").read_text())
    given = yaml.safe_load((CHART / "values.yaml").read_text())
    assert _undeclared(given, schema) == []
    assert schema["additionalProperties"] is False
    operator = schema["properties"]["operator"]
    assert (set(operator["properties"]), operator["additionalProperties"]) == ({flag.key for flag in CHOSEN}, False)


def test_types_of_flags_are_those_of_the_schema() -> None:
    found = {flag.name: (flag.type, flag.choices) for flag in flags()}
    assert found["--workers"] == ("integer", ())
    assert found["--lease-seconds"] == ("number", ())
    assert found["--no-leader-election"] == ("boolean", ())
    assert found["--log-format"] == ("string", ("json", "console"))
    assert found["--gateway"] == ("string", ())


def test_limits_are_those_of_flags_that_there_are() -> None:
    """A flag that was renamed would else lose its own."""
    assert {*LIMITS, *NEEDS, *NEEDS.values()} - {flag.name for flag in CHOSEN} == set()
    assert [flag.name for flag in CHOSEN if flag.type in {"integer", "number"} and not flag.limits] == []


def test_flags_that_need_each_other_do_so_among_the_values_too() -> None:
    def set_(key: str) -> dict[str, object]:
        return {"properties": {key: {"minLength": 1}}, "required": [key]}

    assert rules() == [
        {"if": set_("analysisQueries"), "then": {"properties": {"prometheus": {"minLength": 1}}}},
    ]


def test_the_chart_is_of_the_version_of_the_code() -> None:
    """Its image has the version as its tag unless another is named."""
    project = tomllib.loads((DEPLOY.parent / "pyproject.toml").read_text())["project"]
    assert yaml.safe_load((CHART / "Chart.yaml").read_text())["appVersion"] == project["version"]


def test_what_is_written_by_hand_stays() -> None:
    before = f"# Mine.\na: 1\n{BEGIN}operator:\n  old: 1\n{END}# Also mine.\n"
    flag = Flag("--new-thing", "Says what.", 3, "integer", ())
    text = f"# Mine.\na: 1\n{BEGIN}operator:\n  # Says what.\n  newThing: 3\n{END}# Also mine.\n"
    assert values(before, [flag]) == text


def test_the_page_has_every_flag() -> None:
    page = describe_flags()
    assert [flag.name for flag in flags() if f"| `{flag.name}` |" not in page] == []


def test_an_empty_directory_gets_the_generated_parts(tmp_path: Path) -> None:
    assert "operator" in json.loads(generated(tmp_path)["chart/values.schema.json"])["properties"]


def _undeclared(given: object, schema: dict[str, object], place: str = "") -> list[str]:
    properties = schema.get("properties")
    if not isinstance(given, dict) or not isinstance(properties, dict):
        return []
    found = [f"{place}.{key}" for key in given if key not in properties]
    for key in given.keys() & properties.keys():
        found += _undeclared(given[key], properties[key], f"{place}.{key}")
    return found
