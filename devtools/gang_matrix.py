"""The conformance matrix of gang schedulers, from what `proofs.scheduling.gang_conformance` recorded."""

import json
from pathlib import Path

from devtools.tables import table
from kubedl.training.gang.schedulers import all_gang_schedulers
from testbed import tools

PAGE = "gang-scheduling"
RESULTS = Path(__file__).parents[1] / "proofs" / "scheduling" / "results.json"
REAL = ("native", "volcano", "coscheduling")  # schedulers that the test bed runs
MODULES = {"native": ("kubernetes", "k8s.io/kubernetes"), "volcano": ("volcano", "volcano.sh/volcano")}
MODULES |= {"coscheduling": ("coscheduling", "sigs.k8s.io/scheduler-plugins")}
OBJECTS_ONLY = "objects only"
SCENARIOS = ("two jobs, room for one", "roles in order", "code from git", "restart of all pods")


def describe_gangs() -> str:
    """Every gang scheduler that KubeDL knows, and what was run with it."""
    recorded = json.loads(RESULTS.read_text()) if RESULTS.exists() else {}
    rows = [_row(name, recorded.get(name, {})) for name in sorted(all_gang_schedulers(), key=_order)]
    return (
        "# Gang schedulers: what was run\n\n"
        "[Run all pods of a job together](../how-to/start-pods-together.md) describes how to use them. Figures are "
        'rounds with a real scheduler, all of which held; "objects only": what KubeDL creates is checked against the '
        "scheduler's own definitions and documentation, and was not run with it.\n\n"
        f"{table(('scheduler', 'version', *SCENARIOS), rows)}\n"
        "A round: two jobs of four pods are created in any order, on nodes with room for four pods. One is placed "
        "whole. The other has no pod on a node until the first is deleted; then it is placed whole.\n\n"
        "- roles in order: the workers of both jobs wait for their master to run (`dependsOn`). Both masters are "
        "placed, and the workers of neither fit: one job gives its pods back.\n"
        "- code from git: a pod of its own finds the commit of each job before its gang is created.\n"
        "- restart of all pods: a pod of the placed job is killed, and both compete again.\n\n"
        "`make prove-scheduling` runs all of it. KAI is not on the list: it groups pods by the kind of their owner, "
        "does not know these kinds, and replaces the group that a pod names.\n"
    )


def _row(name: str, cells: dict[str, dict[str, object]]) -> tuple[str, ...]:
    if name not in REAL:
        return (f"`{name}`", "", *(OBJECTS_ONLY for _ in SCENARIOS))
    found = (cells.get(scenario) for scenario in SCENARIOS)
    return (f"`{name}`", _version(name), *(_cell(cell) for cell in found))


def _cell(cell: dict[str, object] | None) -> str:
    if cell is None:
        return OBJECTS_ONLY
    return f"{cell['rounds']} rounds, {cell['date']}" if cell["rounds"] else f"**failed**, {cell['date']}"


def _version(name: str) -> str:
    tool, module = MODULES[name]
    lines = (tools.SOURCES / tool / "go.mod").read_text().splitlines()
    found = (line.replace("require", "").split() for line in lines)
    return next(words[1] for words in found if len(words) > 1 and words[0] == module and words[1].startswith("v"))


def _order(name: str) -> tuple[bool, int, str]:
    return name not in REAL, REAL.index(name) if name in REAL else 0, name
