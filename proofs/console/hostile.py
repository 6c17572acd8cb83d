"""Hostile text in every field that people can write, in Chromium: `python -m proofs.console.hostile`.

The objects are in a real API server, which refuses what its schemas do not allow; names of objects are such fields. The
logs of containers are not among them: that needs real nodes. The last line is JSON.
"""

import json
import sys
import tempfile
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from harness.drivers import console_objects
from harness.drivers.api_connection import Connection
from harness.drivers.console_browser import Seen, Visit, visit
from harness.drivers.console_objects import EVERYTHING, Team, moment
from harness.drivers.console_process import ConsoleProcess, rights_everywhere, token_of
from harness.drivers.environment import FULL
from proofs.console.hostile_strings import hostile_strings
from testbed import cluster_lock, namespaces
from testbed.api import Object
from testbed.cluster import Cluster
from testbed.instance import chosen_index
from testbed.waiting import until

EVERY = 1 if FULL else 6  # of the strings
CONDITIONS = 30  # of one object, of which the API server takes 32
QUEUE = "hostile-queue"
THREADS = 8


def main() -> int:
    """Print what ran, what was reported, and which strings nobody saw."""
    strings = hostile_strings()[::EVERY]
    with (
        cluster_lock.borrowed(Cluster(chosen_index())) as cluster,
        Connection(cluster) as connection,
        namespaces.fresh(cluster.api, "hostile") as namespace,
        rights_everywhere(cluster, namespace, "ada", *EVERYTHING),
        tempfile.TemporaryDirectory(prefix="kubedl-console-hostile-") as directory,
    ):
        console_objects.define(cluster)
        fields = Fields(Team(connection, namespace), strings)
        _shared_queue(connection, strings[0])
        try:
            fields.write()
            with ConsoleProcess(cluster, Path(directory)) as console:
                token = token_of(cluster, namespace, "ada")
                until("all jobs", lambda: _listed(console, token, fields.job_names), deadline=60)
                seen = visit(console, token, visits(namespace, len(strings)))
        finally:
            connection.delete(f"/apis/kueue.x-k8s.io/v1beta2/clusterqueues/{QUEUE}")
    print(json.dumps({"strings": len(strings), "fields": len(fields.written), **figures(seen, strings)}))
    return 0


def figures(seen: Seen, strings: list[str]) -> dict[str, int]:
    """For claims; what was found is said."""
    for name in ("ran", "reports", "foreign", "markup", "errors"):
        for text in getattr(seen, name):
            print(f"{name}: {text}", file=sys.stderr)
    texts = [_plain(page.text) for page in seen.pages]
    unseen = [one for one in strings if not any(_plain(one) in text for text in texts)]
    for one in unseen:
        print(f"not on any page: {one!r}", file=sys.stderr)
    return {
        "pages": len(seen.pages),
        "scripts that ran": len(seen.ran),
        "reports of the policy": len(seen.reports),
        "requests to other origins": len(seen.foreign),
        "elements from text": len(seen.markup),
        "errors": len(seen.errors),
        "strings on no page": len(unseen),
    }


