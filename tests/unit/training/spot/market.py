"""A job on a market of nodes, in virtual time: the real controller, pools with so many nodes, a program that trains.

Each node takes one pod. Pods that no node takes are told so by the scheduler, and stay pending.
"""

import asyncio
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import timedelta
from typing import Any

import msgspec

from kubedl.api.conditions import find, is_true
from kubedl.api.spot import SpotStatus
from kubedl.api.training import JobStatus
from kubedl.kube.types.core import (
    NODES,
    PODS,
    ContainerStatus,
    Node,
    NodeCondition,
    NodeSpec,
    NodeStatus,
    Pod,
    PodCondition,
    Taint,
)
from kubedl.kube.types.meta import ObjectKey, ObjectMeta
from kubedl.training.observed import Settings
from kubedl.training.spot.pools import pool_of
from tests.training_builders import NOW, JobBuilder, torch_job
from tests.unit.training.api_model import ApiModel, Crash, Harm, with_status
from tests.unit.training.operator_model import SETTINGS, OperatorModel
from tests.unit.training.spot.played_pools import POOLS
from tests.unit.training.spot.played_program import Program, ReportsModel
from tests.unit.training.world_model import World

KEY = "karpenter.sh/disrupted"
Spot = dict[str, Any]


def settings(**changes: Any) -> Settings:  # noqa: ANN401 - those of Settings
    """The operator's settings, with pools."""
    fields = {"file_systems": SETTINGS.file_systems, "checkpoint_key": SETTINGS.checkpoint_key, "pools": POOLS}
    return Settings(**{**fields, **changes})


def spot_job(workers: int = 4, *, least: int = 1, checkpoint: bool = True, **spot: Any) -> JobBuilder:  # noqa: ANN401
    """An elastic job with spec.spot."""
    bounds: Spot = {"minReplicas": least, "maxReplicas": max(workers, 8)}
    if checkpoint:
        bounds["checkpoint"] = {"timeoutSeconds": 60}
    given = {"pools": ["spot", "on-demand"], **spot}
    return torch_job("bert").workers(workers).with_spec(elastic=bounds, spot=given)


