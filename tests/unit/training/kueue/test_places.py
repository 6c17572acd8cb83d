"""Where jobs are in their queue: what is asked of Kueue, how seldom, and what is told to whom."""

import asyncio
from collections import Counter
from collections.abc import Callable, Mapping
from datetime import timedelta
from typing import TYPE_CHECKING, Any, cast

import pytest

from kubedl.api.conditions import Condition
from kubedl.kube.codec import encode
from kubedl.kube.errors import ApiError, ForbiddenError, NotFoundError, UnknownOutcomeError
from kubedl.kube.types.meta import ObjectKey, ObjectMeta, OwnerReference
from kubedl.runtime.store import Store
from kubedl.training.kueue.place_controller import GAP, MOST_QUEUES_PER_SECOND, NOT_SERVED, PERIOD, PlaceController
from kubedl.training.kueue.places import (
    HOLDING,
    MOST_PLACED,
    MOST_TOLD,
    PENDING,
    Holder,
    Place,
    Places,
    describe_holders,
    holding_in,
    in_steps,
    pending_in,
    total,
)
from kubedl.training.kueue.preemption import UNKNOWN, preemptor
from kubedl.training.kueue.queues import Queues
from kubedl.training.kueue.types import (
    Admission,
    ClusterQueue,
    ClusterQueueStatus,
    LocalQueue,
    LocalQueueSpec,
    PodSetAssignment,
    Workload,
    WorkloadSpec,
    WorkloadStatus,
)
from tests.training_builders import NOW

if TYPE_CHECKING:
    from kubedl.kube.client import Client

TEAM = ObjectKey("a", "team")
SHORT = "couldn't assign flavors to pod set main: insufficient unused quota for gpu in flavor f, 4 more needed"


def workload(
    name: str,
    *usage: Mapping[str, str],
    namespace: str = "a",
    queue: str = "team",
    conditions: tuple[Condition, ...] = (),
    **spec: Any,  # noqa: ANN401
) -> Workload:
    """Of a job with this name; it holds quota if it uses any."""
    owner = OwnerReference(api_version="v1", kind="PyTorchJob", name=name, uid=f"uid-{name}", controller=True)
    meta = ObjectMeta(
        name=f"{name}-workload",
        namespace=namespace,
        uid=f"w-{name}",
        resource_version="1",
        creation_timestamp=NOW,
        owner_references=(owner,),
    )
    held = tuple(PodSetAssignment(name=str(number), resource_usage=one) for number, one in enumerate(usage))
    admission = Admission(cluster_queue="cq", pod_set_assignments=held) if held else None
    status = WorkloadStatus(conditions=conditions, admission=admission)
    return Workload(metadata=meta, spec=WorkloadSpec(queue_name=queue, **spec), status=status)


class PlayedKueue:
    """Answers as Kueue does, and counts what it is asked."""

    def __init__(self, store: Store[Workload]) -> None:
        self.store, self.asked = store, Counter[str]()
        self.reserving = 0
        self.fails: dict[str, ApiError] = {}
        self.missing: set[str] = set()
        self.first: list[str] = []  # before all others

    def queues(self) -> Queues:
        """Caches in which every LocalQueue exists, all of one ClusterQueue."""
        return Queues(
            cast("Store[LocalQueue]", _Cache(self._local)), cast("Store[ClusterQueue]", _Cache(self._cluster))
        )

    def _local(self, _: ObjectKey) -> LocalQueue | None:
        return LocalQueue(spec=LocalQueueSpec(cluster_queue="cq")) if "localqueues" not in self.missing else None

    def _cluster(self, key: ObjectKey) -> ClusterQueue | None:
        assert key.name == "cq"
        status = ClusterQueueStatus(reserving_workloads=self.reserving)
        return ClusterQueue(status=status) if "clusterqueues" not in self.missing else None

    async def call(self, verb: str, _: object, path: str, *, params: Mapping[str, str]) -> bytes:
        self._count("visibility")
        assert (verb, params) == ("get", {"limit": str(MOST_PLACED)})
        _, _, _, _, _, namespace, _, queue, _ = path.split("/")
        found = self.store.by_index(PENDING, ObjectKey(namespace, queue))
        names = sorted((one.metadata.name for one in found), key=lambda name: (name not in self.first, name))
        items = [
            {"metadata": {"name": name}, "positionInLocalQueue": at, "positionInClusterQueue": at}
            for at, name in enumerate(names[:MOST_PLACED])
        ]
        return encode({"items": items})

    def _count(self, what: str) -> None:
        self.asked[what] += 1
        if what in self.fails:
            raise self.fails[what]


class _Cache:
    """A cache that has whatever is looked for."""

    def __init__(self, get: Callable[[ObjectKey], object]) -> None:
        self.get = get


