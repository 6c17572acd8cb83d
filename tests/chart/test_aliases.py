"""Names that other charts use for a setting mean the same as ours."""

from typing import Any

import pytest
import yaml

from harness.drivers.helm import CHART, Helm
from testbed.errors import TestbedError

ALIASES: list[dict[str, Any]] = yaml.safe_load((CHART / "files/aliases.yaml").read_text())["aliases"]
VALUES: dict[str, Any] = yaml.safe_load((CHART / "values.yaml").read_text())
# Two values that are not the default.
SAMPLES: dict[str, tuple[Any, Any]] = {
    "replicas": (3, 4),
    "env": ([{"name": "A", "value": "1"}], [{"name": "A", "value": "2"}]),
    "extraVolumes": ([{"name": "a", "emptyDir": {}}], [{"name": "b", "emptyDir": {}}]),
    "extraVolumeMounts": ([{"name": "a", "mountPath": "/a"}], [{"name": "b", "mountPath": "/b"}]),
    "strategy": ({"type": "Recreate"}, {"type": "RollingUpdate"}),
}
NAMES = [".".join([*one.get("within", ()), one["alias"]]) for one in ALIASES]


def setting(one: dict[str, Any], **values: Any) -> dict[str, Any]:  # noqa: ANN401 - any value of a chart
    """These values, where the setting is."""
    for part in reversed(one.get("within", [])):
        values = {part: values}
    return values


def place(values: dict[str, Any], one: dict[str, Any]) -> dict[str, Any]:
    for part in one.get("within", ()):
        values = values[part]
    return values


@pytest.mark.parametrize("one", ALIASES, ids=NAMES)
def test_both_names_do_the_same(helm: Helm, one: dict[str, Any]) -> None:
    value = SAMPLES.get(one["name"], (not one["default"],))[0]
    by_ours, by_alias = (helm.template(setting(one, **{one[key]: value})) for key in ("name", "alias"))
    assert by_alias == by_ours
    assert by_ours != helm.template()
    assert helm.template(setting(one, **{one["name"]: value, one["alias"]: value})) == by_ours


@pytest.mark.parametrize("one", [one for one in ALIASES if one["name"] in SAMPLES], ids=lambda one: str(one["alias"]))
def test_two_values_are_refused(helm: Helm, one: dict[str, Any]) -> None:
    first, second = SAMPLES[one["name"]]
    said = rf"{one['name']} and {one['alias']} are two names of one setting and have different values"
    with pytest.raises(TestbedError, match=said):
        helm.template(setting(one, **{one["name"]: first, one["alias"]: second}))


@pytest.mark.parametrize(
    "one", [one for one in ALIASES if one["name"] not in SAMPLES], ids=lambda one: str(one["within"])
)
def test_a_switch_that_is_not_at_its_default_is_refused_with_the_other_position(
    helm: Helm, one: dict[str, Any]
) -> None:
    """One at its default cannot be told from one that was not set: the other name decides."""
    default = one["default"]
    path = r"\.".join(one["within"])
    with pytest.raises(TestbedError, match=rf"{path}\.{one['name']} and {path}\.{one['alias']} are two names"):
        helm.template(setting(one, **{one["name"]: not default, one["alias"]: default}))
    decided = helm.template(setting(one, **{one["name"]: default, one["alias"]: not default}))
    assert decided == helm.template(setting(one, **{one["name"]: not default}))


def test_an_alias_knows_the_default_of_its_setting() -> None:
    """Otherwise the alias alone would be refused, or two values accepted."""
    assert [place(VALUES, one)[one["name"]] for one in ALIASES] == [one["default"] for one in ALIASES]
    assert {str(place(VALUES, one)[one["alias"]]) for one in ALIASES} == {"None"}


def test_every_template_with_such_a_setting_knows_its_other_names() -> None:
    """Helm renders templates in an order of its choice."""
    names = [".".join([*one.get("within", ()), one["name"]]) for one in ALIASES]
    for path in (CHART / "templates").rglob("*"):
        if path.suffix in {".yaml", ".txt"}:
            text = path.read_text()
            used = [name for name in names if f".Values.{name}" in text]
            assert not used or text.startswith('{{- include "kubedl.aliases" . }}\n'), (path.name, used)
