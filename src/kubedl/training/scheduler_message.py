"""Condenses what the Kubernetes scheduler says about a pod that fits no node. Pure.

"0/12 nodes are available: 8 Insufficient nvidia.com/gpu, 4 node(s) had untolerated taint {pool: infra}. preemption: …"
becomes "0/12 nodes: 8 without free nvidia.com/gpu, 4 tainted pool=infra" in plain words (`explain`), or
"0/12 nodes: 8 Insufficient nvidia.com/gpu, 4 had untolerated taint {pool: infra}" in the scheduler's (`trim`), which
people search for. Reasons of other plugins keep their words. A message of another form is returned as it is.
"""

from collections.abc import Iterator
from dataclasses import dataclass

LONGEST_READ = 4096  # characters of a message
MOST_REASONS, LONGEST_REASON = 8, 120
LONGEST_COUNT = 9  # digits
HEAD = " nodes are available: "
TAILS = (" preemption: ", " no new claims to deallocate")  # remarks that follow the reasons
NODES = "node(s) "
INSUFFICIENT, TAINT = "Insufficient ", "node(s) had untolerated taint {"
PLAIN = {
    "Too many pods": "without room for another pod",
    "node(s) didn't match Pod's node affinity/selector": "not matched by the node selector or affinity",
    "node(s) had taints that the pod didn't tolerate": "tainted",
    "node(s) had untolerated taint(s)": "tainted",
    "node(s) were unschedulable": "cordoned",
}


@dataclass(frozen=True)
class NodeReason:
    """Why some nodes do not fit."""

    count: str  # nodes; empty if the pod itself is refused
    words: str


@dataclass(frozen=True)
class SchedulerMessage:
    """The message in parts."""

    nodes: str  # "0/12"
    reasons: tuple[NodeReason, ...]

    def render(self, words: dict[str, str]) -> str:
        """Return the message with other words for each reason."""
        told = [f"{one.count} {words[one.words]}".strip() for one in self.reasons[:MOST_REASONS]]
        more = len(self.reasons) - len(told)
        return f"{self.nodes} nodes: {', '.join(told)}{f' and {more} more reasons' if more else ''}"


def explain(message: str) -> str:
    """Return the message in plain words, followed by itself if they are other words."""
    parts = read(message)
    if parts is None:
        return message
    plain = parts.render({one.words: _plain(one.words) for one in parts.reasons})
    return plain if plain == trim(message) else f"{plain} (scheduler: {message})"


def trim(message: str) -> str:
    """Return the message as the scheduler words it, without what is the same each time."""
    parts = read(message)
    if parts is None:
        return message
    return parts.render({one.words: _cut(one.words.removeprefix(NODES)) for one in parts.reasons})


def read(message: str) -> SchedulerMessage | None:
    """Return the parts of a message; None if it has another form."""
    nodes, found, rest = message[:LONGEST_READ].partition(HEAD)
    free, slash, total = nodes.partition("/")
    if not (found and slash and _is_count(free) and _is_count(total)):
        return None
    for tail in TAILS:
        rest = rest.partition(tail)[0]
    if rest.endswith(". not found"):
        rest = rest.removesuffix(" not found")
    reasons = tuple(_reasons(" ".join(rest.split()).rstrip(",. ")))
    return SchedulerMessage(nodes, reasons) if reasons else None


def _reasons(text: str) -> Iterator[NodeReason]:
    """Split at commas. A plugin may have commas in its words: what follows has no count, and stays where it is."""
    for piece in filter(None, text.split(", ")):
        count, _, words = piece.partition(" ")
        yield NodeReason(count, words) if words and _is_count(count) else NodeReason("", piece)


def _plain(words: str) -> str:
    if words in PLAIN:
        return PLAIN[words]
    if words.startswith(INSUFFICIENT):
        return _cut(f"without free {words.removeprefix(INSUFFICIENT)}")
    if words.startswith(TAINT) and words.endswith("}"):
        key, _, value = words[len(TAINT) : -1].partition(": ")
        return _cut(f"tainted {key}={value}".removesuffix("="))
    return _cut(words.removeprefix(NODES))


def _cut(words: str) -> str:
    return words if len(words) <= LONGEST_REASON else f"{words[: LONGEST_REASON - 1]}…"


def _is_count(text: str) -> bool:
    return text.isascii() and text.isdigit() and len(text) <= LONGEST_COUNT
