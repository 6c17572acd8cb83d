"""A job with a model: every pod mounts its storage, and a version is left behind exactly when the job succeeds."""

import asyncio
from collections.abc import Iterator
from datetime import timedelta
from typing import Any

import msgspec
import pytest

from harness.fakes.api_server import with_metadata
from kubedl.api.conditions import find, is_true
from kubedl.api.model import MODEL_VERSIONS, ModelVersion
from kubedl.api.training import ReplicaStatus, TrainingJob
from kubedl.kube import codec
from kubedl.kube.types.core import PODS, SERVICES
from kubedl.kube.types.meta import Resource
from kubedl.podspec.model_volumes import CLAIMS, PERSISTENT_VOLUMES
from kubedl.training import model_version, pods
from kubedl.training.addons.model_storage import writer
from kubedl.training.addons.registry import refusal
from kubedl.training.job import Replica
from kubedl.training.observed import Settings
from tests.training_builders import NOW, JobBuilder, decide, mpi_job, pod, tf_job, torch_job
from tests.unit.models.versions import CLAIM, DIGEST, EFS, LOCAL, NFS
from tests.unit.training.api_model import ApiModel, Crash, Harm
from tests.unit.training.operator_model import OperatorModel
from tests.unit.training.world_model import World

WISH: dict[str, Any] = {"modelName": "resnet", "imageRepo": "hub/resnet", "storage": CLAIM}
PLAIN = {"containers": [{"name": "tensorflow", "image": "train:1"}]}
Body = dict[str, Any]


def job(name: str = "train", **wish: object) -> JobBuilder:
    """A job with one worker that leaves a model."""
    return tf_job(name).workers(1).with_spec(modelVersion={**WISH, **wish})


def render(builder: JobBuilder, role: str = "Worker", index: int = 0) -> Body:
    """The pod of one replica."""
    view = builder.kind.job(builder.build())
    return pods.render(builder.kind, view, Replica(role, index), 0, scope="Replica", settings=Settings())


def test_every_container_mounts_the_storage_and_is_told_where() -> None:
    """A variable that the user wrote stays."""
    containers = [
        {"name": "tensorflow", "image": "a", "env": [{"name": "KUBEDL_MODEL_PATH", "value": "/mine"}]},
        {"name": "proxy", "image": "b", "volumeMounts": [{"name": "x", "mountPath": "/x"}]},
    ]
    builder = job(storage={"nfs": {"server": "nas", "mountPath": "/out"}})
    spec = render(builder.workers(1, template={"spec": {"containers": containers}}))["spec"]
    assert spec["volumes"] == [{"name": "modelvolume", "nfs": {"server": "nas", "path": "/"}}]
    main, proxy = spec["containers"]
    for container in (main, proxy):
        assert {"name": "modelvolume", "mountPath": "/out"} in container["volumeMounts"]
    assert [one["value"] for one in main["env"] if one["name"] == "KUBEDL_MODEL_PATH"] == ["/mine"]
    assert {"name": "KUBEDL_MODEL_PATH", "value": "/out"} in proxy["env"]


def test_a_claim_is_mounted_below_its_path() -> None:
    """And a job without a model has nothing of it."""
    [container] = render(job())["spec"]["containers"]
    assert container["volumeMounts"] == [{"name": "modelvolume", "mountPath": "/kubedl-model", "subPath": "runs/7"}]
    assert "volumes" not in render(tf_job().workers(1))["spec"]


def test_whoever_writes_the_model_runs_on_its_node() -> None:
    """The others run where there is room, and mount the directory of their own node, as they did before."""
    builder = job(storage=LOCAL).workers(2, template={"spec": {"nodeSelector": {"gpu": "yes"}, **PLAIN}})
    assert render(builder)["spec"]["nodeSelector"] == {"gpu": "yes", "kubernetes.io/hostname": "node1"}
    assert render(builder, index=1)["spec"]["nodeSelector"] == {"gpu": "yes"}
    assert "nodeSelector" not in render(job(storage=NFS))["spec"]


@pytest.mark.parametrize(
    ("builder", "expected"),
    [
        (tf_job().ps(1).workers(2), Replica("Worker", 0)),
        (tf_job().ps(1).chief().workers(2), Replica("Chief", 0)),
        (torch_job().master().workers(2), Replica("Master", 0)),
        (mpi_job().workers(2).launcher(), Replica("Worker", 0)),
        (mpi_job().launcher(), Replica("Launcher", 0)),
        (tf_job().evaluator(), Replica("Evaluator", 0)),
    ],
)
def test_who_writes_the_model(builder: JobBuilder, expected: Replica) -> None:
    """Whoever leads those that train; where nobody does, the first worker. Rank 0 of MPI is a worker, if it has any."""
    assert writer(builder.kind.job(builder.build())) == expected


