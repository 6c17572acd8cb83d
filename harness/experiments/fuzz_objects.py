"""Random jobs of every kind through a real API server and a real operator, among neighbours that must not notice.

Each is refused with a message that names a field, or gets a condition in time. Jobs of every kind that are well are
made before, during and after; each must run in bounded time, and those from before must come to their end at last.

    python -m harness.experiments.fuzz_objects --objects 10000

The last line is JSON. An object that was not heard of is printed whole; its number and the seed draw it again.
"""

import argparse
import json
import os
import random
import re
import sys
import time
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import partial

from harness.drivers.api_connection import unless_gone
from harness.drivers.environment import Stage, stage
from harness.drivers.operator_process import Operator
from harness.experiments.fuzz_jobs import random_job
from harness.scenarios import every_kind
from harness.scenarios.driver import Job, ScenarioDriver
from kubedl.training import labels
from kubedl.training.kind import Kind
from kubedl.training.kinds import all_kinds
from testbed import cluster_lock, namespaces
from testbed.api import ApiError, Object
from testbed.cluster import Cluster
from testbed.errors import DeadlineError
from testbed.instance import chosen_index
from testbed.waiting import until

SEED = 20260101
BATCH = 200  # jobs that are there at a time
DEADLINE = 60.0  # seconds: for a condition, and for a neighbour to go on
GONE = 120.0
STRICT = "fieldValidation=Strict"  # as kubectl asks for it
REFUSED = frozenset({400, 422})
FIELD = re.compile(r"\b(spec|metadata)\b")
RULE_ERROR = re.compile(r"evaluating rule|did not match a supported operator|cost exceeds limit")
LOGGED_ERRORS = ("reconcile failed", "reflector failed", "cannot decode object", "Traceback (most recent call last)")

Figures = dict[str, int | float]
Neighbour = tuple[Job, Kind]


