"""Alert rules and the board, as Prometheus itself reads them."""

import json
import re
import shutil
from pathlib import Path

import pytest
import yaml

from devtools.dashboard import RATE, panels
from devtools.history_dashboard import HISTORY_BOARD
from devtools.metrics import found
from harness.drivers.helm import CHART, Helm
from testbed import tools
from testbed.api import Object
from testbed.shell import run

HERE = Path(__file__).parent
ALERTS = CHART / "files" / "alerts.yaml"
ALL_PANELS = panels() + panels(HISTORY_BOARD)
OF_OTHERS = {"process_resident_memory_bytes", "process_cpu_seconds_total", "process_open_fds"}


@pytest.fixture(scope="session")
def promtool() -> str:
    return str(tools.binary("promtool"))


def test_each_alert_fires_for_what_it_is_for(promtool: str, tmp_path: Path) -> None:
    """And a healthy operator makes none."""
    for file in (ALERTS, HERE / "alerts.test.yaml"):
        shutil.copy(file, tmp_path)
    assert "SUCCESS" in run(promtool, "test", "rules", str(tmp_path / "alerts.test.yaml"), timeout=120)


def test_every_alert_is_tested() -> None:
    rules = _rules()
    text = (HERE / "alerts.test.yaml").read_text()
    assert [rule["alert"] for rule in rules if text.count(rule["alert"]) < 2] == []


def test_every_alert_says_what_is_wrong_and_what_to_look_at() -> None:
    for rule in _rules():
        assert rule["annotations"].keys() == {"summary", "description"}
        assert rule["labels"]["severity"] in {"critical", "warning", "info"}


def test_the_page_about_alerts_has_each_of_them_as_it_is() -> None:
    page = (CHART.parents[1] / "docs/operations/alerts.md").read_text()
    told = re.findall(r"^\| `(KubeDL\w+)` \| (\w+), (at once|after \w+) \|", page, re.MULTILINE)
    assert told == [
        (rule["alert"], rule["labels"]["severity"], f"after {rule['for']}" if "for" in rule else "at once")
        for rule in yaml.safe_load(ALERTS.read_text())["groups"][0]["rules"]
    ]


def test_the_page_about_alerts_is_where_the_rules_say() -> None:
    assert [
        page for page in re.findall(r"docs/\S+\.md", ALERTS.read_text()) if not (CHART.parents[1] / page).exists()
    ] == []


def test_prometheus_understands_every_question_of_the_board(promtool: str, tmp_path: Path) -> None:
    rules = [
        {"record": f"panel:{number}", "expr": panel.query.replace(RATE, "5m")}
        for number, panel in enumerate(ALL_PANELS)
    ]
    file = tmp_path / "board.yaml"
    file.write_text(yaml.safe_dump({"groups": [{"name": "board", "rules": rules}]}))
    assert f"SUCCESS: {len(rules)} rules found" in run(promtool, "check", "rules", str(file), timeout=60)


@pytest.mark.parametrize(
    ("title", "series", "answer"),
    [
        ("Running jobs by kind", 'kubedl_jobs{%s, kind="TFJob", state="Running"}', '{kind="TFJob"}'),
        ("Jobs by state", 'kubedl_jobs{%s, kind="TFJob", state="Running"}', '{state="Running"}'),
        ("Failed jobs", 'kubedl_jobs{%s, kind="TFJob", state="Failed"}', "{}"),
        ("Model versions", 'kubedl_model_versions{%s, phase="ImageBuilding"}', '{phase="ImageBuilding"}'),
        ("Inferences", 'kubedl_inferences{%s, ready="true"}', '{ready="true"}'),
        ("Replicas and other pods", 'kubedl_cache_objects{%s, resource="pods"}', '{resource="pods"}'),
        ("Objects in informer caches", 'kubedl_cache_objects{%s, resource="pods"}', '{resource="pods"}'),
        ("Waiting for a reconcile", 'kubedl_queue_depth{%s, controller="TFJob"}', '{controller="TFJob"}'),
    ],
)
def test_the_board_adds_up_releases_and_no_standby(
    promtool: str, tmp_path: Path, title: str, series: str, answer: str
) -> None:
    """What leader and standby both count is there once."""
    operators = [("m", "a", 1, 3), ("m", "b", 0, 3), ("n", "a", 0, 40), ("n", "b", 1, 40)]
    given = []
    for namespace, pod, leads, count in operators:
        labels = f'namespace="{namespace}", job="kubedl-operator", pod="{pod}", instance="{namespace}{pod}"'
        given.append({"series": f"kubedl_leader{{{labels}}}", "values": f"{leads}x5"})
        given.append({"series": series % labels, "values": f"{count}x5"})
    [query] = [panel.query for panel in panels() if panel.title == title]
    asked = {"expr": query, "eval_time": "5m", "exp_samples": [{"labels": answer, "value": 43}]}
    tests = [{"interval": "1m", "input_series": given, "promql_expr_test": [asked]}]
    file = tmp_path / "board.test.yaml"
    file.write_text(yaml.safe_dump({"rule_files": [], "evaluation_interval": "1m", "tests": tests}))
    assert "SUCCESS" in run(promtool, "test", "rules", str(file), timeout=60)


