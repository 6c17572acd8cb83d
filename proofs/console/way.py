"""The whole way of a model in the console, in Chromium on two real nodes: `python -m proofs.console.way` (ten minutes).

The chart is installed with recorder, database, storage and console. A person submits a job by the form and reads why it
waits; it runs, its log is followed, its model is packed, served, shared by weights, rolled out and promoted; the job
is deleted and found again. After each step the API server, the gateway or the database says whether it is so. The last
line is JSON.
"""

import json
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from harness.drivers import audit_log
from proofs.cli.offered_commands import fresh_process
from proofs.console.way_world import CONSOLE, JOB, MODEL, SERVICE, Way, prepared
from testbed import cluster_lock
from testbed.cluster import Cluster
from testbed.instance import chosen_index
from testbed.waiting import until
from tests.browser.scripts import browser, steps, tell
from tests.e2e.serving.inferences import answering

NODES = 2
REVIEWS = {"tokenreviews", "subjectaccessreviews"}
ASKED = {"selfsubjectaccessreviews", "selfsubjectrulesreviews"}  # what people ask about themselves changes nothing
COMMAND = "python3 -u /kubedl-model/train.py"
STEPS = (
    *("submitted", "waits", "followed", "version", "served", "weights", "again", "version", "stepping", "promoted"),
    *("deleted", "found"),
)
REQUESTS = 200
SERVED = {"apiVersion": "serving.kubedl.io/v1alpha1", "kind": "Inference"}

Said = dict[str, Any]


@dataclass
class Judge:
    """Says of each step whether it is true, and does what the world does meanwhile."""

    way: Way
    home: Path
    image: str
    wrong: list[str] = field(default_factory=list)

    def hear(self, said: Said) -> Said:
        """Look whether what the page says is so; returns what the browser is told."""
        looks = {
            "waits": self._waits,
            "followed": self._followed,
            "version": self._version,
            "weights": self._weights,
            "again": self._again,
            "promoted": self._promoted,
            "deleted": self._deleted,
            "found": self._found,
        }
        look = looks.get(said["step"])
        return look(said) if look is not None else {}

    def expect(self, what: str, *, so: bool, seen: object) -> None:
        """Note what is not as it should be."""
        if not so:
            self.wrong.append(f"{what}: {seen}")
            print(f"NO  {what}: {seen}", flush=True)

    def _waits(self, said: Said) -> Said:
        true = why(self.way, self.home, JOB)
        self.expect("the sentence of kubedl why", so=said["why"] == true, seen=(said["why"], true))
        self.way.bring_gpu()
        return {}

    def _followed(self, said: Said) -> Said:
        first, last = (int(said[name].split()[1]) for name in ("before", "after"))
        self.expect("later lines", so=last > first, seen=said)
        self.way.end_training()
        return {}

    def _version(self, said: Said) -> Said:
        path = f"/apis/model.kubedl.io/v1alpha1/namespaces/{self.way.namespace}/modelversions/{said['name']}"
        body = self.way.cluster.api.get(path)
        true = (body["status"]["image"], body["spec"]["origin"]["jobName"])
        self.expect("image and job of the version", so=(said["digest"], said["job"]) == true, seen=(said, true))
        predictors = [answering(name, self.image, 100, modelVersion=said["name"]) for name in "abc"]
        spec = {"framework": "Custom", "predictors": predictors, "rollout": {"steps": [{"weight": 50}]}}
        metadata = {"name": SERVICE, "namespace": self.way.namespace}
        return {"name": said["name"], "manifest": json.dumps({**SERVED, "metadata": metadata, "spec": spec})}

    def _weights(self, said: Said) -> Said:
        wanted = {name: said[name] for name in "abc"}
        route = {name.removeprefix(f"{SERVICE}-"): weight for name, weight in self.way.inference.route().items()}
        self.expect("the gateway's weights", so=route == wanted, seen=route)
        return {}

    def _again(self, _: Said) -> Said:
        self.way.end_training()
        return {}

    def _promoted(self, _: Said) -> Said:
        inference = self.way.inference
        until("the canary to be gone", lambda: len(inference.route()) == len("abc"), deadline=120)
        told = [inference.ask()[1].get("by", "nobody") for _ in range(REQUESTS)]
        share = 100 * sum("-r2-" in one for one in told) / REQUESTS
        self.expect("the share of the new version", so=abs(share - 30) <= 2, seen=share)
        return {}

    def _deleted(self, said: Said) -> Said:
        until(
            "the history to have the end of the job", lambda: self.way.recorded(said["job"]), deadline=120, interval=1
        )
        return {}

    def _found(self, said: Said) -> Said:
        log = said["log"]
        self.expect("the first line of the log", so=log[:1] == ["step 1 loss 1.0000"], seen=log[:3])
        self.expect("the last line of the log", so="saved after" in log[-1], seen=log[-3:])
        self.expect("events of its pods", so="Scheduled" in said["events"], seen=said["events"])
        self.expect("a receipt", so="no price" in said["receipt"], seen=said["receipt"])
        self.expect("who serves, in a sentence", so=SERVICE in said["answer"], seen=said["answer"])
        return {}


