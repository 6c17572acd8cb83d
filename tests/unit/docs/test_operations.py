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


def test_a_tag_of_digits_is_no_number() -> None:
    """Helm's `--set` takes it for one, and the chart refuses a number."""
    pages = [*(ROOT / "docs").rglob("*.md"), ROOT / "README.md", ROOT / "deploy" / "chart" / "README.md"]
    commands = [found for page in pages for found in re.findall(r"(\S+)[ =]image\.tag=", page.read_text())]
    assert set(commands) == {"--set-string"}
