"""The framework of the how-to page is a good one: the page cannot fall behind the code."""

import ast
import builtins
import importlib.util
import inspect
import sys
import textwrap
import tomllib
from collections.abc import Iterator
from pathlib import Path

import pytest
import yaml

from kubedl.entrypoints.operator import GRANTS
from kubedl.training import plugin
from kubedl.training.job import Replica
from kubedl.training.kind import Kind
from kubedl.training.kinds import ENTRY_POINTS, all_kinds
from tests import howto_page
from tests.training_builders import JobBuilder

PAGE = howto_page.sections("add-a-framework.md")


@pytest.fixture
def ring(tmp_path: Path) -> Iterator[Kind]:
    """The declaration of the page."""
    file = tmp_path / "acme_ring.py"
    file.write_text(PAGE["Declare it"].files[file.name])
    spec = importlib.util.spec_from_file_location("acme_ring", file)
    assert spec is not None
    assert spec.loader is not None
    module = sys.modules["acme_ring"] = importlib.util.module_from_spec(spec)
    try:
        spec.loader.exec_module(module)
        made = module.Ring()
        assert isinstance(made, Kind)
        yield made
    finally:
        del sys.modules["acme_ring"]


def test_the_page_imports_one_module_of_kubedl() -> None:
    """The one that is meant for packages of others, and of it only what it says to have."""
    code = ast.parse(PAGE["Declare it"].files["acme_ring.py"])
    imported = [node for node in ast.walk(code) if isinstance(node, ast.ImportFrom)]
    [ours] = [node for node in imported if str(node.module).startswith("kubedl")]
    assert ours.module == plugin.__name__
    assert {alias.name for alias in ours.names} <= set(plugin.__all__)


def test_the_module_for_packages_has_what_the_signatures_of_a_kind_name() -> None:
    """Whoever overrides a method, or sets a class variable, need not look for its types elsewhere."""
    written = inspect.getsource(Kind).split("@cached_property")[0]
    offered = {"Any", "ClassVar", "Iterable", "Mapping", "ABC", "View", *dir(builtins), *plugin.__all__}
    tree = ast.parse(textwrap.dedent(written))
    hints = [
        node.annotation for node in ast.walk(tree) if isinstance(node, ast.AnnAssign | ast.arg) and node.annotation
    ]
    hints += [node.returns for node in ast.walk(tree) if isinstance(node, ast.FunctionDef) and node.returns]
    names = {part.id for hint in hints for part in ast.walk(hint) if isinstance(part, ast.Name)}
    assert names - offered == set()


def test_the_declaration_makes_a_definition(ring: Kind) -> None:
    """With the field of its own, which is described."""
    definition = ring.custom_resource.definition()
    [version] = definition["spec"]["versions"]
    rounds = version["schema"]["openAPIV3Schema"]["properties"]["spec"]["properties"]["rounds"]
    assert (definition["metadata"]["name"], rounds["default"]) == ("ringjobs.training.kubedl.io", 1)
    assert rounds["description"]


def test_replicas_are_told_what_the_page_says(ring: Kind) -> None:
    """Round the ring, and the observer beside it."""
    made = JobBuilder(ring, "hello").workers(2).role("Observer").with_spec(rounds=3).build()
    job = ring.job(made)
    expected = {"Worker 0": 1, "Worker 1": 0, "Observer 0": 0}
    for name, following in expected.items():
        role, _, index = name.partition(" ")
        address = f"hello-worker-{following}.hello.team.svc:7000"
        assert ring.environment(job, Replica(role, int(index))) == {"RING_NEXT": address, "RING_ROUNDS": "3"}


def test_it_is_found_by_the_group_that_the_operator_asks_for() -> None:
    """The entry point names the class of the file."""
    project = tomllib.loads(PAGE["Pack it"].files["pyproject.toml"])
    assert project["project"]["entry-points"] == {ENTRY_POINTS: {"ring": "acme_ring:Ring"}}
    assert project["tool"]["setuptools"]["py-modules"] == ["acme_ring"]


def test_the_page_leaves_nothing_to_guess() -> None:
    """Every section that asks for something has the files and commands for it, in this order."""
    asked = [heading for heading, section in PAGE.items() if section.files or section.commands]
    assert asked == ["Declare it", "Pack it", "Install it", "With the chart", "Run a job"]
    assert [sorted(PAGE[heading].files) for heading in asked] == [
        ["acme_ring.py"],
        ["pyproject.toml"],
        [],
        ["values.yaml"],
        ["ring.yaml"],
    ]


def test_the_chart_is_given_the_rights_that_the_operator_asks_for(ring: Kind) -> None:
    """As for a kind that it has from the start, and what the declaration asks for itself."""
    known = all_kinds()[0].plural
    wanted = [
        {
            "apiGroups": [grant.group],
            "resources": [grant.resources[0].replace(known, ring.plural)],
            "verbs": [*grant.verbs],
        }
        for grant in GRANTS
        if grant.resources[0].partition("/")[0] == known
    ]
    assert wanted
    assert ring.grants == ()
    given = yaml.safe_load(PAGE["With the chart"].files["values.yaml"])
    assert given == {"rbac": {"extraRules": wanted}}
