"""A long queue in virtual time: how many statuses are written when jobs are admitted one after the other."""

import asyncio
from collections import Counter
from dataclasses import replace
from datetime import datetime, timedelta
from typing import TYPE_CHECKING, cast

from kubedl.api.conditions import Condition
from kubedl.kube.types.meta import ObjectKey, ObjectMeta
from kubedl.runtime.store import Store
from kubedl.training.kueue.place_controller import PlaceController
from kubedl.training.kueue.places import HOLDING, PENDING, Places, holding_in, pending_in
from kubedl.training.kueue.queue import Queue
from kubedl.training.kueue.types import Admission, PodSetAssignment, Workload, WorkloadSpec, WorkloadStatus
from kubedl.training.planner import plan
from tests.training_builders import NOW, JobBuilder, observed, torch_job
from tests.unit.training.kueue.test_places import SHORT, TEAM, PlayedKueue

if TYPE_CHECKING:
    from kubedl.kube.client import Client

JOBS, ADMISSIONS, EVERY = 300, 30, 10  # seconds: five minutes in all


class Line:
    """Jobs in a queue, each looked at when the operator would."""

    def __init__(self, runner: asyncio.Runner) -> None:
        self.runner = runner
        self.store: Store[Workload] = Store({PENDING: pending_in, HOLDING: holding_in})
        self.kueue, self.places, self.now = PlayedKueue(self.store), Places(), NOW
        self.jobs: dict[str, JobBuilder] = {}
        self.written: dict[str, datetime] = {}
        self.writes: Counter[str] = Counter()
        self.due: dict[str, datetime] = {}
        client = cast("Client", self.kueue)
        self.controller = PlaceController(client, self.store, self.kueue.queues(), self.places, self._seconds)
        self.places.store.subscribe(lambda old, new: self.due.update({(new or old).metadata.name: self.now}))  # type: ignore[union-attr]
        self.store.subscribe(self._changed)
        reserved = Condition(type="QuotaReserved", status="False", reason="Pending", message=SHORT)
        for number in range(JOBS):
            name = f"job{number:04}"
            self.jobs[name] = torch_job(name).master().with_spec(schedulingPolicy={"queue": "team"})
            meta = ObjectMeta(name=name, namespace="a", uid=name, resource_version="1", creation_timestamp=NOW)
            status = WorkloadStatus(conditions=(reserved,))
            self.store.put(Workload(metadata=meta, spec=WorkloadSpec(queue_name="team"), status=status))

    def _changed(self, old: Workload | None, new: Workload | None) -> None:
        for one in (old, new):
            if one is not None:
                list(self.controller.queue_of(one))

    def _seconds(self) -> float:
        return self.now.timestamp()

    def admit(self, name: str) -> None:
        """It gets the quota, and whoever had it is gone."""
        for done in self.store.by_index(HOLDING, ("a", "cq")):
            self.store.remove(done.metadata.key)
        old = self.store.get(ObjectKey("a", name))
        assert old is not None
        held = Admission(
            cluster_queue="cq", pod_set_assignments=(PodSetAssignment(name="master", resource_usage={"gpu": "4"}),)
        )
        meta = ObjectMeta(name=name, namespace="a", uid=name, resource_version="2")
        self.store.put(Workload(metadata=meta, spec=old.spec, status=WorkloadStatus(admission=held)))
        self.jobs.pop(name)
        self.kueue.reserving = 1

    def look(self) -> None:
        """At the queue, and at all jobs that have a reason."""
        self.runner.run(self.controller.reconcile(TEAM))
        for name in [name for name, moment in self.due.items() if moment <= self.now]:
            del self.due[name]
            if name in self.jobs:
                self.look_at(name)

    def look_at(self, name: str) -> None:
        job, workload = self.jobs[name], self.store.get(ObjectKey("a", name))
        assert workload is not None
        queue = Queue("team", workload=workload, place=self.places.of(workload))
        known = replace(observed(job), queue=queue, now=self.now, message_written_at=self.written.get(name))
        decided = plan(known)
        if decided.wake_at is not None:
            self.due[name] = decided.wake_at
        if decided.status != known.job.resource.status:
            fields = {field: getattr(decided.status, field) for field in decided.status.__struct_fields__}
            self.jobs[name] = job.with_status(**fields)
            self.writes[name] += 1
            self.written[name] = self.now


def test_of_many_jobs_few_statuses_are_written_as_others_are_admitted() -> None:
    """A job is written as it comes near; those far behind are not written at all."""
    with asyncio.Runner() as runner:
        _play(Line(runner))


def _play(line: Line) -> None:
    line.admit("job0000")
    line.look()
    for name in list(line.jobs):
        line.look_at(name)
    line.writes.clear()
    for number in range(1, ADMISSIONS + 1):
        line.admit(f"job{number:04}")
        for _ in range(EVERY):
            line.now += timedelta(seconds=1)
            line.look()
    assert max(line.writes.values()) <= 4
    assert sum(line.writes.values()) <= 6 * ADMISSIONS
    assert not [name for name in line.writes if int(name.removeprefix("job")) > 100 + ADMISSIONS]