class Stage:
    """The controller with a clock of its own."""

    def __init__(self) -> None:
        self.store: Store[Workload] = Store({PENDING: pending_in, HOLDING: holding_in})
        self.kueue, self.places, self.now = PlayedKueue(self.store), Places(), 1000.0
        client, queues = cast("Client", self.kueue), self.kueue.queues()
        self.controller = PlaceController(client, self.store, queues, self.places, clock=lambda: self.now)
        self.woken: list[str] = []
        self.places.store.subscribe(lambda old, new: self.woken.append((new or old).metadata.name))  # type: ignore[union-attr]
        self.store.subscribe(self._changed)

    def _changed(self, old: Workload | None, new: Workload | None) -> None:
        for one in (old, new):
            if one is not None:
                list(self.controller.queue_of(one))

    def ask(self, queue: ObjectKey = TEAM) -> float | None:
        return asyncio.run(self.controller.reconcile(queue))

    def place(self, name: str) -> Place | None:
        return self.places.of(workload(name))


@pytest.fixture
def stage() -> Stage:
    return Stage()


def test_a_job_that_waits_has_a_position_and_is_told_who_holds_the_quota(stage: Stage) -> None:
    stage.store.put(workload("bert", {"gpu": "4", "cpu": "500m"}, {"gpu": "2", "cpu": "1500m"}))
    stage.store.put(workload("foreign", {"gpu": "2"}, namespace="b"))
    stage.store.put(workload("late"))
    stage.kueue.reserving = 3
    assert stage.ask() == PERIOD
    place = stage.place("late")
    assert place is not None
    assert place.position == "position 1 in queue team"
    assert place.holders == (Holder(name="PyTorchJob bert", usage={"cpu": "2000m", "gpu": "6"}),)
    assert describe_holders(place, SHORT) == "PyTorchJob bert (6 gpu) and 2 other workloads"
    assert stage.woken == ["late-workload"]


def test_nothing_of_other_namespaces_is_told_but_a_number(stage: Stage) -> None:
    """Neither names nor amounts, whatever they are called and however they are owned."""
    stage.store.put(workload("secret-project", {"gpu": "4"}, namespace="b"))
    stage.store.put(workload("mine"))
    stage.kueue.reserving = 1
    stage.ask()
    place = stage.place("mine")
    assert place is not None
    assert describe_holders(place, SHORT) == "1 other workload"
    assert "secret" not in str(place)
    evicted = Condition(
        type="Evicted",
        status="True",
        reason="Preempted",
        message="Preempted to accommodate a workload (UID: w, JobUID: uid-secret-project) due to prioritization",
    )
    assert preemptor(workload("mine", conditions=(evicted,)), stage.store) == UNKNOWN
    stage.store.put(workload("secret-project", {"gpu": "4"}))
    assert preemptor(workload("mine", conditions=(evicted,)), stage.store) == "PyTorchJob secret-project"
    assert preemptor(workload("mine"), stage.store) == ""


def test_a_queue_is_asked_about_seldom_and_not_at_all_when_nothing_waits(stage: Stage) -> None:
    stage.store.put(workload("one"))
    assert stage.ask() == PERIOD
    stage.store.put(workload("two"))
    assert stage.ask() == GAP  # something changed, a moment later
    assert stage.kueue.asked["visibility"] == 1
    stage.now += GAP
    assert stage.ask() == PERIOD
    assert stage.kueue.asked == {"visibility": 2}
    for name in ("one", "two"):
        stage.store.remove(workload(name).metadata.key)
    stage.now += PERIOD
    assert stage.ask() is None
    assert stage.kueue.asked["visibility"] == 2
    assert (len(stage.places), len(stage.places.store)) == (0, 0)


def test_many_queues_share_a_rate_and_those_of_one_namespace_do_not_delay_the_others(stage: Stage) -> None:
    crowd = [workload(f"w{number}", namespace="crowd", queue=f"q{number}") for number in range(600)]
    for one in (*crowd, workload("mine")):
        stage.store.put(one)
    pauses = {}
    for one in crowd:
        key = ObjectKey("crowd", one.spec.queue_name)
        pauses[key] = stage.ask(key)
    assert stage.ask() == PERIOD
    stage.now += 30
    last = stage.ask(ObjectKey("crowd", "q599"))
    assert last == 2 * 600 / MOST_QUEUES_PER_SECOND - 30
    assert stage.ask() == PERIOD


def test_of_thousands_of_jobs_few_are_looked_at_when_one_is_admitted(stage: Stage) -> None:
    """Those whose text changes: the first ten, and one at each step behind them."""
    names = [f"job{number:04}" for number in range(5000)]
    for name in names:
        stage.store.put(workload(name))
    stage.ask()
    assert len(stage.woken) == MOST_PLACED
    behind = stage.place("job4999")
    assert behind is not None
    assert (behind.position, behind.holders) == ("behind the first 100 of queue team", None)
    stage.woken.clear()
    stage.store.remove(workload("job0000").metadata.key)
    stage.now += GAP
    stage.ask()
    assert Counter(stage.woken) == Counter(
        f"job{number:04}-workload" for number in (*range(MOST_TOLD + 1), 20, 50, 100)
    )
    told = [place.metadata.name for place in stage.places.store if place.holders is not None]
    assert len(told) == MOST_TOLD


