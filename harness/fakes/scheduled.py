"""A Cron whose times are played by a test: each is a minute of the first day of the year, and has just been missed.

The operator makes up for the latest missed time at once. So a schedule that names the next minute makes the next run
due, without a clock.
"""

import datetime

from harness.scenarios.driver import KINDS, Job, ScenarioDriver, job_body, view
from kubedl.api.cron import CRONS
from kubedl.cron.runs import run_name
from testbed.api import Object

LONG_AGO = "2000-01-01T00:00:00Z"


class PlayedCron:
    """One Cron and its runs, each of which has one replica of the first role of its kind."""

    def __init__(self, world: ScenarioDriver, kind: str = "PyTorchJob", name: str = "timed") -> None:
        self._world, self._kind, self._name = world, kind, name
        self._server = world.watcher.connection
        self._year = datetime.datetime.now(datetime.UTC).year
        self.collection = f"/apis/{CRONS.api_version}/namespaces/{world.namespace}/crons"

    def body(self, **spec: object) -> Object:
        """As its user writes it."""
        workload = {"spec": {**self._job(self._name)["spec"], "cleanPodPolicy": "None"}}
        template = {"apiVersion": "training.kubedl.io/v1alpha1", "kind": self._kind, "workload": workload}
        return {
            "apiVersion": CRONS.api_version,
            "kind": CRONS.kind,
            "metadata": {"name": self._name},
            "spec": {"schedule": schedule(0), "template": template, **spec},
        }

    def create(self, **spec: object) -> None:
        """A user makes it; the first time is due."""
        self._server.create(self.collection, self.body(**spec))
        self.miss()

    def miss(self) -> None:
        """As if the last run had been long ago."""
        self._world.until("the Cron", self.seen)
        self._server.patch(f"{self.collection}/{self._name}/status", {"status": {"lastScheduleTime": LONG_AGO}})

    def tick(self, minute: int) -> None:
        """The run of this minute is due."""
        self.change(schedule=schedule(minute))

    def change(self, **spec: object) -> None:
        """The user edits the spec."""
        self._server.patch(f"{self.collection}/{self._name}", {"spec": spec})

    def run(self, minute: int) -> Job:
        """The run of a minute, whether it is there or not."""
        when = datetime.datetime(self._year, 1, 1, 0, minute, tzinfo=datetime.UTC)
        return Job(self._world, view(self._job(run_name(self._name, when))))

    def seen(self) -> Object | None:
        """The Cron as it is now."""
        return self._world.watcher.get(CRONS.plural, self._world.namespace, self._name)

    def status(self) -> Object:
        """What the operator says about it."""
        status: Object = (self.seen() or {}).get("status") or {}
        return status

    def reason(self) -> str:
        """Why runs are started or not."""
        return next((str(one["reason"]) for one in self.status().get("conditions") or [] if one["type"] == "Ready"), "")

    def active(self) -> list[str]:
        """The runs that are active by its status, as soon as they are known."""
        return [entry["name"] for entry in self.status().get("active") or [] if entry.get("uid")]

    def ended(self) -> list[str]:
        """How the runs ended that have rows, oldest first."""
        return [row["status"] for row in self.status().get("history") or []]

    def _job(self, name: str) -> Object:
        kind = KINDS[self._kind]
        roles = [role.name for role in kind.roles if role.required] or [kind.roles[0].name]
        if self._kind == "MPIJob":
            roles = ["Launcher"]
        return job_body(self._kind, name, dict.fromkeys(roles, 1), self._world.node)


def schedule(minute: int) -> str:
    """That minute of the first day of every year."""
    return f"{minute} 0 1 1 *"
