"""Where ServiceMonitor, rules and dashboard go, and what an administrator may change of them."""

import re
from pathlib import Path
from typing import Any

import pytest
import yaml

from harness.drivers.helm import CHART, Helm
from testbed import tools
from testbed.api import Object
from testbed.errors import TestbedError
from testbed.shell import run
from tests.chart.rendered import the

ALERTS: list[Object] = yaml.safe_load((CHART / "files/alerts.yaml").read_text())["groups"][0]["rules"]
PAGE = CHART.parents[1] / "docs/operations/alerts.md"
KINDS = {"serviceMonitor": "ServiceMonitor", "rules": "PrometheusRule", "dashboard": "ConfigMap"}


def made(helm: Helm, key: str, **values: Any) -> Object:  # noqa: ANN401 - any value of a chart
    """The object of one section of `metrics`."""
    objects = helm.template({"crds": {"install": False}, "metrics": {key: {"create": True, **values}}})
    return the(objects, KINDS[key])


def rules(helm: Helm, **values: Any) -> dict[str, Object]:  # noqa: ANN401 - any value of a chart
    """By name."""
    return {rule["alert"]: rule for rule in made(helm, "rules", **values)["spec"]["groups"][0]["rules"]}


@pytest.mark.parametrize("key", KINDS)
def test_each_can_be_in_another_namespace(helm: Helm, key: str) -> None:
    """With labels and annotations, by which a Prometheus or a Grafana selects it."""
    assert made(helm, key)["metadata"]["namespace"] == "kubedl-system"
    values = {"namespace": "monitoring", "labels": {"release": "stack"}, "annotations": {"grafana_folder": "KubeDL"}}
    meta = made(helm, key, **values)["metadata"]
    assert meta["namespace"] == "monitoring"
    assert meta["labels"]["release"] == "stack"
    assert meta["labels"]["app.kubernetes.io/name"] == "kubedl"
    assert meta["annotations"] == {"grafana_folder": "KubeDL"}


def test_a_monitor_elsewhere_looks_at_the_operators_namespace(helm: Helm) -> None:
    """Without a selector it would look at its own."""
    assert "namespaceSelector" not in made(helm, "serviceMonitor")["spec"]
    elsewhere = made(helm, "serviceMonitor", namespace="monitoring")["spec"]
    assert elsewhere["namespaceSelector"] == {"matchNames": ["kubedl-system"]}


@pytest.mark.parametrize(
    ("other", "settings"),
    [
        ("console", {"create": True}),
        ("history", {"create": True, "cluster": "prod", "databaseSecret": "database"}),
    ],
)
def test_so_do_the_monitors_of_console_and_recorder(helm: Helm, other: str, settings: Object) -> None:
    """A Prometheus that selects those of one namespace finds them all."""
    for namespace, selector in (("", None), ("monitoring", {"matchNames": ["kubedl-system"]})):
        monitor = {"create": True, "namespace": namespace}
        objects = helm.template({"metrics": {"serviceMonitor": monitor}, other: settings})
        monitors = [one for one in objects if one["kind"] == "ServiceMonitor"]
        assert [one["metadata"]["namespace"] for one in monitors] == [namespace or "kubedl-system"] * 2
        assert [one["spec"].get("namespaceSelector") for one in monitors] == [selector] * 2


@pytest.mark.parametrize(
    ("key", "value"),
    [
        ("interval", "1m"),
        ("scrapeTimeout", "10s"),
        ("honorLabels", True),
        ("relabelings", [{"sourceLabels": ["a"], "targetLabel": "b", "replacement": "$1"}]),
        ("metricRelabelings", [{"action": "drop", "regex": "kubedl_.*_bucket", "sourceLabels": ["__name__"]}]),
    ],
)
def test_a_scrape_is_as_it_was_set(helm: Helm, key: str, value: object) -> None:
    [before], [after] = (made(helm, "serviceMonitor", **given)["spec"]["endpoints"] for given in ({}, {key: value}))
    assert after == {**before, key: value}
    assert before.get(key) != value