def visits(namespace: str, count: int) -> list[Visit]:
    """Every page, to its end."""
    tabs = ("Conditions", "Events")
    return [
        Visit("/", "Needs attention"),
        Visit("/jobs", "job-", scroll=count // 5),
        Visit(f"/jobs/{namespace}/pytorchjob/job-0", "job-0", tabs=tabs),
        Visit("/models", "model-0"),
        Visit(f"/models/{namespace}/model-0", "Where it comes from, and who serves it"),
        Visit("/services", "service-0"),
        Visit(f"/services/{namespace}/service-0", "service-0"),
        Visit("/crons", "cron-0"),
        Visit(f"/crons/{namespace}/cron-0", "cron-0"),
        Visit("/queues", QUEUE),
        Visit("/nodes", "Nodes"),
    ]


class Fields:
    """Writes the strings into the fields of one team's objects."""

    def __init__(self, team: Team, strings: list[str]) -> None:
        self._team, self._strings = team, strings
        self.written: set[str] = set()
        self.job_names = {f"job-{number}" for number in range(len(strings))}

    def write(self) -> None:
        """An object of each kind for each string, and one of each with many."""
        with ThreadPoolExecutor(THREADS) as pool:
            for kind in (self._job, self._model, self._service, self._cron, self._workload):
                self._for_each(pool, kind)
            first = self._team.connection.get(f"{self._team.path('training.kubedl.io', 'pytorchjobs')}/job-0")

            def about_first(number: int, text: str) -> None:
                self._about(first, number, text)

            self._for_each(pool, about_first)

    def _for_each(self, pool: ThreadPoolExecutor, write: Callable[[int, str], None]) -> None:
        list(pool.map(write, range(len(self._strings)), self._strings))

    def _job(self, number: int, text: str) -> None:
        self.written |= {"job user", "job message", "job condition reason", "job condition message"}
        state = "Failed" if number % 2 else "Running"
        status: Object = {"state": state, "message": text, "reason": text}
        if number == 0:
            status["conditions"] = [
                {"type": f"Said{index}", "status": "True", "reason": one, "message": one}
                for index, one in enumerate(self._strings[:CONDITIONS])
            ]
        self._team.job(f"job-{number}", user=text, status=status)

    def _about(self, job: Object, number: int, text: str) -> None:
        self.written |= {"event reason", "event message", "pod reason", "pod message", "pod container message"}
        self._team.event(f"event-{number}", job, "PyTorchJob", text[:120], text)
        name = f"job-0-worker-{number}"
        self._team.pod(name, job, phase="Pending")
        if number % 2:
            self._team.pod_status(name, phase="Failed", reason=text, message=text)
        else:
            waiting = {"waiting": {"reason": "ImagePullBackOff", "message": text}}
            container = {"name": "pytorch", "image": text, "imageID": "", "ready": False, "restartCount": 0}
            self._team.pod_status(name, containerStatuses=[{**container, "state": waiting}])

    def _model(self, number: int, text: str) -> None:
        self.written |= {"model description", "version message", "version author", "version parent", "version origin"}
        self._team.model(f"model-{number}", text, f"model-0-v{number}", 1)
        status = {"message": text, "image": text, "imageBuildPhase": "ImageBuildFailed"}
        origin = {"codeRepository": text, "codeRevision": text, "trainerImages": {"trainer": text}}
        name = f"model-0-v{number}"
        self._team.version(name, "model-0", status, createdBy=text, origin={**origin, "jobName": text})

    def _service(self, number: int, text: str) -> None:
        self.written |= {"service endpoint", "predictor message", "rollout message", "service condition"}
        rollout = {"phase": "Stepping", "stable": text, "candidate": text, "step": 1, "reason": text, "message": text}
        said = {"name": "main", "modelVersion": text, "reason": text, "message": text, "rollout": rollout}
        ready = {"type": "Ready", "status": "False", "reason": text, "message": text, "lastTransitionTime": moment()}
        status = {"inferenceEndpoint": text, "predictorStatuses": [said], "conditions": [ready]}
        steps = {"steps": [{"weight": 5, "pause": 600}, {"weight": 100}]}
        self._team.service(f"service-{number}", {"main": ("model-0-v0", 100)}, status, steps)

    def _cron(self, number: int, text: str) -> None:
        self.written |= {"cron condition", "cron run"}
        ready = {"type": "Ready", "status": "False", "reason": text, "message": text, "lastTransitionTime": moment()}
        history = [{"object": {"kind": "PyTorchJob", "name": text}, "status": text}]
        self._team.cron(f"cron-{number}", {"conditions": [ready], "history": history})

    def _workload(self, number: int, text: str) -> None:
        self.written |= {"workload message", "queue problem"}
        stopped = {"type": "Active", "status": "False", "reason": "Stopped", "message": text}
        self._team.local_queue(f"queue-{number}", QUEUE, {"conditions": [{**stopped, "lastTransitionTime": moment()}]})
        self._team.workload(f"workload-{number}", f"queue-{number}", text)


def _shared_queue(connection: Connection, text: str) -> None:
    """The queue that all others lead to."""
    stopped = {"type": "Active", "status": "False", "reason": "Stopped", "message": text}
    status = {"conditions": [{**stopped, "lastTransitionTime": moment()}]}
    console_objects.cluster_queue(connection, QUEUE, {"cpu": "10"}, status)


def _listed(console: ConsoleProcess, token: str, names: set[str]) -> bool:
    return names <= {row["name"] for row in console.get("/api/v1/jobs", token).json()["rows"]}


def _plain(text: str) -> str:
    """Without spaces, line breaks and signs that a browser or the console leaves out."""
    return "".join(letter for letter in text if letter.isprintable() and not letter.isspace())


if __name__ == "__main__":
    sys.exit(main())