def test_alerts_and_board_ask_for_metrics_that_there_are() -> None:
    """A metric that was renamed would leave an alert that never fires."""
    histograms = {f"{name}_{part}" for name, kind, *_ in found() for part in ("bucket", "count") if kind == "histogram"}
    known = {name for name, *_ in found()} | histograms | OF_OTHERS
    queries = [panel.query for panel in ALL_PANELS] + [rule["expr"] for rule in _rules()]
    asked = {name for query in queries for name in re.findall(r"\b(?:kubedl|process)_\w+", query)}
    assert asked - known == set()


def test_the_chart_hands_both_on_as_they_are(helm: Helm) -> None:
    """Words in braces are Prometheus' and Grafana's, not Helm's."""
    made = helm.template({"metrics": {"rules": {"create": True}, "dashboard": {"create": True}}})
    assert _made_rules(made) == _rules()
    [board] = [one for one in made if one["kind"] == "ConfigMap"]
    assert json.loads(board["data"]["kubedl.json"]) == json.loads((CHART / "files/dashboard.json").read_text())


def test_the_board_of_the_recorder_is_there_if_a_recorder_is(helm: Helm) -> None:
    history = {"create": True, "cluster": "prod", "databaseSecret": "database"}
    made = helm.template({"metrics": {"dashboard": {"create": True}}, "history": history})
    [board] = [one for one in made if one["kind"] == "ConfigMap"]
    file = json.loads((CHART / "files/dashboard-history.json").read_text())
    assert json.loads(board["data"]["kubedl-history.json"]) == file
    assert file["uid"] != json.loads(board["data"]["kubedl.json"])["uid"]


def test_a_recorder_that_is_gone_is_missed_where_there_should_be_one(helm: Helm) -> None:
    """Also if it never ran; and nowhere else."""
    monitored = {"metrics": {name: {"create": True} for name in ("rules", "serviceMonitor")}}
    history = {"create": True, "cluster": "prod", "databaseSecret": "database"}
    for values, missed in ((monitored, False), ({**monitored, "history": history}, True)):
        found = _made_rules(helm.template(values, release="here", namespace="team"))
        [rule] = [rule for rule in found if rule["alert"] == "KubeDLHistoryNoRecorder"]
        absent = 'absent(kubedl_recorder_leader{namespace="team", job="here-kubedl-recorder"})'
        assert rule["expr"].endswith(absent) is missed


@pytest.mark.parametrize(
    ("limit", "alarm"),
    [("1Gi", 966367642), ("512Mi", 483183821), ("2G", 1_800_000_000), (10**9, 900_000_000), ("1e9", 900_000_000)],
)
def test_the_memory_alert_follows_the_limit(helm: Helm, limit: object, alarm: int) -> None:
    """One with a larger limit than the chart's own would be told of nothing, one with a smaller one too late."""
    values = {"metrics": {"rules": {"create": True}}, "resources": {"limits": {"memory": limit}}}
    [rule] = [rule for rule in _made_rules(helm.template(values)) if rule["alert"] == "KubeDLMemory"]
    [own] = [rule for rule in _rules() if rule["alert"] == "KubeDLMemory"]
    assert rule == {**own, "expr": own["expr"].replace("966367642", str(alarm))}


def test_without_a_limit_nobody_is_told_of_memory(helm: Helm) -> None:
    values = {"metrics": {"rules": {"create": True}}, "resources": {"limits": {"memory": None}}}
    made = [rule["alert"] for rule in _made_rules(helm.template(values))]
    assert made == [rule["alert"] for rule in _rules() if rule["alert"] != "KubeDLMemory"]


def test_a_release_that_is_gone_is_missed_beside_others(helm: Helm) -> None:
    """Where the chart itself says how its operators are looked at."""
    values = {"metrics": {name: {"create": True} for name in ("rules", "serviceMonitor")}}
    found = _made_rules(helm.template(values, release="here", namespace="team"))
    [rule] = [rule for rule in found if rule["alert"] == "KubeDLNoLeader"]
    assert 'absent(kubedl_leader{namespace="team", job="here-kubedl-operator"})' in rule["expr"]


def _rules() -> list[Object]:
    found: list[Object] = yaml.safe_load(ALERTS.read_text())["groups"][0]["rules"]
    return found


def _made_rules(objects: list[Object]) -> list[Object]:
    [made] = [one for one in objects if one["kind"] == "PrometheusRule"]
    [group] = made["spec"]["groups"]
    rules: list[Object] = group["rules"]
    return rules