class Market:
    """All of it."""

    def __init__(
        self, job: JobBuilder, runner: asyncio.Runner, *, cold: int = 60, given: Settings | None = None
    ) -> None:
        self.job_builder, self.runner, self.cold = job, runner, cold
        self.settings = given or settings()
        self.api = ApiModel(NOW)
        self.world = World(job.kind, job.build(), self.api)
        work = job.spec.get("spot", {}).get("work", {}).get("seconds", 0)
        self.program = Program(work)
        self.room: Counter[str] = Counter()  # nodes of each pool that are to be had
        self.events: list[str] = []
        self.writes, self.fate = 0, None
        self.saves_every: int | None = None
        self.pulls_forever = False  # images
        self._made, self._bound_at = 0, dict[str, int]()
        self.operator = self._start()

    def _start(self) -> OperatorModel:
        key = self.world.template.metadata.key
        reports = ReportsModel(self.program, self.api)
        return OperatorModel(self.api, self.job_builder.kind, key, _nothing, self.settings, self.program, reports)

    def restart(self) -> None:
        """The operator dies, and another one starts with empty memory."""
        self.events += self.operator.recorder.events
        self.operator = self._start()

    @property
    def status(self) -> JobStatus:
        assert self.world.job is not None
        return self.world.job.status

    @property
    def spot(self) -> SpotStatus:
        assert self.status.spot is not None
        return self.status.spot

    @property
    def state(self) -> str:
        return str(self.status.state)

    def condition(self, kind: str) -> str:
        """The reason of a condition that holds; empty if it does not."""
        found = find(self.status.conditions, kind)
        return found.reason if found is not None and found.status == "True" else ""

    def all_events(self, reason: str) -> list[str]:
        return [one for one in (*self.events, *self.operator.recorder.events) if f" {reason}:" in one]

    def pods(self) -> dict[str, str]:
        """The pool of each pod, by the end of its name, with a mark if it runs."""
        return {
            str(pod.metadata.name).removeprefix("bert-"): pool_of(pod) + ("" if _runs(pod) else "?")
            for pod in self.world.pods()
        }

    def uids(self) -> dict[str, str]:
        return {str(pod.metadata.name): str(pod.metadata.uid) for pod in self.world.pods()}

    def running(self) -> list[Pod]:
        return [pod for pod in self.world.pods() if _runs(pod)]

    def edit(self, **spot: Any) -> None:  # noqa: ANN401 - fields of the spec
        """The user edits spec.spot; None removes a field."""
        job = self.world.job
        assert job is not None
        made = self.job_builder.with_spec(
            spot={k: v for k, v in {**self.job_builder.spec["spot"], **spot}.items() if v}
        )
        self.job_builder = made
        self.edit_spec(spot=made.build().spec.spot)

    def edit_spec(self, **fields: Any) -> None:  # noqa: ANN401 - checked by the struct
        job = self.world.job
        assert job is not None
        meta = msgspec.structs.replace(job.metadata, generation=job.metadata.generation + 1)
        spec = msgspec.structs.replace(job.spec, **fields)
        self.api.put(self.job_builder.kind.resource, msgspec.structs.replace(job, metadata=meta, spec=spec))

    def pass_time(self, seconds: int, step: int = 15) -> None:
        """Everybody does its work, and the operator looks whenever it has a reason to."""
        for _ in range(0, seconds, step):
            self.api.now += timedelta(seconds=step)
            self._advance(step)
            self.rest()

    def rest(self) -> None:
        """Let the operator and the cluster come to rest at this moment."""
        for _ in range(200):
            self.operator.deliver_all()
            looked = self.operator.has_reason()
            if looked:
                self._look()
            if not self._cluster_works() and not looked:
                return
        raise AssertionError(f"never at rest: {self.operator.reason}")

    def _look(self) -> None:
        harm: tuple[int, Harm] | None = None
        if self.fate is not None and self.fate[0] >= self.writes:
            harm = self.fate[0] - self.writes, self.fate[1]
        operator = self.operator
        try:
            operator.reconcile(self.runner, harm)
        except Crash:
            self.restart()
        finally:
            self.writes += operator.client.writes
            operator.client.writes = 0

    def _advance(self, seconds: int) -> None:
        running = self.running()
        job = self.job_builder.kind.job(self.world.job) if self.world.job is not None else None
        if job is None:
            return
        leader = any(pod.metadata.name == job.pod_name(job.leader) for pod in running)
        enough = len(running) >= self.job_builder.spec["elastic"]["minReplicas"]
        members = frozenset(str(pod.metadata.uid) for pod in running) if leader and enough else frozenset[str]()
        self.program.advance(seconds, members, trains=bool(members), size=job.size)
        if self.saves_every and members and self.program.done - self.program.durable >= self.saves_every:
            self.program.durable = self.program.done

    def _cluster_works(self) -> bool:
        acted = False
        for pod in self.world.pods():
            if pod.metadata.deletion_timestamp is not None:
                self.api.drop(PODS, pod.metadata.key)
                acted = True
            elif not pod.spec.node_name:
                acted |= self._schedule(pod)
            elif pod.status.phase == "Pending" and not self.pulls_forever:
                acted |= self._run(pod)
        return acted

    def _schedule(self, pod: Pod) -> bool:
        pool = pool_of(pod)
        taken = sum(pool_of(one) == pool and bool(one.spec.node_name) for one in self.world.pods())
        if taken < self.room[pool]:
            self._made += 1
            name = f"{pool}-{self._made}"
            ready = NodeCondition(type="Ready", status="True", last_transition_time=self.api.now)
            self.api.put(NODES, Node(metadata=ObjectMeta(name=name, uid=name), status=NodeStatus(conditions=(ready,))))
            bound = msgspec.structs.replace(pod, spec=msgspec.structs.replace(pod.spec, node_name=name))
            done = PodCondition(type="PodScheduled", status="True")
            self.api.put(PODS, with_status(bound, conditions=(done,)))
            self._bound_at[str(pod.metadata.uid)] = int(self.api.now.timestamp())
            return True
        if pod.condition("PodScheduled") is None:
            refused = PodCondition(
                type="PodScheduled", status="False", reason="Unschedulable", last_transition_time=self.api.now
            )
            self.api.put(PODS, with_status(pod, conditions=(refused,)))
            return True
        return False

    def _run(self, pod: Pod) -> bool:
        if self.api.now.timestamp() - self._bound_at[str(pod.metadata.uid)] < self.cold:
            return False
        ready = PodCondition(type="Ready", status="True", last_transition_time=self.api.now)
        container = ContainerStatus(name=self.job_builder.kind.container, ready=True)
        conditions = (*pod.status.conditions, ready)
        self.api.put(PODS, with_status(pod, phase="Running", conditions=conditions, container_statuses=(container,)))
        return True

    def notice(self, *names: str) -> None:
        """The cloud says that it will take the nodes of these pods, and has no others for them."""
        for pod in self.running():
            if str(pod.metadata.name).removeprefix("bert-") in names:
                self.room[pool_of(pod)] -= 1
                node: Node = self.api.find(NODES, ObjectKey("", pod.spec.node_name))
                self.api.put(NODES, msgspec.structs.replace(node, spec=NodeSpec(taints=(Taint(key=KEY),))))

    def finish(self, *names: str) -> None:
        """The processes of these pods end with 0."""
        for place, pod in reversed(list(enumerate(self.world.running()))):
            if str(pod.metadata.name).removeprefix("bert-") in names:
                self.world.exit(place, 0)
        self.rest()


def _nothing(*_: object) -> None:
    """Any write is fine."""


def _runs(pod: Pod) -> bool:
    return pod.status.phase == "Running" and pod.metadata.deletion_timestamp is None


def is_finished(market: Market) -> bool:
    return is_true(market.status.conditions, "Succeeded") or is_true(market.status.conditions, "Failed")


@contextmanager
def market(job: JobBuilder, *, cold: int = 60, given: Settings | None = None, **room: int) -> Iterator[Market]:
    """A market with so many nodes in each pool; `on_demand` is on-demand."""
    with asyncio.Runner() as runner:
        made = Market(job, runner, cold=cold, given=given)
        made.room.update({name.replace("_", "-"): number for name, number in room.items()})
        made.rest()
        yield made
