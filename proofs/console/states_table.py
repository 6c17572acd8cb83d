"""A table of pages by states, and what was wrong in which cell."""

import sys
from collections.abc import Sequence
from dataclasses import dataclass, field

from proofs.console.states_pages import Page
from proofs.console.windows import Shown

LINKS = 8  # of the navigation


@dataclass
class Table:
    """Pages by states, and what was wrong in which of them."""

    pages: Sequence[Page]
    cells: set[tuple[str, str]] = field(default_factory=set)
    wrong: list[str] = field(default_factory=list)
    dead: list[str] = field(default_factory=list)
    zeros: list[str] = field(default_factory=list)
    reloads: list[str] = field(default_factory=list)
    true_zeros: dict[str, set[str]] = field(default_factory=dict)  # of each page in health

    def judge(
        self,
        state: str,
        page: Page,
        shown: Shown,
        *,
        never: Sequence[str] = (),
        stale: bool = False,
        skeleton: bool = False,
    ) -> None:
        """Note a cell. What must be 0 is 0 in health too, since the objects are the same."""
        cell = f"{state}: {page.name}"
        self.cells.add((state, page.name))
        said = [f"no {word!r}" for word in shown.missing]
        said += [f"{word!r} on it" for word in never if word in shown.main]
        said += ["colours"] if stale and not shown.stale else []
        said += ["no skeleton"] if skeleton and not shown.skeleton else []
        if said:
            self._note(self.wrong, f"{cell} has {', '.join(said)}: {shown.text[-900:]!r}")
        if shown.links != LINKS or shown.heading != page.title or shown.errors:
            self._note(self.dead, f"{cell} has {shown.links} links, heading {shown.heading!r}, errors {shown.errors}")
        if state == "well":
            self.true_zeros[page.name] = shown.zeros
        elif state != "empty" and (unknown := shown.zeros - self.true_zeros.get(page.name, set())):
            self._note(self.zeros, f"{cell} has {unknown}")

    def insist(self, state: str, what: str, shown: Shown, *, holds: bool) -> None:
        """Note what is not about one page."""
        self.cells.add((state, what))
        if not holds:
            self._note(self.wrong, f"{state}: not so: {what}: {shown}")

    def stayed(self, state: str, shown: Shown) -> None:
        """The page must be the same document as when the window was opened."""
        if shown.loads > 1:
            self._note(self.reloads, f"{state}: the page was loaded {shown.loads} times")

    def _note(self, where: list[str], text: str) -> None:
        where.append(text)
        print(text, file=sys.stderr, flush=True)

    def figures(self) -> dict[str, object]:
        """For claims."""
        visited = {state: sum(one == state for one, _ in self.cells) for state, _ in sorted(self.cells)}
        counts = {"wrong words": len(self.wrong), "dead pages": len(self.dead), "unknown drawn as 0": len(self.zeros)}
        return {"visited": len(self.cells), **counts, "loaded again": len(self.reloads), "states": visited}
