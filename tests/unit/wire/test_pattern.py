"""Text of others is measured before it is matched, everywhere in the operator."""

import ast
from pathlib import Path

import kubedl
from kubedl.wire.pattern import Pattern

SOURCE = Path(kubedl.__file__).parent
# The first measures before it matches; the second's expression cannot backtrack, since its quantifiers are possessive.
BOUNDED = ("wire/pattern.py", "wire/nesting.py")
# These run in a pod of the user's own namespace, under its own limits, never in the operator.
ELSEWHERE = ("models/packer/", "models/unpack.py", "serving/loader/")


def test_text_beyond_the_bound_does_not_match() -> None:
    """However well it would fit."""
    pattern = Pattern("a+", 3)
    for text, expected in (("aaa", True), ("aaaa", False)):
        assert bool(pattern.fullmatch(text)) is expected
        assert bool(pattern.match(text)) is expected
        assert bool(pattern.search(text)) is expected


def test_the_operator_has_no_regular_expression_without_a_bound() -> None:
    """Only the modules that see to it import `re`."""
    found = []
    for file in SOURCE.rglob("*.py"):
        path = file.relative_to(SOURCE).as_posix()
        if path in BOUNDED or path.startswith(ELSEWHERE):
            continue
        for node in ast.walk(ast.parse(file.read_text())):
            names = [alias.name for alias in node.names] if isinstance(node, ast.Import) else []
            names += [node.module or ""] if isinstance(node, ast.ImportFrom) else []
            found += [path for name in names if name in {"re", "sre_compile", "fnmatch"}]
    assert found == []
