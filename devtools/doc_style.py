"""How pages of docs/ are written, beyond their words: `make docs` fails on what breaks a rule.

Commands can be copied as they are, output looks like output, and a reader finds a page by its task or symptom.
"""

import re
import sys
from collections.abc import Callable, Iterable, Iterator

from devtools.lint_repo import ROOT, tracked
from devtools.plain_english import PAGES

COMMANDS = ("bash", "console", "sh", "shell")
# Indexes, which are named for what they list.
INDEXES = ("docs/how-to/README.md", "docs/troubleshooting/README.md", "docs/troubleshooting/reasons.md")
# The verbs that titles of how-to pages begin with; a new one is added here.
TASK = re.compile(
    r"(Add|Build|Cache|Checkpoint|Choose|Configure|Connect|Create|Debug|Deploy|Fetch|Find|Install|Keep|Limit|Look|Measure|"
    r"Migrate|Monitor|Move|Pack|Pre-warm|Queue|Read|Resize|Restore|Resume|Roll|Run|Save|Serve|Set|Share|Sign|Split|Store|Sync|Trace|"
    r"Schedule|Train|Tune|Upgrade|Use|Verify|Watch|Write) .*\S"
)
SYMPTOM = re.compile(r"(My|The|A|An|I) \S+ .*\S")
PROMPT = re.compile(r"^\s*\$ ")

_FENCE = re.compile(
    r"^ *(?P<mark>`{3,}|~{3,})(?P<language>[^`\n]*)\n(?P<body>.*?)^ *(?P=mark)$", re.MULTILINE | re.DOTALL
)
_TITLE = re.compile(r"^# (.+)$", re.MULTILINE)

Rule = Callable[[str, str], Iterator[str]]


def main() -> int:
    """Print every complaint about the pages."""
    complaints = list(complaints_about(tracked(ROOT)))
    print("\n".join(complaints), file=sys.stderr, end="\n" if complaints else "")
    return 1 if complaints else 0


def complaints_about(files: Iterable[tuple[str, str]]) -> Iterator[str]:
    """What breaks a rule, a line each."""
    for name, text in files:
        if PAGES.fullmatch(name):
            for rule in RULES:
                yield from rule(name, text)


def fence_without_language(name: str, text: str) -> Iterator[str]:
    """A fence without a language is drawn as output, whatever it is."""
    for fence in _FENCE.finditer(text):
        if not fence["language"].strip():
            line = _line(text, fence.start())
            yield f"{name}:{line}: a fence without a language; `sh` is for commands, `text` for output"


def prompt_in_commands(name: str, text: str) -> Iterator[str]:
    """The copy button would copy the prompt too, and output that stands between commands."""
    for fence in _FENCE.finditer(text):
        if fence["language"].strip().partition(" ")[0] in COMMANDS:
            first = _line(text, fence.start("body"))
            for number, line in enumerate(fence["body"].splitlines(), first):
                if PROMPT.match(line):
                    yield f"{name}:{number}: a prompt; write the command without `$ `, and its output in a `text` fence"


def title_without_task(name: str, text: str) -> Iterator[str]:
    """Readers look for what they want to do, or for what they see."""
    if name in INDEXES or not name.startswith(("docs/how-to/", "docs/troubleshooting/")):
        return
    found = _TITLE.search(text)
    title = found[1] if found is not None else ""
    asks = title.endswith("?")
    if name.startswith("docs/how-to/") and not asks and not TASK.fullmatch(title):
        yield f"{name}: the title {title!r} is no task: begin with a verb, as in 'Serve a model', or ask a question"
    if name.startswith("docs/troubleshooting/") and not asks and not SYMPTOM.fullmatch(title):
        yield f"{name}: the title {title!r} is no symptom: write what the user sees, as in 'My job stays Created'"


def _line(text: str, place: int) -> int:
    return text.count("\n", 0, place) + 1


RULES: tuple[Rule, ...] = (fence_without_language, prompt_in_commands, title_without_task)


if __name__ == "__main__":
    sys.exit(main())
