"""The TensorBoard's pod and Service, and the loop that makes and removes them, over the model of the API server."""

import asyncio
from collections.abc import Iterator
from datetime import timedelta
from typing import TYPE_CHECKING, Any, cast

import pytest

from kubedl.kube import codec
from kubedl.kube.errors import ApiError
from kubedl.kube.types.core import PODS, SERVICES, Pod, Service
from kubedl.kube.types.meta import ObjectKey
from kubedl.runtime.expectations import Expectations
from kubedl.runtime.store import BY_OWNER, OwnerKey, Store
from kubedl.runtime.writer import Writer
from kubedl.training.informers import Informers
from kubedl.training.tensorboard import objects as tensorboard_objects
from kubedl.training.tensorboard.controller import TensorBoardController
from kubedl.training.tensorboard.spec import TensorBoardSpec
from tests.training_builders import NOW, JobBuilder, tf_job, torch_job
from tests.unit.training.api_model import ApiModel, ClientModel, with_status
from tests.unit.training.operator_model import OperatorModel

if TYPE_CHECKING:
    from kubedl.kube.client import Client
    from kubedl.runtime.events import EventRecorder

KEY, NAME = ObjectKey("team", "mnist"), ObjectKey("team", "mnist-tensorboard-0")
JOB = (
    tf_job("mnist")
    .workers(2)
    .scope("Replica")
    .with_spec(tensorBoard={"logDir": "/logs", "ttlSecondsAfterFinished": 60})
)
Body = dict[str, Any]


class Told:
    """Remembers events."""

    def __init__(self) -> None:
        self.reasons: list[str] = []

    def event(self, _: object, kind: str, reason: str, message: str) -> None:
        assert kind == "Warning"
        self.reasons.append(f"{reason}: {message}")


class Stage:
    """A job in the model of the API server, and the controller of its board with caches that are level with it."""

    def __init__(self, job: JobBuilder, runner: asyncio.Runner) -> None:
        self.api, self.told = ApiModel(NOW), Told()
        self._job, self._runner = job, runner
        self.put(job)

    def put(self, job: JobBuilder) -> None:
        """A new state of the job."""
        self.api.put(job.kind.resource, job.build())

    def look(self, *, forbidden: bool = False) -> float | None:
        """Reconcile; returns when to look again."""
        jobs: Store[Any] = Store()
        pods: Store[Pod] = Store(remember=BY_OWNER)
        services: Store[Service] = Store()
        for store, resource in ((jobs, self._job.kind.resource), (pods, PODS), (services, SERVICES)):
            store.replace(list(self.api.all(resource)))
            store.version = self.api.version
        client = ClientModel(self.api, lambda *_: None, harm=(0, "refused") if forbidden else None)
        writer = Writer(cast("Client", client), Expectations({PODS: pods, SERVICES: services}))
        informers = Informers(jobs, pods, services, Store())
        controller = TensorBoardController(
            self._job.kind, informers, writer, cast("EventRecorder", self.told), clock=lambda: self.api.now
        )
        return self._runner.run(controller.reconcile(KEY))

    @property
    def there(self) -> tuple[bool, bool]:
        """Whether there is a pod, and whether there is a Service."""
        return self.api.find(PODS, NAME) is not None, self.api.find(SERVICES, NAME) is not None


@pytest.fixture
def runner() -> Iterator[asyncio.Runner]:
    """An event loop of the test's own."""
    with asyncio.Runner() as resource:
        yield resource


def render(job: JobBuilder, tensorboard: TensorBoardSpec | None = None) -> Body:
    """The board's pod."""
    return tensorboard_objects.pod(job.kind, job.kind.job(job.build()), tensorboard or TensorBoardSpec("/logs", "", 0))


def with_container(spec: Body | None = None, **container: object) -> Body:
    """A template."""
    return {
        "spec": {
            "containers": [{"name": "log"}, {"name": "tensorflow", "image": "train:1", **container}],
            **(spec or {}),
        }
    }


def test_a_life(runner: asyncio.Runner) -> None:
    """Made once, replaced when it is gone, and removed when its time is over."""
    stage = Stage(JOB, runner)
    assert (stage.look(), stage.there) == (None, (True, True))
    version = stage.api.version
    assert (stage.look(), stage.api.version) == (None, version)
    stage.api.drop(PODS, NAME)
    assert (stage.look(), stage.there) == (None, (True, True))
    stage.put(JOB.said("Succeeded").with_status(completion_time=NOW))
    assert (stage.look(), stage.there) == (60, (True, True))
    stage.api.now += timedelta(seconds=60)
    assert (stage.look(), stage.there) == (None, (False, False))
    version = stage.api.version
    assert (stage.look(), stage.api.version) == (None, version)


def test_a_refusal_is_told_and_tried_again(runner: asyncio.Runner) -> None:
    """It is the board's, not the job's."""
    stage = Stage(JOB, runner)
    with pytest.raises(ApiError):
        stage.look(forbidden=True)
    assert stage.told.reasons == ["TensorBoardBlocked: cannot create the TensorBoard: exceeded quota"]
    stage.look()
    assert stage.there == (True, True)


def test_a_template_that_is_none_is_told_and_not_tried_again(runner: asyncio.Runner) -> None:
    """Until somebody edits it."""
    stage = Stage(JOB.role("Worker", 2, template={"spec": {"containers": [{"name": "tensorflow"}]}}), runner)
    assert stage.look() is None
    assert stage.told.reasons == [
        "TensorBoardBlocked: TensorBoard: the template of Worker has no image, and tensorBoard.image is not set"
    ]


