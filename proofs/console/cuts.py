"""Streams that are cut at random: `python -m proofs.console.cuts`; each viewer must end with what a fresh list has.

Viewers run the page's own code (console/browser/stream-viewers.ts). While jobs are created, changed and deleted, their
connections are cut by themselves, by a relay in the middle of an answer, by the end of the console's own watch, and by
the death of the console. The last line is JSON.
"""

import json
import os
import random
import subprocess
import sys
import tempfile
import threading
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from harness.drivers import console_objects
from harness.drivers.api_connection import Connection
from harness.drivers.console_objects import EVERYTHING, TRAINING, Team
from harness.drivers.console_process import USER, ConsoleProcess, give_rights, token_of
from harness.drivers.environment import FULL
from harness.drivers.operator_process import kubeconfig_through
from harness.drivers.proxied_operator import proxy_as
from proofs.console.relay import Relay
from proofs.seed import seed
from testbed import cluster_lock, namespaces
from testbed.cluster import Cluster
from testbed.errors import DeadlineError
from testbed.faultproxy import FaultProxy, MatchEvents, SendGone
from testbed.instance import chosen_index
from testbed.waiting import until

ROOT = Path(__file__).parents[2]
CUTS, VIEWERS, JOBS = (1000, 50, 300) if FULL else (20, 6, 30)
# A console that is killed takes seconds to come back, so that is the rarest.
KINDS = ("relay", "browser", "relay", "browser", "relay", "watch", "browser", "relay", "browser", "console")
PACE = 0.05  # seconds between two changes
LIMIT = 60.0  # seconds until everybody must have what the list has


@dataclass
class Page:
    """The process with the viewers."""

    process: "subprocess.Popen[str]"

    def say(self, line: str) -> None:
        """Give it a command."""
        assert self.process.stdin is not None  # noqa: S101 - a pipe
        self.process.stdin.write(f"{line}\n")
        self.process.stdin.flush()

    def state(self) -> list[dict[str, Any]]:
        """What each viewer shows."""
        self.say("state")
        assert self.process.stdout is not None  # noqa: S101 - a pipe
        found: list[dict[str, Any]] = json.loads(self.process.stdout.readline())
        return found


@dataclass
class Traffic:
    """Somebody who creates, changes and deletes jobs all the time, in a thread."""

    teams: list[Team]
    dice: random.Random
    number: int = 0
    failed: list[BaseException] = field(default_factory=list)
    _names: list[tuple[Team, str]] = field(default_factory=list)
    _stopped: threading.Event = field(default_factory=threading.Event)

    @contextmanager
    def flowing(self) -> Iterator[None]:
        """While the block runs."""
        thread = threading.Thread(target=self._run, daemon=True)
        thread.start()
        try:
            yield
        finally:
            self._stopped.set()
            thread.join()
            if self.failed:
                raise self.failed[0]

    def _run(self) -> None:
        try:
            while not self._stopped.wait(PACE):
                self.step()
        except Exception as error:  # noqa: BLE001 - raised where the block ends
            self.failed.append(error)

    def step(self) -> None:
        """One change."""
        self.number += 1
        if len(self._names) < JOBS or self.dice.random() < 0.1:
            team = self.dice.choice(self.teams)
            team.job(f"job-{self.number}", status={"state": "Created"})
            self._names.append((team, f"job-{self.number}"))
            return
        place = self.dice.randrange(len(self._names))
        team, name = self._names[place]
        path = f"{team.path(TRAINING, 'pytorchjobs')}/{name}"
        if self.dice.random() < 0.1:
            del self._names[place]
            team.connection.delete(path)
        else:
            team.connection.patch(f"{path}/status", {"status": {"message": f"change {self.number}"}})