def test_alerts_get_the_labels_of_the_administrator(helm: Helm) -> None:
    found = rules(helm, additionalRuleLabels={"team": "ml"})
    assert list(found.values()) == [{**rule, "labels": {**rule["labels"], "team": "ml"}} for rule in ALERTS]


def test_duration_and_severity_of_an_alert_can_be_changed(helm: Helm) -> None:
    """And of no other one."""
    found = rules(helm, customRules={"KubeDLNoLeader": {"for": "7m"}, "KubeDLJobsFail": {"severity": "critical"}})
    expected = {rule["alert"]: rule for rule in ALERTS}
    expected["KubeDLNoLeader"] = {**expected["KubeDLNoLeader"], "for": "7m"}
    expected["KubeDLJobsFail"] = {**expected["KubeDLJobsFail"], "labels": {"severity": "critical"}}
    assert found == expected


def test_an_alert_can_be_left_out(helm: Helm) -> None:
    found = rules(helm, disabled={"KubeDLJobsFail": True, "KubeDLNoLeader": False})
    assert list(found) == [rule["alert"] for rule in ALERTS if rule["alert"] != "KubeDLJobsFail"]


def test_every_alert_links_to_its_place_on_the_page(helm: Helm) -> None:
    """One address for all; the page has an anchor for each, in the row of the alert."""
    address = "https://docs.example/kubedl/operations/alerts.html"
    page = PAGE.read_text().splitlines()
    for name, rule in rules(helm, runbookUrl=address).items():
        base, _, anchor = rule["annotations"]["runbook_url"].partition("#")
        assert base == address
        [row] = [line for line in page if f'<a id="{anchor}"></a>' in line]
        assert re.match(rf"\| `{name}` \|", row)


def test_prometheus_understands_rules_that_were_changed(helm: Helm, tmp_path: Path) -> None:
    changes = {
        "customRules": {rule["alert"]: {"for": "1h30m", "severity": "none"} for rule in ALERTS},
        "additionalRuleLabels": {"team": "ml"},
        "runbookUrl": "https://docs.example/alerts.html",
    }
    file = tmp_path / "rules.yaml"
    file.write_text(yaml.safe_dump(made(helm, "rules", **changes)["spec"]))
    said = run(str(tools.binary("promtool")), "check", "rules", str(file), timeout=60)
    assert f"SUCCESS: {len(ALERTS)} rules found" in said


def test_without_a_published_page_there_is_no_link(helm: Helm) -> None:
    assert not [rule for rule in rules(helm).values() if "runbook_url" in rule["annotations"]]


@pytest.mark.parametrize(
    ("metrics", "said"),
    [
        ({"rules": {"create": True, "customRules": {"NoLeader": {"for": "1m"}}}}, "there is no alert NoLeader"),
        ({"rules": {"create": True, "disabled": {"NoLeader": True}}}, "there is no alert NoLeader"),
        ({"rules": {"customRules": {"KubeDLNoLeader": {"expr": "1"}}}}, "expr"),
        ({"rules": {"customRules": {"KubeDLNoLeader": {"for": "soon"}}}}, "/KubeDLNoLeader/for'"),
        ({"rules": {"additionalRuleLabels": {"severity": "info"}}}, "/additionalRuleLabels/severity'"),
        ({"rules": {"runbookUrl": "docs/operations/alerts.md"}}, "/runbookUrl'"),
        ({"serviceMonitor": {"scrapeTimeout": "10"}}, "/scrapeTimeout'"),
        ({"serviceMonitor": {"labels": {"app.kubernetes.io/name": "mine"}}}, "/serviceMonitor/labels/"),
    ],
)
def test_what_could_not_work_is_refused(helm: Helm, metrics: dict[str, Any], said: str) -> None:
    with pytest.raises(TestbedError, match=said):
        helm.template({"metrics": metrics})
