"""House rules that no linter knows: names that say something, files with one subject, no addresses.

Each rule is a function from the tracked files to complaints; `make check` fails if there is any.
"""

import re
import subprocess
import sys
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path

ROOT = Path(__file__).parents[1]
MOST_LINES = 400  # about 300 is the aim; above this a file has more than one subject

EMPTY_NAMES = re.compile(r"(^|/)(utils?|helpers?|common|misc)(\.py|/)")
MACHINE_PATHS = re.compile(r"(?<![\w.-])/(work|root|home/\w+)/")
ADDRESSES = re.compile(r'"resolved": *"http|^--(extra-)?index-url|url *= *"http', re.MULTILINE)
# Command lines with paths of containers, as others wrote them.
NO_MACHINE = ("devtools/lint_repo.py", "tests/unit/cli/arena_lines/")
LOCKS = (".json", ".txt", ".toml", ".lock", ".sum")

Rule = Callable[[str, str], Iterator[str]]


def main() -> int:
    """Print every complaint about the tracked files."""
    complaints = list(complaints_about(tracked(ROOT)))
    print("\n".join(complaints), file=sys.stderr, end="\n" if complaints else "")
    return 1 if complaints else 0


def tracked(root: Path) -> Iterator[tuple[str, str]]:
    """Names and texts of the files that git knows or would add."""
    listed = subprocess.run(
        ["git", "ls-files", "--cached", "--others", "--exclude-standard", "-z"],
        cwd=root,
        capture_output=True,
        text=True,
        check=True,
    ).stdout
    for name in sorted(filter(None, listed.split("\0"))):
        path = root / name
        if path.is_file():
            yield name, path.read_text(errors="replace")


def complaints_about(files: Iterable[tuple[str, str]]) -> Iterator[str]:
    """What breaks a rule, a line each."""
    for name, text in files:
        for rule in RULES:
            yield from rule(name, text)


def empty_name(name: str, _: str) -> Iterator[str]:
    """A module called utils has no subject."""
    if EMPTY_NAMES.search(name):
        yield f"{name}: the name says nothing; name the module for its subject"


def too_long(name: str, text: str) -> Iterator[str]:
    """A long file has several subjects."""
    lines = text.count("\n")
    if name.endswith(".py") and lines > MOST_LINES:
        yield f"{name}: {lines} lines; split it by subject (at most {MOST_LINES}, better 300)"


def machine_path(name: str, text: str) -> Iterator[str]:
    """A path of one machine is wrong on every other."""
    if not name.startswith(NO_MACHINE):
        for number, line in enumerate(text.splitlines(), 1):
            if MACHINE_PATHS.search(line):
                yield f"{name}:{number}: a path of one machine"


def download_address(name: str, text: str) -> Iterator[str]:
    """A lock file pins by hash; where to download from is the machine's setting."""
    if name.endswith(LOCKS) and ADDRESSES.search(text):
        yield f"{name}: carries the address of a package registry"


RULES: tuple[Rule, ...] = (empty_name, too_long, machine_path, download_address)


if __name__ == "__main__":
    sys.exit(main())