def test_what_belongs_to_another_is_left_alone(runner: asyncio.Runner) -> None:
    """A board of an earlier job of that name goes with the garbage collector."""
    stage = Stage(JOB.with_metadata(uid="old"), runner)
    stage.look()
    stage.put(JOB)
    with pytest.raises(ApiError, match="does not belong"):
        stage.look()


def test_the_jobs_own_loop_does_not_see_it(runner: asyncio.Runner) -> None:
    """Neither as a pod too many nor as its Service, whatever becomes of it."""
    stage = Stage(JOB, runner)
    stage.look()
    operator = OperatorModel(stage.api, JOB.kind, KEY, lambda *_: None)
    operator.reconcile(runner)
    names = {pod.metadata.name for pod in stage.api.all(PODS)}
    assert names == {"mnist-worker-0", "mnist-worker-1", "mnist-tensorboard-0"}
    assert {service.metadata.name for service in stage.api.all(SERVICES)} == {"mnist", "mnist-tensorboard-0"}
    stage.api.put(PODS, with_status(stage.api.find(PODS, NAME), phase="Failed"))
    operator.deliver_all()
    operator.reconcile(runner)
    stage.api.drop(PODS, NAME)
    operator.deliver_all()
    operator.reconcile(runner)
    status = stage.api.find(JOB.kind.resource, KEY).status
    assert (status.state, status.retries, status.replica_statuses["Worker"].active) == ("Created", 0, 2)
    assert operator.pods.tombstones(OwnerKey("team", "uid-mnist")) == []


def test_it_sees_what_a_replica_sees() -> None:
    """Volumes, mounts, place, user and environment; not its resources, ports and sidecars."""
    mount = {"name": "logs", "mountPath": "/logs"}
    pod_level = {
        "volumes": [{"name": "logs"}],
        "nodeSelector": {"pool": "a"},
        "tolerations": [{"operator": "Exists"}],
        "securityContext": {"runAsUser": 1000},
        "serviceAccountName": "reader",
        "initContainers": [{"name": "first"}],
        "hostNetwork": True,
    }
    template = with_container(
        pod_level,
        volumeMounts=[mount],
        env=[{"name": "AWS_REGION", "value": "x"}],
        securityContext={"runAsNonRoot": True},
        resources={"limits": {"nvidia.com/gpu": 1}},
        ports=[{"containerPort": 1}],
    )
    body = render(JOB.role("Worker", 2, template=template))
    spec = body["spec"]
    (container,) = spec["containers"]
    assert {key: spec[key] for key in pod_level if key in spec} == {
        key: value for key, value in pod_level.items() if key not in ("initContainers", "hostNetwork")
    }
    assert spec["restartPolicy"] == "Always"
    assert (container["image"], container["volumeMounts"]) == ("train:1", [mount])
    assert container["securityContext"] == {"runAsNonRoot": True}
    assert container["env"][0] == {"name": "AWS_REGION", "value": "x"}
    assert "nvidia.com/gpu" not in str(container["resources"])
    assert container["args"] == ["--logdir=/logs", "--host=0.0.0.0", "--port=6006"]


def test_what_was_asked_for_wins() -> None:
    """Image and resources; a path that looks like a variable stays a path."""
    tensorboard = TensorBoardSpec("/logs/$(HOME)", "tb:1", 0, codec.RawObject.of({"limits": {"cpu": "4"}}))
    (container,) = render(JOB, tensorboard)["spec"]["containers"]
    assert (container["image"], container["resources"]) == ("tb:1", {"limits": {"cpu": "4"}})
    assert container["args"][0] == "--logdir=/logs/$$(HOME)"


def test_the_jobs_service_does_not_find_it_but_its_own_does() -> None:
    """Peers that look for the job must not meet it."""
    view = JOB.kind.job(JOB.build())
    body, service = render(JOB), tensorboard_objects.service(JOB.kind, view)
    assert "training.kubedl.io/job-uid" not in body["metadata"]["labels"]
    assert service["spec"]["selector"].items() <= body["metadata"]["labels"].items()
    assert service["spec"]["ports"] == [{"name": "http", "port": 6006, "targetPort": 6006}]
    assert [one["metadata"]["ownerReferences"][0]["uid"] for one in (body, service)] == ["uid-mnist"] * 2


@pytest.mark.parametrize(
    ("log_dir", "expected"),
    [
        ("/logs/run", "worker:1"),
        ("/logs", "worker:1"),
        ("/data/x", "ps:1"),
        ("/logsx", "chief:1"),
        ("s3://logs", "chief:1"),
    ],
)
def test_it_takes_the_template_of_who_has_the_logs(log_dir: str, expected: str) -> None:
    """Else of who leads."""

    def template(image: str, *paths: str) -> Body:
        return with_container(image=image, volumeMounts=[{"name": "x", "mountPath": path} for path in paths])

    job = (
        tf_job("mnist")
        .ps(1, template=template("ps:1", "/data/"))
        .chief(template=template("chief:1"))
        .workers(1, template=template("worker:1", "/cache", "/logs"))
    )
    assert render(job, TensorBoardSpec(log_dir, "", 0))["spec"]["containers"][0]["image"] == expected


def test_any_kind_may_have_one() -> None:
    """Not only TensorFlow writes such logs."""
    job = torch_job("mnist").master()
    assert render(job)["spec"]["containers"][0]["image"] == "train:1"
