"""Documentation and source use the words that readers search for: `make check` fails on those in plain_english.txt.

Only prose counts: no code blocks and inline code of pages, and only docstrings and comments of Python files. Pages that
are generated or recorded are left out. The list has two sections: words that pages avoid, and words that pages and
source avoid.
"""

import ast
import io
import re
import sys
import tokenize
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path

from devtools.lint_repo import ROOT, tracked

WORDS = Path(__file__).with_suffix(".txt")
ARROW, SPACE = " -> ", r"\s+"
SECTION = re.compile(r"\[(\w+)\]")
DOCUMENTATION, EVERYWHERE = "documentation", "everywhere"
PAGES = re.compile(r"(README|CONTRIBUTING)\.md|docs/.*\.md")
SOURCE = re.compile(r"(src|harness)/.*\.py")
LEFT_OUT = ("docs/proofs/", "docs/reference/", "docs/performance.md", "docs/architecture.md")
CODE = re.compile(r"^ *(`{3,}).*?^ *\1`*$|`[^`\n]+`|<!--.*?-->", re.MULTILINE | re.DOTALL)

Section = Mapping[str, str]  # word → what to write instead


def main() -> int:
    """Print every complaint about the tracked files."""
    complaints = list(complaints_about(tracked(ROOT), sections(WORDS.read_text())))
    print("\n".join(complaints), file=sys.stderr, end="\n" if complaints else "")
    return 1 if complaints else 0


def sections(text: str) -> dict[str, dict[str, str]]:
    """Return the replacement of each word by section, a line each; lines that begin with # are comments."""
    found: dict[str, dict[str, str]] = {}
    for line in text.splitlines():
        if heading := SECTION.fullmatch(line.strip()):
            found[heading[1]] = {}
        elif line.strip() and not line.startswith("#"):
            word, _, instead = line.partition(ARROW)
            found[list(found)[-1]][word.strip()] = instead.strip()
    return found


def complaints_about(files: Iterable[tuple[str, str]], lists: Mapping[str, Section]) -> Iterator[str]:
    """Yield the words that a file should not have, with their lines."""
    everywhere = lists[EVERYWHERE]
    for name, text in files:
        if PAGES.fullmatch(name) and not name.startswith(LEFT_OUT):
            yield from _complaints(name, _without_code(text), {**lists[DOCUMENTATION], **everywhere})
        elif SOURCE.fullmatch(name):
            yield from _complaints(name, _without_code(_comments_and_docstrings(text)), everywhere)


def _complaints(name: str, prose: str, words: Section) -> Iterator[str]:
    lowered = prose.lower()
    for word, instead in words.items():
        if word.split()[0].lower() not in lowered:  # most words are in no file, and this is much faster than a pattern
            continue
        for found in re.finditer(rf"\b{SPACE.join(map(re.escape, word.split()))}\b", prose, re.IGNORECASE):
            line = prose.count("\n", 0, found.start()) + 1
            yield f"{name}:{line}: write plain English: {word}{ARROW}{instead}"


def _without_code(text: str) -> str:
    return CODE.sub(lambda code: _blank(code[0]), text)


def _comments_and_docstrings(text: str) -> str:
    """Blank everything else, so that the numbers of lines stay."""
    documented = (ast.Module, ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef)
    begins = {
        node.body[0].lineno
        for node in ast.walk(ast.parse(text))
        if isinstance(node, documented) and ast.get_docstring(node) is not None
    }
    lines = text.splitlines(keepends=True)
    kept = [_blank(line) for line in lines]
    for token in tokenize.generate_tokens(io.StringIO(text).readline):
        (first, start), (last, _) = token.start, token.end
        if token.type == tokenize.COMMENT:
            kept[first - 1] = " " * start + lines[first - 1][start:]
        elif token.type == tokenize.STRING and first in begins and not lines[first - 1][:start].strip():
            kept[first - 1 : last] = lines[first - 1 : last]
    return "".join(kept)


def _blank(text: str) -> str:
    return re.sub(r"[^\n]", " ", text)


if __name__ == "__main__":
    sys.exit(main())