def why(way: Way, home: Path, job: str) -> str:
    """What `kubedl why` says to the same person."""
    command = [sys.executable, "-m", "kubedl.entrypoints.command", "why", f"pytorch/{job}", "-n", way.namespace]
    command += ["--kubeconfig", str(way.cluster.kubeconfig), "--token", way.token, "-o", "json"]
    done = subprocess.run(command, env=fresh_process(home), capture_output=True, text=True, check=True)
    return str(json.loads(done.stdout)["first"])


def go(way: Way, judge: Judge) -> list[tuple[str, float]]:
    """Let the browser go, and judge each step; returns the steps that were reached, with their seconds."""
    given = {
        "NAMESPACE": way.namespace,
        "IMAGE": judge.image,
        "COMMAND": COMMAND,
        "MODEL": MODEL,
        "REPOSITORY": way.repository,
        "CLAIM": "checkpoints",
        "SERVICE": SERVICE,
        "JOB": JOB,
    }
    reached: list[tuple[str, float]] = []
    began = time.monotonic()
    with browser("way", way, way.token, **given) as process:
        for line in steps(process):
            said = json.loads(line)
            reached.append((said["step"], round(time.monotonic() - began, 1)))
            print(f"{reached[-1][1]:6.1f} s  {said}", flush=True)
            tell(process, json.dumps(judge.hear(said)))
    return reached


def written(way: Way, since: audit_log.Moment) -> dict[str, object]:
    """Whose writes the API server recorded: those of the way, and others of the console's own account."""
    own = [
        (one.verb, one.resource, one.name)
        for one in audit_log.writes(way.cluster, way.user, since)
        if one.resource not in ASKED
    ]
    true = [
        ("create", "pytorchjobs", JOB),
        ("create", "inferences", SERVICE),
        ("patch", "inferences", SERVICE),  # weights
        ("create", "pytorchjobs", f"{JOB}-r2"),
        ("patch", "inferences", SERVICE),  # another version
        ("patch", "inferences", SERVICE),  # its promotion
        ("delete", "pytorchjobs", f"{JOB}-r2"),
    ]
    if own != true:
        print(f"NO  writes of the person: {own}", flush=True)
    others = {one.resource for one in audit_log.writes(way.cluster, CONSOLE, since)} - REVIEWS
    return {"writes under the person's name": len(own) if own == true else 0, "writes of the console": len(others)}


def main() -> int:
    """Print the figures."""
    with (
        cluster_lock.borrowed(Cluster(chosen_index()), nodes=NODES) as cluster,
        cluster_lock.turn(cluster, alone=True),
        tempfile.TemporaryDirectory(prefix="kubedl-console-way-") as directory,
        prepared(cluster, Path(directory)) as way,
    ):
        since, judge = audit_log.now(), Judge(way, Path(directory), cluster.image("base"))
        reached = go(way, judge)
        figures = {
            "steps": len(reached) if tuple(name for name, _ in reached) == STEPS else 0,
            "seconds": reached[-1][1],
            "not as it should be": len(judge.wrong),
            **written(way, since),
        }
    print(json.dumps(figures))
    return 0


if __name__ == "__main__":
    sys.exit(main())
