"""Helm is run as the docs tell people to run it."""

from pathlib import Path

import pytest

from harness.drivers import helm
from harness.drivers.helm import CHART, Helm
from testbed import tools

PLACE = "--namespace=system"
WAITING = ["--wait", "--timeout=300s"]


@pytest.fixture
def commands(monkeypatch: pytest.MonkeyPatch) -> list[list[str]]:
    """What is run, without the program's own name."""
    said: list[list[str]] = []

    def run(_: str, *arguments: str, **_settings: object) -> str:
        said.append([one for one in arguments if not one.startswith("--values=")])
        return "kubedl\nother\n"

    monkeypatch.setattr(helm, "run", run)
    monkeypatch.setattr(tools, "binary", lambda _: Path("helm"))
    return said


def test_install_upgrade_and_rollback_are_the_documented_ones(commands: list[list[str]]) -> None:
    """Nothing is forced and nothing is adopted that belongs to somebody else."""
    program = Helm()
    program.install("kubedl", "system", {"replicas": 2})
    program.upgrade("kubedl", "system", {"replicas": 2})
    program.rollback("kubedl", "system")
    assert commands == [
        ["install", "kubedl", str(CHART), PLACE, "--create-namespace", *WAITING],
        ["upgrade", "kubedl", str(CHART), PLACE, "--reset-then-reuse-values", *WAITING],
        ["rollback", "kubedl", PLACE, *WAITING],
    ]


def test_releases_are_told_by_name(commands: list[list[str]]) -> None:
    assert Helm().releases("system") == ["kubedl", "other"]
    assert commands == [["list", "--short", PLACE]]
