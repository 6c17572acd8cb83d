"""Every reason of the source has a meaning on the page, and no other word does."""

import ast
from collections.abc import Sequence

import pytest

from devtools.reasons import MEANINGS, ROOT, Listed, complaints, literals, read, sources

LISTED = read(MEANINGS.read_text())
PAGE = ROOT / "docs" / "troubleshooting" / "reasons.md"


def found(source: str, reasons: Sequence[str] = (), others: Sequence[str] = ()) -> list[str]:
    """Complaints about one module and a list with these words."""
    listed = Listed({"Jobs": {"a.md": dict.fromkeys(reasons, "A meaning")}}, frozenset(others))
    return list(complaints({"a.py": ast.parse(source)}, listed))


def test_the_list_has_what_the_source_has() -> None:
    """A new reason needs a meaning, and one that is gone is removed from the list."""
    assert list(complaints(sources(), LISTED)) == []


@pytest.mark.parametrize(
    "source",
    [
        'builder.event("Normal", "NewReason", "a message")',
        'problem = Problem("NewReason", message)',
        'raise ImageError("NewReason", "a message", permanent=True)',
        'PATIENCE, REASON = 3, "NewReason"  # and passed on somewhere else',
        'TELLING = ("NewReason",)',
        'reason = "NewReason" if pod.failed else reason',
        'status = replace(status, reason=error.reason or "NewReason")',
        'case = {"key": "NewReason"}',
        'class Cache(Addon):\n    condition_passed = "NewReason"',
        'def without(status: Status, reason: str = "NewReason") -> Status: ...',
    ],
)
def test_a_reason_without_a_meaning_is_found(source: str) -> None:
    """However it is written."""
    assert [line.split()[1] for line in found(source, others=["Normal"]) if "no meaning" in line] == ["NewReason"]


def test_a_reason_with_a_part_that_is_not_known_is_found() -> None:
    """As it is listed."""
    assert [line.split()[1] for line in found('reason = f"Pod{error.reason}"')] == ["Pod…"]
    assert found('reason = f"Pod{error.reason}"', ["Pod…"]) == []


def test_a_meaning_without_a_reason_is_found() -> None:
    """Of a reason, and of another word."""
    assert found("", ["OldReason"]) == ["reasons.toml: OldReason is not in the source any more"]
    assert found("", others=["OldKind"]) == ["reasons.toml: OldKind is not in the source any more"]


@pytest.mark.parametrize(
    "source",
    [
        'State = Literal["Fresh", "Stale"]',
        'def at(place: "Place") -> "Place": ...',
        'if state == "Fresh" or state in ("Stale", "Gone"): ...',
        '__all__ = ["Place"]',
        'message = f"Pod {name} is gone"',
        '"""A docstring."""',
    ],
)
def test_what_nothing_writes_is_left_out(source: str) -> None:
    """Types, comparisons, names for export, sentences."""
    assert literals(ast.parse(source)) == {}


@pytest.mark.parametrize(
    "source",
    [
        'def fail(self, reason: str): ...\nself.fail("Worker")',
        '@dataclass\nclass Problem:\n    reason: str\nProblem("Worker")',
        'class Error(Exception):\n    def __init__(self, code, reason): ...\nraise Error(1, "Worker")',
        'Condition(reason="Worker")',
    ],
)
def test_another_word_that_is_used_as_a_reason_is_found(source: str) -> None:
    """So that a word on that list cannot hide a reason."""
    [complaint] = found(source, others=["Worker"])
    assert "Worker is used as a reason" in complaint


def test_a_reason_needs_a_meaning_for_each_object() -> None:
    """The same word may mean something else for a job and for an Inference."""
    listed = Listed({"Jobs": {"a.md": {"Unschedulable": "A meaning"}}}, frozenset())
    trees: dict[str, ast.AST] = {
        name: ast.parse('reason = "Unschedulable"') for name in ("training/a.py", "serving/a.py", "oci/a.py")
    }
    assert [line.partition(": ")[0] for line in complaints(trees, listed)] == ["serving/a.py:1"]


def test_a_word_is_listed_once() -> None:
    """As a reason or as another word."""
    assert found('a = "Worker"', ["Worker"], ["Worker"]) == [
        "reasons.toml: Worker is listed both as a reason and as another word"
    ]


def test_the_page_has_every_reason() -> None:
    """With its meaning and a page that helps. The page is what the code says: `test_reference` compares them."""
    page = PAGE.read_text()
    for pages in LISTED.meanings.values():
        for name, reasons in pages.items():
            for reason, meaning in reasons.items():
                assert f"| `{reason}` | {meaning} | [" in page
            assert f"]({name}) |" in page
