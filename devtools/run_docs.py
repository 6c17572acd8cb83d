"""A page of docs/ that is run as it stands: `python -m devtools.run_docs docs/quickstart.md`.

Every fence of language sh is run, in order, in one shell that ends at the first failure. A fence of language text right
after one shows what it printed; `--write` puts there what was printed now, so what readers see has happened. The last
line of the output is JSON: how it ended, and the seconds of each section.
"""

import argparse
import json
import os
import re
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from benchmarks.report import commit, machine, today

ROOT = Path(__file__).parents[1]
MOST_LINES = 30  # of what a block printed; more is cut in the middle, where nothing is told
RAN = re.compile(r"(?<=<!-- ran -->\n).*?(?=<!-- end of ran -->)", re.DOTALL)

_PART = re.compile(
    r"^## (?P<heading>[^\n]+)\n|^```sh\n(?P<commands>.*?)^```\n(?:\n```text\n(?P<printed>.*?)^```\n)?",
    re.MULTILINE | re.DOTALL,
)
_REGISTRY = re.compile(r"\b\d+\.\d+\.\d+\.\d+:5000\b")
_MARK = re.compile(r"^\x1e(\d+)$")


@dataclass(frozen=True)
class Block:
    """Commands of a page, and where the page has what they printed."""

    section: str
    commands: str
    place: tuple[int, int] | None  # of the text that is shown; None if nothing is
    printed: str = ""
    seconds: float = 0.0


class BrokenOffError(Exception):
    """A command failed; the block is the last that ran."""


def blocks(page: str) -> list[Block]:
    """What a page asks its reader to run."""
    found, section = [], ""
    for part in _PART.finditer(page):
        if part["heading"]:
            section = part["heading"]
        else:
            place = part.span("printed") if part["printed"] is not None else None
            found.append(Block(section, part["commands"], place))
    return found


def run(found: Sequence[Block], directory: Path, environment: Mapping[str, str] | None = None) -> Iterator[Block]:
    """Each block as soon as it is done, with what it printed."""
    # An argument and not the shell's input, so that a command which reads its input does not eat the others.
    script = "set -euo pipefail\n" + "".join(
        f"{block.commands}\nprintf '\\n\\036%s\\n' {number}\n" for number, block in enumerate(found)
    )
    lines: list[str] = []
    waiting, began = iter(found), time.monotonic()
    with subprocess.Popen(
        ["bash", "-c", script],
        cwd=directory,
        env={**os.environ, **(environment or {})},
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    ) as shell:
        for line in shell.stdout or ():
            if not _MARK.match(line.rstrip("\n")):
                print(line, end="", file=sys.stderr, flush=True)
                lines.append(line)
                continue
            printed = "".join(lines).removesuffix("\n")  # the one that the mark brings along
            yield replace(next(waiting), printed=printed, seconds=time.monotonic() - began)
            lines, began = [], time.monotonic()
    if shell.returncode != 0:
        raise BrokenOffError(f"ended with {shell.returncode} after:\n{''.join(lines[-20:])}")


def written(page: str, ran: Sequence[Block], note: str) -> str:
    """The page with what was printed, and a note of when."""
    for block in reversed(ran):
        if block.place is not None:
            begin, end = block.place
            page = page[:begin] + shown(block.printed) + page[end:]
    return RAN.sub(lambda _: note, page)


def shown(printed: str) -> str:
    """As a page has it: without the registry's address and the ends of lines that nobody sees, and not too long."""
    lines = [_REGISTRY.sub("$REGISTRY", line.rstrip()) for line in printed.strip("\n").splitlines()]
    if len(lines) > MOST_LINES:
        half = MOST_LINES // 2
        lines = [*lines[:half], "…", *lines[-half:]]
    return "".join(f"{line}\n" for line in lines)


def seconds(ran: Sequence[Block]) -> dict[str, float]:
    """How long each section took."""
    took: dict[str, float] = {}
    for block in ran:
        took[block.section] = round(took.get(block.section, 0.0) + block.seconds, 1)
    return took


def main() -> int:
    """Run a page."""
    parser = argparse.ArgumentParser(prog="python -m devtools.run_docs", description=__doc__)
    parser.add_argument("page", type=Path)
    parser.add_argument("--before", default="", help="shell commands to run first, which are not part of the page")
    parser.add_argument("--expect", default="", help="what some block must have printed")
    parser.add_argument("--instance", help="the test bed to run it on, which is ended in any case")
    parser.add_argument("--write", action="store_true", help="write into the page what was printed")
    arguments = parser.parse_args()
    page = arguments.page.read_text()
    chosen = {"INSTANCE": arguments.instance} if arguments.instance else {}
    ran: list[Block] = []
    ended = "passed"
    try:
        for block in run([Block("", arguments.before, None), *blocks(page)], ROOT, chosen):
            ran += [block] if block.section else []
    except BrokenOffError as error:
        ended = str(error)
    finally:
        if chosen:
            subprocess.run(
                ["make", "cluster-down"], cwd=ROOT, env={**os.environ, **chosen}, stdout=sys.stderr, check=False
            )
    if ended == "passed" and not any(arguments.expect in block.printed for block in ran):
        ended = f"nothing printed {arguments.expect!r}"
    if arguments.write and ended == "passed":
        arguments.page.write_text(written(page, ran, _note(ran)))
    print(json.dumps({"ended": ended, "seconds": round(sum(block.seconds for block in ran), 1), **seconds(ran)}))
    return 0 if ended == "passed" else 1


def _note(ran: Sequence[Block]) -> str:
    took = ", ".join(f"{section} {number:.0f} s" for section, number in seconds(ran).items())
    return f"\nPrinted {today()} at commit {commit()} on {machine()}, by `make quickstart`. It took: {took}.\n\n"


if __name__ == "__main__":
    sys.exit(main())
