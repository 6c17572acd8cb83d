"""How far a program is, from a line that it prints: `progress DONE/TOTAL [key=value…]`. Pure."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from kubedl.cli.durations import age

WORD = "progress"
LEADERS = ("master", "chief", "launcher")
LABEL = "training.kubedl.io/replica"
WIDTH, STEP = 20, 10  # columns of a bar; percent between two lines of a log
LONGEST, MOST_VALUES, MOST_DIGITS = 300, 3, 15


@dataclass(frozen=True)
class Progress:
    """What the last such line says."""

    done: int
    total: int
    values: tuple[tuple[str, str], ...] = ()

    @property
    def percent(self) -> int:
        """Return the part that is done."""
        return 100 * self.done // self.total

    def text(self, seconds: float, *, bar: bool) -> str:
        """Return it in words; `seconds` is how long it has taken so far."""
        parts = [f"{WORD} {self.done}/{self.total}"]
        if bar:
            full = WIDTH * self.done // self.total
            parts[0] += f" {'━' * full}{'─' * (WIDTH - full)}"
        parts.append(f"{self.percent} %")
        parts += [f"{name} {value}" for name, value in self.values]
        if 0 < self.done < self.total and seconds > 0:
            parts.append(f"{age(seconds * (self.total - self.done) / self.done)} left")
        return "  ".join(parts)


def parse(lines: Iterable[str]) -> Progress | None:
    """Return what the last line of this form says; None if there is none."""
    found = None
    for line in lines:
        words = line[:LONGEST].split()
        if len(words) < 2 or words[0] != WORD:
            continue
        done, slash, total = words[1].partition("/")
        if slash and _is_number(done) and _is_number(total) and 0 <= int(done) <= int(total) > 0:
            pairs = [word.partition("=") for word in words[2:]]
            values = tuple((name, value) for name, sign, value in pairs if name and sign and value)
            found = Progress(int(done), int(total), values[:MOST_VALUES])
    return found


def _is_number(text: str) -> bool:
    return text.isascii() and text.isdecimal() and len(text) <= MOST_DIGITS


def rank_zero(pods: Sequence[Mapping[str, Any]]) -> str:
    """Return the replica that prints progress, such as master-0; empty if it has no pod that has started."""
    names = []
    for pod in pods:
        labels = pod["metadata"].get("labels") or {}
        role, index = str(labels.get(f"{LABEL}-type", "")), labels.get(f"{LABEL}-index")
        if index == "0" and (pod.get("status") or {}).get("phase") in ("Running", "Succeeded"):
            names.append((role not in LEADERS, f"{role}-0"))
    return min(names)[1] if names else ""