def main() -> int:
    """Cut, then compare."""
    dice = random.Random(seed())  # noqa: S311 - no secret
    with (
        cluster_lock.borrowed(Cluster(chosen_index())) as cluster,
        Connection(cluster) as connection,
        namespaces.fresh(cluster.api, "cuts") as first,
        namespaces.fresh(cluster.api, "cuts") as second,
        tempfile.TemporaryDirectory(prefix="kubedl-console-cuts-") as directory,
    ):
        console_objects.define(cluster)
        give_rights(cluster)
        homes = [(first, second)[number % 2] for number in range(VIEWERS)]
        tokens = [token_of(cluster, home, f"viewer-{number}", *EVERYTHING) for number, home in enumerate(homes)]
        with proxy_as(cluster, USER) as proxy:
            kubeconfig = kubeconfig_through(cluster, proxy.url, Path(directory) / "kubeconfig")
            with (
                ConsoleProcess(cluster, Path(directory), kubeconfig=kubeconfig) as console,
                Relay(int(urlsplit(console.url).port or 0), dice) as relay,
                viewers(relay, tokens, Path(directory)) as page,
            ):
                traffic = Traffic([Team(connection, first), Team(connection, second)], dice)
                with traffic.flowing():
                    done = cut(dice, console, relay, proxy, page)
                figures = compare(console, page, tokens, connection, homes)
    figures |= {"cuts": sum(done.values()), "changes": traffic.number, "viewers": VIEWERS}
    print(json.dumps(figures | {f"cuts by {kind}": count for kind, count in done.items()}))
    return 0


def cut(dice: random.Random, console: ConsoleProcess, relay: Relay, proxy: FaultProxy, page: Page) -> Counter[str]:
    """Cut in every way; returns how often each."""
    done: Counter[str] = Counter()
    for number in range(CUTS):
        kind = KINDS[number % len(KINDS)]
        if kind == "relay":
            relay.cut()
        elif kind == "browser":
            page.say(f"cut {dice.randrange(VIEWERS)}")
        elif kind == "watch":
            proxy.inject(MatchEvents(resource="pytorchjobs"), SendGone())
        else:
            console.kill()
            console.__enter__()
        done[kind] += 1
        time.sleep(dice.uniform(0, 1.5))
    return done


def compare(
    console: ConsoleProcess, page: Page, tokens: list[str], connection: Connection, homes: list[str]
) -> dict[str, float]:
    """Wait until every viewer shows what the list has, which must be what the API server has."""
    began = time.monotonic()

    def different() -> int:
        fresh = [_rows(console.get("/api/v1/jobs", token).json()["rows"]) for token in tokens]
        shown = [_rows(one["rows"]) for one in page.state()]
        stored = [_stored(connection, home) for home in homes]
        lists = [{uid: (row["name"], row["message"]) for uid, row in one.items()} for one in fresh]
        return sum(a != b for a, b in zip(fresh, shown, strict=True)) + sum(
            a != b for a, b in zip(lists, stored, strict=True)
        )

    with suppress(DeadlineError):  # the figure says so
        until("viewers to be equal", lambda: different() == 0, deadline=LIMIT, interval=1)
    rows = sum(len(one["rows"]) for one in page.state())
    return {"viewers that differ": different(), "seconds until equal": round(time.monotonic() - began, 1), "rows": rows}


def _rows(rows: list[dict[str, Any]]) -> dict[str, dict[str, Any]]:
    return {row["uid"]: row for row in rows}


def _stored(connection: Connection, namespace: str) -> dict[str, tuple[str, str]]:
    found = connection.get(f"/apis/{TRAINING}/v1alpha1/namespaces/{namespace}/pytorchjobs")["items"]
    return {
        one["metadata"]["uid"]: (one["metadata"]["name"], one.get("status", {}).get("message", "")) for one in found
    }


@contextmanager
def viewers(relay: Relay, tokens: list[str], directory: Path) -> Iterator[Page]:
    """The viewers' process, in the page's own code."""
    program = directory / "viewers.mjs"
    bundle = ["npx", "rolldown", "browser/stream-viewers.ts", "--platform=node", "--format=esm", f"--file={program}"]
    subprocess.run(bundle, cwd=ROOT / "console", stdout=subprocess.DEVNULL, check=True)
    process = subprocess.Popen(
        ["node", str(program)],
        env={**os.environ, "CONSOLE": f"http://127.0.0.1:{relay.port}", "TOKENS": json.dumps(tokens)},
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )
    try:
        yield Page(process)
    finally:
        process.kill()
        process.communicate()


if __name__ == "__main__":
    sys.exit(main())
