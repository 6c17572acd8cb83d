"""Tests that a page or a table names as its evidence, as `tests/unit/x.py::test_y`: they must exist."""

import ast
import re
from functools import cache

from devtools.lint_repo import ROOT

NAMED = re.compile(r"\btests/[\w/]+\.py::test_\w+")


def named_in(text: str) -> list[str]:
    """Return every test that a text names."""
    return NAMED.findall(text)


def exists(test: str) -> bool:
    """Whether a module has that test, as a function."""
    file, _, name = test.partition("::")
    return name in _functions(file)


@cache
def _functions(file: str) -> frozenset[str]:
    path = ROOT / file
    if not path.is_file():
        return frozenset()
    body = ast.parse(path.read_text()).body
    return frozenset(node.name for node in body if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef))
