"""The pages for operators of a cluster name what there is."""

import re

import yaml

from devtools.lint_repo import ROOT


def test_every_alert_is_explained() -> None:
    """And none that there is not."""
    rules = yaml.safe_load((ROOT / "deploy" / "chart" / "files" / "alerts.yaml").read_text())
    alerts = [rule["alert"] for group in rules["groups"] for rule in group["rules"]]
    page = (ROOT / "docs" / "operations" / "alerts.md").read_text()
    assert re.findall(r"^\| `(\w+)` \|", page, re.MULTILINE) == alerts