def test_a_wish_that_no_rule_has_seen_fails_the_job() -> None:
    """Before a pod is made, with the field."""
    bad = job(storage={}).build()
    assert refusal(bad) == (
        "ModelVersionInvalid",
        "spec.modelVersion.storage: set exactly one of localStorage, nfs, AWSEfs and claim",
    )
    assert refusal(job().build()) is None


def test_success_leaves_a_version_and_nothing_else_does() -> None:
    """The status that is written if it is refused is not the end."""
    won = decide(job().counted("Worker", succeeded=1, succeeded_indexes="0"))
    assert won.status.model_version_name == "mv-train-uid-t"
    assert won.without_model is not None
    assert not is_true(won.without_model.conditions, "Succeeded")
    assert won.without_model.replica_statuses["Worker"].succeeded_indexes == "0"
    for other in (
        decide(job(), pod(job(), "Worker").succeeded()),  # which is written first
        decide(job(), pod(job(), "Worker").failed(1)),
        decide(job(), pod(job(), "Worker").running()),
        decide(tf_job().workers(1), pod(tf_job().workers(1), "Worker").succeeded()),
        decide(job().said("Succeeded"), pod(job(), "Worker").succeeded()),
    ):
        assert (other.without_model, other.status.model_version_name) == (None, "")


class Stage:
    """A world with one operator, whose writes are listed."""

    def __init__(self, builder: JobBuilder, runner: asyncio.Runner) -> None:
        self.world = World(builder.kind, builder.build(), ApiModel(NOW))
        self.writes: list[str] = []
        self._runner = runner
        self.start()
        self.look()

    def start(self) -> None:
        """Another operator takes over."""
        self.operator = OperatorModel(self.world.api, self.world.kind, self.job.metadata.key, self._write)

    @property
    def job(self) -> TrainingJob:
        assert self.world.job is not None
        return self.world.job

    def look(self, harm: tuple[int, Harm] | None = None) -> list[str]:
        """What the operator writes when it looks, with all that happened before its eyes."""
        self.operator.deliver_all()
        self.writes.clear()
        self.operator.reconcile(self._runner, harm)
        return list(self.writes)

    def succeed(self) -> None:
        """Its pods end well."""
        while self.world.bind(0, 0) or self.world.start(0):
            pass
        self.look()
        self.world.exit(0, 0)

    def versions(self) -> list[ModelVersion]:
        """All that there are."""
        return list(self.world.api.all(MODEL_VERSIONS))

    def _write(self, _: OperatorModel, verb: str, resource: Resource[Any], __: object) -> None:
        self.writes.append(f"{verb} {resource.plural}")


@pytest.fixture
def runner() -> Iterator[asyncio.Runner]:
    """An event loop of the test's own."""
    with asyncio.Runner() as made:
        yield made


def test_the_version_comes_before_the_end(runner: asyncio.Runner) -> None:
    """It belongs to nobody, and leads back to the job."""
    stage = Stage(job(createdBy="", parent=f"hub/resnet@{DIGEST}", registry={"insecure": True}), runner)
    stage.succeed()
    assert stage.look() == ["patch tfjobs"]
    assert (stage.job.status.state, stage.versions()) == ("Running", [])
    assert stage.look() == ["create modelversions", "patch tfjobs"]
    [made] = stage.versions()
    assert stage.job.status.model_version_name == made.metadata.name
    assert stage.job.status.state == "Succeeded"
    assert made.metadata.owner_references == ()
    assert made.metadata.labels["training.kubedl.io/job-name"] == "train"
    assert made.metadata.labels["model.kubedl.io/model-name"] == "resnet"
    assert (made.spec.created_by, made.spec.parent) == ("train", f"hub/resnet@{DIGEST}")
    assert made.spec.registry is not None
    assert made.spec.registry.insecure
    assert made.spec.storage == stage.job.spec.model_version.storage
    assert made.spec.origin is not None
    assert (made.spec.origin.job_kind, made.spec.origin.job_name) == ("TFJob", "train")
    assert made.spec.origin.job_uid == stage.job.metadata.uid
    assert stage.look() == []


