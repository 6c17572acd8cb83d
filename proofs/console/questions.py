"""The twelve questions that people bring to the console: `python -m proofs.console.questions`, in Chromium.

For each a browser opens `/` anew as the person who asks, clicks at most twice and reads what stands there. What is true
comes from kubectl and from those who made the objects, not from the console. The last line is JSON.
"""

import json
import re
import sys
import tempfile
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from harness.drivers.console_browser import ROOT, run_script
from proofs.console import question_answers as answers
from proofs.console.question_world import Prepared, prepared
from testbed import cluster_lock
from testbed.cluster import Cluster
from testbed.instance import chosen_index
from testbed.waiting import until

SCRIPT = ROOT / "console" / "browser" / "questions.mjs"
SECONDS, CLICKS = 5.0, 2

Texts = Mapping[str, Sequence[str]]  # what stands in each place
Judge = Callable[[Prepared, Texts], tuple[object, object]]  # what was read, and what is true


@dataclass(frozen=True)
class Click:
    """On what a person clicks, or types."""

    role: str
    name: str
    inside: str = "body"
    text: str | None = None

    def order(self) -> dict[str, str]:
        """For the script."""
        typed = {} if self.text is None else {"text": self.text}
        return {"role": self.role, "name": self.name, "inside": self.inside, **typed}


@dataclass(frozen=True)
class Look:
    """One way to an answer; `reads` has places by name, each with a pattern that its text has when it is there."""

    question: int
    words: str
    judge: Judge
    reads: Mapping[str, tuple[str, str]]
    clicks: Sequence[Click] = field(default_factory=tuple)

    def order(self, number: int) -> dict[str, object]:
        """For the script."""
        reads = {name: {"place": place, "until": pattern} for name, (place, pattern) in self.reads.items()}
        return {"id": number, "clicks": [one.order() for one in self.clicks], "reads": reads}


ATTENTION = 'section:has(h2:text-is("Needs attention"))'
RUNNING = 'section:has(h2:text-is("Running jobs"))'
WHY = {"why": ('section[aria-label="Why"]', r"^\s*Why")}
HOLDERS = '[role="region"][aria-label="Who holds the GPUs"]'


def _page(name: str) -> Click:
    return Click("link", f"^{name}", 'nav[aria-label="Main"]')


def _job(name: str, inside: str = ATTENTION) -> Click:
    return Click("link", f"^{name}$", inside)


LOOKS = (
    Look(1, "what of mine is broken or stuck", answers.attention, {"list": (ATTENTION, "yours")}),
    Look(2, "who holds the GPUs", answers.holders, {"table": (HOLDERS, "%")}),
    Look(
        2,
        "which team does",
        answers.teams,
        {"button": ('button[aria-pressed="true"]:text-is("Team")', "Team"), "table": (HOLDERS, "Team.*%")},
        [Click("button", "^Team$")],
    ),
    Look(3, "what is free", answers.free, {"card": ('section[aria-label="GPUs"]', "largest free block")}),
    Look(4, "why it waits", answers.waiting, WHY, [_job("lora")]),
    Look(5, "when it starts", answers.start, {"facts": ("dl.facts", r"half of \d|not known")}, [_job("lora")]),
    Look(
        6,
        "whether it makes progress",
        answers.progress,
        {"table": ('[role="table"][aria-label="Jobs"]', "far")},
        [Click("link", "^Open as list$", RUNNING)],
    ),
    Look(6, "or only holds GPUs", answers.idle, {**WHY, "facts": ("dl.facts", "Progress")}, [_job("hangs", RUNNING)]),
    Look(
        7,
        "which rank failed first, and what it said",
        answers.first_failure,
        {**WHY, "pod": ('.podlist button[aria-pressed="true"]', r"\w"), "log": ('[role="log"]', r"\d\d:\d\d:\d\d")},
        [_job("train-9")],
    ),
    Look(
        8,
        "what changed since the run that worked",
        answers.changes,
        {"panel": ('[role="tabpanel"]', r"Since \S+ succeeded|No run")},
        [_job("train-9"), Click("tab", "^Changes")],
    ),
    Look(
        9,
        "what made what serves now",
        answers.lineage,
        {"answer": ('section[aria-label="Lineage"] .answer', r"\w"), "parts": (".lineage li.lit", r"\w")},
        [_page("Models"), Click("link", "^summary$", "table")],
    ),
    Look(
        10,
        "whether the new version is good enough",
        answers.rollout,
        {"card": ('section[aria-label="Rollout of main"]', "Requests seen|Not known")},
        [_page("Services"), Click("link", "^support$", "table")],
    ),
    Look(
        11,
        "what a team spent last month, and how much was idle",
        answers.spending,
        {
            "button": ('button[aria-pressed="true"]:text-is("Last month")', "month"),
            "table": ('[role="region"][aria-label="Namespaces"]', r"Spent[^%]*EUR.*(% of|not known)"),
        },
        [_page("Cost"), Click("button", "^Last month$")],
    ),
    Look(
        12,
        "what ran last month",
        answers.deleted,
        {"table": ('section[aria-label="Deleted jobs"]', "from the history")},
        [_page("Jobs"), Click("tab", "^Deleted")],
    ),
)


def main() -> int:
    """Ask all, and print how many answers are right."""
    with (
        cluster_lock.borrowed(Cluster(chosen_index())) as cluster,
        cluster_lock.turn(cluster, alone=True),  # nodes of others would have free GPUs
        tempfile.TemporaryDirectory(prefix="kubedl-console-questions-") as directory,
        prepared(cluster, Path(directory)) as ready,
    ):
        until("the jobs", lambda: len(ready.console.get("/api/v1/jobs", ready.token).json()["rows"]) >= 8, deadline=60)
        seen = browse(ready)
        right = [judged(ready, look, one) for look, one in zip(LOOKS, seen, strict=True)]
    asked = {look.question for look in LOOKS}
    wrong = {look.question for look, fine in zip(LOOKS, right, strict=True) if not fine}
    figures = {
        "questions": len(asked),
        "answered": len(asked - wrong),
        "slowest seconds": round(max(one["seconds"] for one in seen), 2),
        "most clicks": max(one["clicks"] for one in seen),
        "errors": sum(len(one["errors"]) for one in seen),
    }
    print(json.dumps(figures))
    return 0


def browse(ready: Prepared) -> list[answers.Seen]:
    """Let a browser look."""
    orders = [look.order(number) for number, look in enumerate(LOOKS)]
    seen: list[answers.Seen] = json.loads(run_script(SCRIPT, orders, ready.console, ready.token, 1200))
    return seen


def judged(ready: Prepared, look: Look, seen: answers.Seen) -> bool:
    """Whether what was read is right, and was there in time."""
    late = seen["seconds"] > SECONDS or seen["clicks"] > CLICKS
    read, true = ("nothing", "something") if seen["errors"] else look.judge(ready, seen["texts"])
    fine = read == true and not late
    print(
        f"{'ok' if fine else 'NO'}  {look.question:2} {look.words}: {seen['seconds']:.2f} s, {seen['clicks']} clicks",
        flush=True,
    )
    if read != true:
        print(f"    read  {read!r}\n    truth {true!r}", flush=True)
        print("    " + re.sub(r"\s+", " ", f"{seen['texts']} {seen['errors']}")[:3000], file=sys.stderr, flush=True)
    return fine


if __name__ == "__main__":
    sys.exit(main())
