"""Nobody keeps a list of the kinds: whoever needs them asks `all_kinds`. So a new file is all it takes."""

import re
from collections.abc import Iterable, Iterator

from devtools.lint_repo import ROOT, tracked
from kubedl.training.kinds import all_kinds

PLACES = ("src/", "harness/", "benchmarks/", "devtools/", "proofs/", "tests/", "Makefile")
OWN = ("src/kubedl/training/kinds/", "tests/unit/training/kinds/")
ELSEWHERE = (
    "src/kubedl/cli/help/",  # generated
    "src/kubedl/client/train_manifest.py",  # the runtimes that Kubeflow has
)
NEAR = 10  # lines within which names make a list
SEVERAL = 3
KINDS = {name: kind.kind for kind in all_kinds() for name in (kind.kind, kind.plural, kind.replicas_field)}
NAMED = re.compile(rf"\b({'|'.join(KINDS)})\b")


def lists(files: Iterable[tuple[str, str]]) -> Iterator[str]:
    """Where several kinds are named close to each other."""
    for name, text in files:
        if name.startswith(PLACES) and not name.startswith((*OWN, *ELSEWHERE)):
            found = [{KINDS[word] for word in NAMED.findall(line)} for line in text.splitlines()]
            for number in range(len(found)):
                if len(set().union(*found[number : number + NEAR])) >= SEVERAL:
                    yield f"{name}:{number + 1}"
                    break


def test_nobody_keeps_a_list_of_kinds() -> None:
    """In code, tests, proofs and tools; prose may name whom it likes, and generated files follow by themselves."""
    assert list(lists(tracked(ROOT))) == []


def test_a_list_would_be_found() -> None:
    """By any of their names, in one line or in several."""
    first, second, third, *_ = all_kinds()
    together = f"KNOWN = ['{first.kind}', '{second.plural}', '{third.replicas_field}']\n"
    apart = f"a = {{\n    '{first.plural}': 1,\n    '{second.plural}': 2,\n    '{third.plural}': 3,\n}}\n"
    far = f"'{first.kind}'\n{chr(10) * NEAR}'{second.kind}'\n{chr(10) * NEAR}'{third.kind}'\n"
    two = f"KNOWN = ['{first.kind}', '{second.kind}', '{second.plural}']\n"
    files = {"harness/a.py": together, "tests/b.py": apart, "src/far.py": far, "src/two.py": two, "docs/c.md": together}
    assert list(lists(files.items())) == ["harness/a.py:1", "tests/b.py:1"]