class Storm:
    """One namespace, one operator, and what became of everything so far."""

    def __init__(self, stage: Stage, namespace: str, operator: Operator, seed: int = SEED) -> None:
        self._server, self._watcher = stage.watcher.connection, stage.watcher
        self._world = ScenarioDriver(stage.watcher, namespace, stage.node, deadline=DEADLINE)
        self._namespace, self._operator, self._seed = namespace, operator, seed
        self._kinds = all_kinds()
        self._accepted: dict[str, tuple[Kind, Object]] = {}  # by uid, of the batch that is there
        self._neighbour_seconds: list[float] = []
        self._counts: Counter[str] = Counter()
        self._conditions: Counter[str] = Counter()

    def run(self, objects: int, batch: int = BATCH) -> Figures:
        """Send so many."""
        residents = self._neighbours("before")
        stay = {job.view.name for job, _ in residents}
        for first in range(0, objects, batch):
            numbers = range(first, min(first + batch, objects))
            with ThreadPoolExecutor(1) as beside:
                sending = beside.submit(self._server.each, numbers, self._send)
                self._neighbours(f"during-{first}")
                sending.result()
            self._hear()
            self._clear(stay)
            print(f"{numbers.stop} of {objects}: {dict(self._counts)}", file=sys.stderr, flush=True)
        self._neighbours("after")
        self._go_on(residents, every_kind.finish)
        return self._figures(objects)

    async def _send(self, number: int) -> None:
        kind = self._kinds[number % len(self._kinds)]
        body = random_job(kind, f"odd-{number}", random.Random(f"{self._seed} {number}"))  # noqa: S311 - repeatable
        try:
            made = await self._server.call("POST", f"{kind.resource.path(self._namespace)}?{STRICT}", body)
        except ApiError as error:
            if error.status not in REFUSED:
                raise
            self._note_refusal(str(error), body)
        else:
            self._accepted[made["metadata"]["uid"]] = kind, body

    def _note_refusal(self, message: str, body: Object) -> None:
        self._counts["refused"] += 1
        if not FIELD.search(message):
            self._counts["refused without a field"] += 1
            print(f"refused without a field: {message}\n{json.dumps(body)}", file=sys.stderr)
        if RULE_ERROR.search(message):
            self._counts["rules that broke"] += 1
            print(f"a rule broke: {message}\n{json.dumps(body)}", file=sys.stderr)

    def _hear(self) -> None:
        """Wait for a condition of every job of the batch, and count."""

        def everybody() -> bool:
            self._tend()
            return all(map(self._conditions_of, self._accepted))

        try:
            until("a condition of every job", everybody, deadline=DEADLINE)
        except DeadlineError as error:
            print(error, file=sys.stderr)
        for uid, (kind, body) in self._accepted.items():
            found = self._conditions_of(uid)
            self._counts["conditioned" if found else "silent"] += 1
            self._counts[f"accepted {kind.plural}"] += 1
            self._conditions.update(found)
            if not found:
                print(f"silent: {json.dumps(body)}", file=sys.stderr)
        self._accepted.clear()

    def _conditions_of(self, uid: str) -> list[str]:
        """The conditions that hold; of a job that a lifetime has ended already, those that held last."""
        kind, _ = self._accepted[uid]
        job = self._watcher.ever(kind.plural, self._namespace).get(uid, {})
        return [one["type"] for one in job.get("status", {}).get("conditions", ()) if one["status"] == "True"]

    def _neighbours(self, name: str) -> list[Neighbour]:
        """One of each kind, started all at once."""
        made = [(every_kind.create(self._world, kind, f"{kind.plural}-{name}"), kind) for kind in self._kinds]
        self._go_on(made, lambda job, kind: every_kind.start(job, kind, attempt=0))
        return made

    def _go_on(self, neighbours: Sequence[Neighbour], live: Callable[[Job, Kind], None]) -> None:
        with ThreadPoolExecutor(len(neighbours)) as pool:
            self._neighbour_seconds += pool.map(partial(_timed, live), neighbours)

    def _clear(self, stay: set[str]) -> None:
        """Remove all but the jobs that stay; the garbage collector alone would take twenty objects a second."""

        def gone() -> bool:
            left = list(self._left(stay))
            self._server.each(left, self._remove)
            return not left

        until("the batch to be gone", gone, deadline=GONE)
        self._watcher.forget_gone(self._namespace)

    def _left(self, stay: set[str]) -> Iterator[str]:
        """Paths; jobs first, so that nobody replaces their pods."""
        for kind in self._kinds:
            for name in self._watcher.all(kind.plural, self._namespace).keys() - stay:
                yield f"{kind.resource.path(self._namespace)}/{name}"
        for resource in ("pods", "services"):
            for name, body in self._watcher.all(resource, self._namespace).items():
                if body["metadata"]["labels"][labels.JOB_NAME] not in stay:
                    yield f"/api/v1/namespaces/{self._namespace}/{resource}/{name}"

    async def _remove(self, path: str) -> None:
        with unless_gone():
            await self._server.call("DELETE", path, {"gracePeriodSeconds": 0, "propagationPolicy": "Background"})

    def _tend(self) -> None:
        """An operator that has ended is brought back, so that the rest is heard of, and counted."""
        if not self._operator.alive:
            print(f"the operator ended:\n{self._operator.tail()}", file=sys.stderr)
            self._counts["operator restarts"] += 1
            self._operator.wait_ended()
            self._operator.restart()

    def _figures(self, objects: int) -> Figures:
        self._tend()
        said = self._operator.log()
        counted = ("refused", "refused without a field", "rules that broke", "conditioned", "silent")
        for line in said.splitlines():
            if any(words in line for words in LOGGED_ERRORS):
                print(line, file=sys.stderr)
        return {
            "objects": objects,
            "kinds": len(self._kinds),
            **{name: self._counts[name] for name in (*counted, "operator restarts")},
            "fewest accepted of a kind": min(self._counts[f"accepted {kind.plural}"] for kind in self._kinds),
            "errors in the log": sum(said.count(words) for words in LOGGED_ERRORS),
            "neighbours": len(self._neighbour_seconds),
            "worst neighbour s": round(max(self._neighbour_seconds), 1),
            **{f"condition {name}": count for name, count in sorted(self._conditions.items())},
        }


def _timed(live: Callable[[Job, Kind], None], neighbour: Neighbour) -> float:
    """How long it took; one that never went on took for ever, and does not keep the others from being counted."""
    began = time.monotonic()
    try:
        live(*neighbour)
    except DeadlineError as error:
        print(f"a neighbour did not go on: {error}", file=sys.stderr)
        return float("inf")
    return time.monotonic() - began


def storm(ready: Stage, namespace: str, objects: int, batch: int = BATCH) -> Figures:
    """Run one, with an operator of its own for the namespace."""
    arguments = ("--namespace", namespace)
    with Operator(ready.cluster, arguments=arguments, directory=ready.directory) as operator:
        return Storm(ready, namespace, operator).run(objects, batch)


def main() -> int:
    """Print the figures as one JSON line."""
    parser = argparse.ArgumentParser(prog="python -m harness.experiments.fuzz_objects", description=__doc__)
    full = os.environ.get("PROOF_SIZE", "full") == "full"
    parser.add_argument("--objects", type=int, default=10_000 if full else 400)
    parser.add_argument("--batch", type=int, default=BATCH)
    chosen = parser.parse_args()
    with (
        cluster_lock.borrowed(Cluster(chosen_index())) as cluster,
        stage(cluster) as ready,
        namespaces.fresh(cluster.api, "storm") as namespace,
    ):
        print(json.dumps(storm(ready, namespace, chosen.objects, chosen.batch)))
    return 0


if __name__ == "__main__":
    sys.exit(main())