@pytest.mark.parametrize("written", [False, True])
def test_a_commit_that_is_learned_with_the_success_is_in_the_version(runner: asyncio.Runner, written: bool) -> None:
    """Its pod did all its work while nobody looked; or somebody wrote of the success and not of the commit."""
    stage = Stage(job().with_spec(codeSource={"repository": "https://example.org/code.git"}), runner)
    while stage.world.bind(0, 0) or stage.world.start(0):
        pass
    stage.world.exit(0, 0)
    if written:
        status = msgspec.structs.replace(
            stage.job.status, replica_statuses={"Worker": ReplicaStatus(succeeded=1, succeeded_indexes="0")}
        )
        stage.world.api.put(stage.world.kind.resource, msgspec.structs.replace(stage.job, status=status))
    stage.look()
    stage.look()
    [made] = stage.versions()
    assert made.spec.origin is not None
    assert made.spec.origin.code_revision == stage.job.status.code_revision == f"{0:040x}"


@pytest.mark.parametrize("harm", ["crash before", "crash after", "lost before", "lost after"])
@pytest.mark.parametrize("write", range(2))
def test_a_crash_between_the_two_is_made_good(runner: asyncio.Runner, write: int, harm: Harm) -> None:
    """One version, and a job that has succeeded."""
    stage = Stage(job(), runner)
    stage.succeed()
    stage.look()
    if harm.startswith("crash"):
        with pytest.raises(Crash):
            stage.look((write, harm))
        stage.start()
    else:
        stage.look((write, harm))
    stage.look()
    assert stage.job.status.state == "Succeeded"
    assert [one.metadata.name for one in stage.versions()] == [stage.job.status.model_version_name]


@pytest.mark.parametrize("meddle", ["collect the pod", "suspend"])
def test_no_version_is_of_a_job_that_may_still_fail(runner: asyncio.Runner, meddle: str) -> None:
    """Operators die after each write until there is a version; what then happens to the pod behind it is no matter."""
    stage = Stage(job(), runner)
    stage.succeed()
    while not stage.versions():
        with pytest.raises(Crash):
            stage.look((0, "crash after"))
        stage.start()
    if meddle == "suspend":
        stage.world.set_suspend(True)
    stage.world.collect_ended(0)
    stage.start()
    stage.look()
    stage.world.set_suspend(False)
    stage.look()
    stage.look()
    assert list(stage.world.api.all(PODS)) == []
    assert (stage.job.status.state, len(stage.versions())) == ("Succeeded", 1)


def test_a_version_that_is_refused_is_said_and_tried_again(runner: asyncio.Runner) -> None:
    """The job is not over before; nothing of it is cleaned away."""
    stage = Stage(job().with_spec(cleanPodPolicy="All"), runner)
    stage.succeed()
    stage.look()
    assert stage.look((0, "refused")) == ["patch tfjobs"]
    blocked = find(stage.job.status.conditions, "Blocked")
    assert blocked is not None
    assert (blocked.status, blocked.reason) == ("True", "ModelVersionForbidden")
    assert not is_true(stage.job.status.conditions, "Succeeded")
    assert len(list(stage.world.api.all(PODS))) == 1
    assert stage.look() == []
    stage.world.api.now += timedelta(seconds=3)
    assert stage.look()[:2] == ["create modelversions", "patch tfjobs"]
    assert not is_true(stage.job.status.conditions, "Blocked")


def test_somebody_elses_version_of_that_name_is_not_taken(runner: asyncio.Runner) -> None:
    """The job says so and waits."""
    stage = Stage(job(), runner)
    stage.succeed()
    stage.look()
    body = model_version.render(stage.world.kind, stage.world.kind.job(stage.job), {}, "")
    taken = stage.world.api.create(MODEL_VERSIONS, body)
    stage.world.api.put(MODEL_VERSIONS, with_metadata(taken, labels={}))
    stage.look()
    blocked = find(stage.job.status.conditions, "Blocked")
    assert blocked is not None
    assert blocked.reason == "ModelVersionNameTaken"


def test_efs_is_there_before_the_service(runner: asyncio.Runner) -> None:
    """So a Service proves that pods can mount it."""
    builder = job(storage=EFS)
    world = World(builder.kind, builder.build(), ApiModel(NOW))
    writes: list[str] = []
    operator = OperatorModel(
        world.api,
        builder.kind,
        builder.build().metadata.key,
        lambda _, verb, resource, __: writes.append(resource.plural),
    )
    operator.deliver_all()
    operator.reconcile(runner)
    assert writes[:3] == [CLAIMS.plural, PERSISTENT_VOLUMES.plural, SERVICES.plural]
    [claim] = world.api.all(CLAIMS)
    assert world.job is not None
    assert claim.metadata.controller.uid == world.job.metadata.uid


