"""The layering contract of pyproject.toml, tried on small houses that keep or break it."""

import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[3]


@pytest.fixture
def house(tmp_path: Path) -> Path:
    """A copy of the contract with an empty product beside it."""
    contracts, addons, rest = (
        (ROOT / "pyproject.toml").read_text().partition('[[tool.importlinter.contracts]]\nid = "addons"')
    )
    assert addons
    # Of modules that an empty product does not have nothing can be forbidden.
    (tmp_path / "pyproject.toml").write_text(contracts + rest[rest.index("[tool.codespell]") :])
    for package in ("src/kubedl", "testbed"):
        (tmp_path / package).mkdir(parents=True)
        (tmp_path / package / "__init__.py").touch()
    return tmp_path


def test_arrows_that_point_down_are_kept(house: Path) -> None:
    """Lower layers may be imported from anywhere above, also past the ones between."""
    _module(house, "kube", "")
    _module(house, "runtime", "import kubedl.kube")
    _module(house, "training", "import kubedl.runtime, kubedl.kube")
    assert _judged(house).returncode == 0


@pytest.mark.parametrize(
    ("importer", "imported"), [("kube", "oci"), ("runtime", "training"), ("training", "serving"), ("api", "cli")]
)
def test_arrows_that_point_up_or_aside_are_refused(house: Path, importer: str, imported: str) -> None:
    """A lower layer that knows a higher one, or two capabilities that know each other."""
    _module(house, imported, "")
    _module(house, importer, f"import kubedl.{imported}")
    judged = _judged(house)
    assert judged.returncode == 1
    assert f"kubedl.{importer} is not allowed to import kubedl.{imported}" in judged.stdout


def test_a_module_outside_every_layer_is_refused(house: Path) -> None:
    """Otherwise a new package would be free of the contract until somebody notices."""
    _module(house, "leftover", "")
    judged = _judged(house)
    assert judged.returncode == 1
    assert "leftover" in judged.stdout


def test_the_product_does_not_know_the_test_bed(house: Path) -> None:
    """What ships must not depend on what tests it."""
    _module(house, "kube", "import testbed")
    assert _judged(house).returncode == 1


def _module(house: Path, name: str, source: str) -> None:
    package = house / "src" / "kubedl" / name
    package.mkdir()
    (package / "__init__.py").write_text(source + "\n")


def _judged(house: Path) -> subprocess.CompletedProcess[str]:
    program = Path(sys.executable).with_name("lint-imports")
    environment = {"PYTHONPATH": "src:.", "PATH": "/usr/bin:/bin", "COLUMNS": "200"}
    command = [str(program), "--no-cache"]
    return subprocess.run(command, cwd=house, env=environment, capture_output=True, text=True, check=False)
