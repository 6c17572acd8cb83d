"""Text of others is measured before it is matched, everywhere in the operator."""

import ast
import re
from pathlib import Path

import kubedl
from kubedl.kube import http_parser, nesting
from kubedl.kube.bounded_regex import BoundedPattern

SOURCE = Path(kubedl.__file__).parent
# The first measures before it matches; expressions of the others cannot backtrack: their quantifiers are possessive.
BOUNDED = ("kube/bounded_regex.py", "kube/nesting.py", "kube/http_parser.py")
# These run in a pod of the user's own namespace, under its own limits, or on the user's machine: never in the operator.
ELSEWHERE = ("models/packer/", "oci/", "serving/loader/", "client/")
MATCHERS = re.compile(r"\b(?:re|sre_compile|fnmatch)\b")  # modules


def test_text_beyond_the_bound_does_not_match() -> None:
    """However well it would fit."""
    pattern = BoundedPattern("a+", 3)
    for text, expected in (("aaa", True), ("aaaa", False)):
        assert bool(pattern.fullmatch(text)) is expected
        assert bool(pattern.match(text)) is expected
        assert bool(pattern.search(text)) is expected


def test_an_expression_that_is_applied_to_any_length_cannot_backtrack() -> None:
    """Each of its quantifiers is possessive, or a fixed number."""
    patterns = [
        one for module in (http_parser, nesting) for one in vars(module).values() if isinstance(one, re.Pattern)
    ]
    assert len(patterns) > len([nesting])
    for pattern in patterns:
        text = pattern.pattern.decode() if isinstance(pattern.pattern, bytes) else pattern.pattern
        plain = re.sub(r"\\.", "E", text).replace("(?:", "(")
        bare = re.sub(r"\[\^?\]?[^\]]*\]", "C", plain)
        assert [found[0] for found in re.finditer(r"(?:[*+?]|\{\d*,\d*\})(\+?)", bare) if not found[1]] == []


def test_the_operator_has_no_regular_expression_without_a_bound() -> None:
    """Only the modules that see to it import `re`."""
    found = []
    for file in SOURCE.rglob("*.py"):
        path = file.relative_to(SOURCE).as_posix()
        if path in BOUNDED or path.startswith(ELSEWHERE):
            continue
        text = file.read_text()
        if not MATCHERS.search(text):  # parsing takes longer
            continue
        for node in ast.walk(ast.parse(text)):
            names = [alias.name for alias in node.names] if isinstance(node, ast.Import) else []
            names += [node.module or ""] if isinstance(node, ast.ImportFrom) else []
            found += [path for name in names if MATCHERS.fullmatch(name)]
    assert found == []