def test_who_holds_the_quota_is_told_without_the_visibility_api(stage: Stage) -> None:
    """To those that Kueue would admit first; it is asked for again after a while."""
    stage.kueue.fails["visibility"] = NotFoundError(404, "", "404 page not found")
    stage.store.put(workload("holder", {"gpu": "4"}))
    for number in range(20):
        stage.store.put(workload(f"w{number:02}", priority=number))
    stage.kueue.reserving = 1
    stage.ask()
    first = stage.place("w19")
    assert first is not None
    assert (first.position, describe_holders(first, SHORT)) == ("", "PyTorchJob holder (4 gpu)")
    assert stage.place("w05") == Place()
    for _ in range(5):
        stage.now += PERIOD
        stage.ask()
    assert stage.kueue.asked["visibility"] == 1
    stage.kueue.fails.clear()
    stage.now += NOT_SERVED
    stage.ask()
    assert stage.place("w05") != Place()


def test_a_queue_that_kueue_does_not_know_keeps_no_other_from_being_asked(stage: Stage) -> None:
    """As one whose ClusterQueue does not exist, which any namespace may have."""
    stage.store.put(workload("stray", namespace="b"))
    stage.store.put(workload("mine"))
    stage.kueue.fails["visibility"] = NotFoundError(404, "NotFound", 'localqueues "team" not found')
    stage.ask(ObjectKey("b", "team"))
    stage.kueue.fails.clear()
    stage.ask()
    place = stage.place("mine")
    assert place is not None
    assert place.position == "position 1 in queue team"


@pytest.mark.parametrize(
    "error", [ForbiddenError(403, "Forbidden", "no"), UnknownOutcomeError(503, "", "down"), NotFoundError(404, "", "")]
)
def test_what_cannot_be_read_is_left_out(stage: Stage, error: ApiError) -> None:
    stage.kueue.fails["visibility"] = error
    stage.store.put(workload("holder", {"gpu": "4"}))
    stage.store.put(workload("mine"))
    stage.kueue.missing.add("clusterqueues")
    assert stage.ask() == PERIOD
    place = stage.place("mine")
    assert place is not None
    assert describe_holders(place, SHORT) == "PyTorchJob holder (4 gpu)"
    stage.kueue.missing.add("localqueues")
    stage.now += PERIOD
    assert stage.ask() == PERIOD
    assert stage.place("mine") == Place()


def test_a_place_is_that_of_one_workload_and_not_of_the_next_with_its_name(stage: Stage) -> None:
    stage.store.put(workload("mine"))
    assert stage.place("mine") is None
    stage.ask()
    again = workload("mine")
    other = Workload(metadata=ObjectMeta(name="mine-workload", namespace="a", uid="new"), spec=again.spec)
    assert stage.places.of(again) != stage.places.of(other) == Place()


@pytest.mark.parametrize(
    ("position", "text"),
    [(1, "1"), (10, "10"), (11, "11 to 20"), (50, "21 to 50"), (100, "51 to 100"), (101, "over 100")],
)
def test_positions_are_told_in_steps(position: int, text: str) -> None:
    assert in_steps(position) == text


def test_few_holders_are_named_and_only_those_of_what_is_missing() -> None:
    held = tuple(Holder(name=f"TFJob {name}", usage={"gpu": "1", "cpu": "2"}) for name in "abcde")
    place = Place(holders=(Holder(name="TFJob small", usage={"cpu": "9"}), *held), others=2)
    assert describe_holders(place, SHORT) == "TFJob a (1 gpu), TFJob b (1 gpu), TFJob c (1 gpu) and 4 other workloads"
    assert describe_holders(place, "").startswith("TFJob small (9 cpu), TFJob a (1 gpu, 2 cpu), ")
    assert describe_holders(Place(), SHORT) == ""


@pytest.mark.parametrize(
    ("amounts", "added"),
    [
        (["4"], "4"),
        (["4", "2"], "6"),
        (["500m", "1500m"], "2000m"),
        (["1Gi", "512Mi"], "1610612736"),
        (["1.5", "1.5"], "4"),
        (["1Ki", "24"], "1048"),
        (["x", "1"], "some"),
        (["x"], "some"),
    ],
)
def test_quantities_are_added(amounts: list[str], added: str) -> None:
    assert total(amounts) == added


def test_a_workload_waits_or_holds_quota_or_neither() -> None:
    finished = Condition(type="Finished", status="True", reason="Succeeded")
    assert pending_in(workload("a")) == TEAM
    assert pending_in(workload("a", active=False)) is pending_in(workload("a", conditions=(finished,))) is None
    assert holding_in(workload("a", {"gpu": "1"})) == ("a", "cq")
    assert holding_in(workload("a", {"gpu": "1"}, conditions=(finished,))) is holding_in(workload("a")) is None


def test_same_places_wake_nobody(stage: Stage) -> None:
    stage.store.put(workload("mine"))
    for _ in range(3):
        stage.ask()
        stage.now += timedelta(minutes=1).total_seconds()
    assert stage.woken == ["mine-workload"]