def test_a_job_whose_file_system_nobody_allowed_says_so(runner: asyncio.Runner) -> None:
    """Nothing is made for it: neither claim nor volume, neither Service nor pod."""
    builder = job(storage={"AWSEfs": {"volumeHandle": "fs-of-another-team:/"}})
    stage = Stage(builder, runner)
    blocked = find(stage.job.status.conditions, "Blocked")
    assert blocked is not None
    assert (blocked.status, blocked.reason) == ("True", "PodStorageNotAllowed")
    assert "--efs-file-systems" in blocked.message
    assert not [*stage.world.api.all(CLAIMS), *stage.world.api.all(PERSISTENT_VOLUMES), *stage.world.api.all(PODS)]


def test_efs_is_there_before_a_pod_of_a_job_that_an_older_operator_began(runner: asyncio.Runner) -> None:
    """Its Service is no sign of it."""
    plain, builder = tf_job("train").workers(1), job(storage=EFS)
    stage = Stage(plain, runner)
    stage.world.api.put(builder.kind.resource, msgspec.structs.replace(stage.job, spec=builder.build().spec))
    while stage.world.bind(0, 0) or stage.world.start(0):
        pass
    stage.world.refuse(0)
    writes = [write for _ in range(4) for write in stage.look()]
    assert [write for write in writes if write.startswith("create")] == [
        "create persistentvolumeclaims",
        "create persistentvolumes",
        "create pods",
    ]


@pytest.mark.parametrize("mounted", [True, False])
def test_what_a_job_never_wrote_is_not_its_model(runner: asyncio.Runner, mounted: bool) -> None:
    """The pod that should have written it was made by an operator that knew nothing of models."""
    stage = Stage(job() if mounted else tf_job("train").workers(1), runner)
    stage.world.api.put(stage.world.kind.resource, msgspec.structs.replace(stage.job, spec=job().build().spec))
    stage.succeed()
    stage.look()
    stage.look()
    said = find(stage.job.status.conditions, "Succeeded")
    assert said is not None
    assert ("never mounted its storage" in said.message) != mounted
    assert len(stage.versions()) == mounted
    assert bool(stage.job.status.model_version_name) == mounted
    assert stage.look() == []


def test_a_job_without_replicas_leaves_no_model(runner: asyncio.Runner) -> None:
    """It succeeds at once, and nobody was there to write one."""
    stage = Stage(job().workers(0), runner)
    stage.look()
    said = find(stage.job.status.conditions, "Succeeded")
    assert said is not None
    assert "no ModelVersion was created" in said.message
    assert stage.versions() == []


def test_the_images_that_a_job_ran_are_known_by_digest(runner: asyncio.Runner) -> None:
    """As they were written, and as they were pulled; what a runtime does not say is left out."""

    class Server:
        def __init__(self, image_id: str, uid: str = "uid-train") -> None:
            self.image_id, self.uid = image_id, uid

        async def get(self, resource: Resource[Any], _: object) -> Any:  # noqa: ANN401 - a pod
            owner = {"apiVersion": "x", "kind": "TFJob", "name": "train", "uid": self.uid, "controller": True}
            body = {
                "metadata": {"ownerReferences": [owner]},
                "spec": {"containers": [{"name": "proxy", "image": "p"}, {"name": "tensorflow", "image": "train:1"}]},
                "status": {"containerStatuses": [{"name": "tensorflow", "image": "x", "imageID": self.image_id}]},
            }
            return resource.decoder.decode(codec.encode(body))

    view = job().kind.job(job().build())

    def images(server: Any) -> dict[str, str]:  # noqa: ANN401 - plays a client
        return model_version.trained_with(view, runner.run(model_version.first_pods(server, view)))

    assert images(Server(f"hub/train@{DIGEST}")) == {"train:1": f"hub/train@{DIGEST}"}
    assert images(Server(f"docker-pullable://hub/train@{DIGEST}")) == {"train:1": f"hub/train@{DIGEST}"}
    assert images(Server("sha256:abc")) == {}
    assert images(Server(f"hub/train@{DIGEST}", uid="another")) == {}
