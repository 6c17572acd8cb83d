"""The loop around the decision about a ModelVersion, over the model of the API server."""

import asyncio
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from datetime import timedelta
from typing import TYPE_CHECKING, Any, cast

import msgspec
import pytest

from harness.fakes.api_server import with_metadata
from kubedl.api.conditions import find
from kubedl.api.model import MODEL_VERSIONS, ModelVersion
from kubedl.api.model_storage import EfsStorage
from kubedl.kube import codec
from kubedl.kube.client import ListMeta, Page
from kubedl.kube.errors import ApiError, ForbiddenError, InvalidError, UnknownOutcomeError
from kubedl.kube.types.core import PODS, Pod
from kubedl.kube.types.meta import ObjectKey, Resource
from kubedl.models.build_pod import Packer
from kubedl.models.version_controller import Informers, ModelVersionController
from kubedl.podspec.model_volumes import CLAIMS, PERSISTENT_VOLUMES, FileSystems
from kubedl.runtime.expectations import Expectations
from kubedl.runtime.ownership import controllers_of
from kubedl.runtime.store import Store
from kubedl.runtime.writer import Writer
from tests.training_builders import NAMESPACE, NOW
from tests.unit.models.versions import DIGEST, EFS, NAME, UID, ended, pod, version
from tests.unit.training.api_model import ApiModel, ClientModel, Crash, Harm

if TYPE_CHECKING:
    from kubedl.kube.client import Client
    from kubedl.runtime.events import EventRecorder

KEY = ObjectKey(NAMESPACE, NAME)
MISSING = 'secret "hub" not found'
POD = ObjectKey(NAMESPACE, f"image-build-{NAME}")


@dataclass
class Telling(ClientModel):
    """A server whose kubelets say something, or nothing."""

    log: bytes = b""
    events: list[Mapping[str, Any]] = field(default_factory=list)
    asked: list[str] = field(default_factory=list)
    deaf: bool = False

    async def call(self, verb: str, resource: Resource[Any], path: str, *, params: Mapping[str, str]) -> bytes:
        self.asked.append(f"{verb} {path.rpartition('/')[2]} {params['tailLines']}")
        if self.deaf:
            raise UnknownOutcomeError(0, "", "no answer")
        return self.log

    async def page(self, resource: Resource[Any], namespace: str, params: Mapping[str, str]) -> Page:
        self.asked.append(f"list {resource.plural} {params['fieldSelector']}")
        if self.deaf:
            raise ForbiddenError(403, "Forbidden", "events")
        return Page(metadata=ListMeta(), items=tuple(msgspec.Raw(codec.encode(one)) for one in self.events))


class Stage:
    """A version in the model of the API server, and its controller with caches that are level with it."""

    def __init__(self, runner: asyncio.Runner, one: ModelVersion | None = None) -> None:
        self.api = ApiModel(NOW)
        self.events: list[str] = []
        self.writes: list[str] = []
        self.client = Telling(self.api, self._write)
        self._runner = runner
        self._versions: Store[ModelVersion] = Store()
        self._pods: Store[Pod] = Store()
        self.start()
        self.api.put(MODEL_VERSIONS, one if one is not None else version())

    def start(self) -> None:
        """An operator that has heard nothing yet."""
        writer = Writer(cast("Client", self.client), Expectations({}))
        informers = Informers(self._versions, self._pods)
        recorder = cast("EventRecorder", self)
        self.controller = ModelVersionController(
            informers,
            writer,
            recorder,
            packer=Packer("packer:1"),
            file_systems=FileSystems(frozenset({"fs-1"})),
            clock=lambda: self.api.now,
        )

    def look(self, harm: tuple[int, Harm] | None = None) -> float | None:
        """Reconcile; returns when to look again."""
        self.writes.clear()
        self.client.asked.clear()
        self.client.harm, self.client.writes, self.client.dead = harm, 0, False
        self._versions.replace(list(self.api.all(MODEL_VERSIONS)))
        self._pods.replace(list(self.api.all(PODS)))
        return self._runner.run(self.controller.reconcile(KEY))

    def event(self, about: Any, kind: str, reason: str, _: str) -> None:  # noqa: ANN401 - a reference
        """As a recorder."""
        self.events.append(f"{kind} {about.kind} {reason}")

    def becomes(self, found: Pod) -> None:
        """The build pod is like this now."""
        before = self.api.find(PODS, POD)
        self.api.put(PODS, with_metadata(found, uid=before.metadata.uid))

    @property
    def status(self) -> Any:  # noqa: ANN401 - a status
        """What the version's says."""
        return self.api.find(MODEL_VERSIONS, KEY).status

    @property
    def said(self) -> tuple[str | None, str]:
        """The phase, and why."""
        ready = find(self.status.conditions, "Ready")
        return self.status.image_build_phase, ready.reason if ready is not None else ""

    def _write(self, verb: str, resource: Resource[Any], _: object) -> None:
        self.writes.append(f"{verb} {resource.plural}")


@pytest.fixture
def runner() -> Iterator[asyncio.Runner]:
    """An event loop of the test's own."""
    with asyncio.Runner() as made:
        yield made


def test_a_life(runner: asyncio.Runner) -> None:
    """Failed, tried again, built, cleaned away; and nothing is written twice."""
    stage = Stage(runner)
    assert stage.look() is None
    assert stage.writes == ["create pods", "patch modelversions"]
    assert (stage.look(), stage.writes) == (5, [])
    stage.becomes(ended(1, reason="RegistryDown", message="503"))
    assert (stage.look(), stage.writes) == (10, ["patch modelversions"])
    stage.api.now += timedelta(seconds=10)
    stage.look()
    assert (stage.writes, stage.status.attempts) == (["patch modelversions", "delete pods"], 2)
    stage.look()
    assert stage.writes == ["create pods", "patch modelversions"]
    stage.becomes(ended(0, attempt=2, digest=DIGEST))
    stage.look()
    assert stage.writes == ["patch modelversions", "delete pods"]
    assert (stage.said, stage.status.image) == (("ImageBuildSucceeded", "ImageBuilt"), f"hub/resnet@{DIGEST}")
    assert (stage.look(), stage.writes) == (None, [])
    kinds = ["Normal ModelVersion Building", "Warning ModelVersion TryingAgain", "Normal ModelVersion Building"]
    assert stage.events == [*kinds, "Normal ModelVersion ImageBuilt"]


def test_extras_that_the_registry_refused_are_told(runner: asyncio.Runner) -> None:
    """By a warning beside the good news."""
    stage = Stage(runner)
    stage.look()
    stage.becomes(ended(0, digest=DIGEST, notAttached="SBOM: 405"))
    stage.look()
    built = ["Normal ModelVersion Building", "Normal ModelVersion ImageBuilt"]
    assert stage.events == [*built, "Warning ModelVersion RegistryRefused"]


def test_a_refusal_is_quoted_and_tried_again_later(runner: asyncio.Runner) -> None:
    """PodSecurity, a quota: whoever may change that needs not make the version anew."""
    stage = Stage(runner)
    for _ in range(2):
        with pytest.raises(ApiError):
            stage.look((0, "refused"))
    assert stage.said == ("ImageBuilding", "PodForbidden")
    assert stage.status.message == "cannot create the build pod: exceeded quota"
    assert stage.events == ["Warning ModelVersion PodForbidden"]
    assert stage.writes == []
    stage.look()
    assert stage.said == ("ImageBuilding", "Building")


def test_a_pod_that_is_called_invalid_is_not_sent_again(
    runner: asyncio.Runner, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The version cannot be edited, so neither can its pod."""
    stage = Stage(runner)

    async def refuse(*_: object) -> None:
        raise InvalidError(422, "Invalid", "spec.nodeSelector: Node 1!")

    monkeypatch.setattr(stage.client, "create", refuse)
    assert stage.look() is None
    assert stage.said == ("ImageBuildFailed", "PodInvalid")
    assert stage.status.message == "cannot create the build pod: spec.nodeSelector: Node 1!"
    assert stage.status.finish_time == NOW
    assert stage.events == ["Warning ModelVersion PodInvalid"]
    assert (stage.look(), stage.writes) == (None, [])


def test_a_pod_of_that_name_that_is_somebody_elses_is_left_alone(runner: asyncio.Runner) -> None:
    """And the version says so."""
    stage = Stage(runner)
    stage.api.put(PODS, pod(uid="another"))
    with pytest.raises(ApiError):
        stage.look()
    assert stage.said == ("ImageBuilding", "PodNameTaken")


def test_efs_gets_its_claim_and_volume_first(runner: asyncio.Runner) -> None:
    """The claim belongs to the version; the volume is the claim's alone."""
    stage = Stage(runner, version(storage=EFS))
    stage.look()
    assert stage.writes == [
        "create persistentvolumeclaims",
        "create persistentvolumes",
        "create pods",
        "patch modelversions",
    ]
    [claim], [volume] = stage.api.all(CLAIMS), stage.api.all(PERSISTENT_VOLUMES)
    assert (claim.metadata.name, claim.metadata.controller.uid) == (f"mv-pvc-{UID}", UID)
    assert volume.metadata.name == f"mv-pv-{NAMESPACE}-{UID}"
    assert volume.metadata.labels == {"model.kubedl.io/claim-namespace": NAMESPACE}


@pytest.mark.parametrize("harm", ["crash before", "crash after", "lost before", "lost after"])
@pytest.mark.parametrize("write", range(4))
def test_a_crash_at_any_write_changes_nothing(runner: asyncio.Runner, write: int, harm: Harm) -> None:
    """The same objects in the end, each made once."""
    stage = Stage(runner, version(storage=EFS))
    with pytest.raises((Crash, ApiError)):
        stage.look((write, harm))
    stage.start()
    stage.look()
    stage.look()
    assert stage.said == ("ImageBuilding", "Building")
    assert stage.status.attempts == 1
    for resource in (CLAIMS, PERSISTENT_VOLUMES, PODS):
        assert len(stage.api.history[resource.plural]) == 1


@pytest.mark.parametrize("harm", ["crash before", "crash after", "lost before", "lost after"])
@pytest.mark.parametrize("write", range(2))
def test_a_failure_is_counted_once(runner: asyncio.Runner, write: int, harm: Harm) -> None:
    """Wherever the operator dies between counting and cleaning."""
    stage = Stage(runner)
    stage.look()
    stage.becomes(ended(1))
    stage.api.now += timedelta(seconds=60)
    with pytest.raises((Crash, ApiError)):
        stage.look((write, harm))
    for _ in range(3):
        stage.start()
        stage.look()
    assert stage.status.attempts == 2
    assert stage.api.find(PODS, POD).metadata.labels["model.kubedl.io/attempt"] == "2"


def test_progress_is_asked_for_now_and_then(runner: asyncio.Runner) -> None:
    """What is written about it is no reason to ask again."""
    stage = Stage(runner)
    stage.look()
    stage.becomes(pod(phase="Running"))
    stage.client.log = b"progress 5/10 weights.bin\n"
    assert stage.look() == 5
    assert stage.client.asked == ["get log 1"]
    assert (stage.status.progress.bytes_done, stage.status.progress.bytes_total) == (5, 10)
    stage.client.log = b"progress 9/10 weights.bin\n"
    assert (stage.look(), stage.client.asked, stage.writes) == (5, [], [])
    stage.api.now += timedelta(seconds=5)
    stage.look()
    assert (stage.status.progress.bytes_done, stage.writes) == (9, ["patch modelversions"])
    stage.client.log = b"progress 10/10 weights.bin\n"
    stage.api.now -= timedelta(hours=1)  # a clock that is set back
    stage.look()
    assert stage.status.progress.bytes_done == 10


def test_a_pod_that_does_not_start_is_explained_by_its_events(runner: asyncio.Runner) -> None:
    """After some time, by the last warning that its own status does not have."""
    stage = Stage(runner)
    stage.look()
    stage.client.events = [
        {"type": "Warning", "reason": "FailedMount", "message": "old", "lastTimestamp": "2026-01-01T12:00:01Z"},
        {"type": "Warning", "reason": "FailedMount", "message": MISSING, "lastTimestamp": "2026-01-01T12:00:09Z"},
        {"type": "Normal", "reason": "Pulled", "message": "x", "lastTimestamp": "2026-01-01T12:00:05Z"},
        {"type": "Warning", "reason": "FailedScheduling", "message": "x", "lastTimestamp": None},
    ]
    stage.look()
    assert stage.client.asked == []
    stage.api.now += timedelta(seconds=10)
    stage.look()
    assert stage.client.asked == [f"list events involvedObject.uid={stage.api.find(PODS, POD).metadata.uid}"]
    assert stage.said == ("ImageBuilding", "NotStarted")
    assert stage.status.message == f"the build pod cannot start: FailedMount: {MISSING}"


@pytest.mark.parametrize("phase", ["Pending", "Running"])
def test_silence_is_no_failure(runner: asyncio.Runner, phase: str) -> None:
    """A kubelet that does not answer, events that may not be read."""
    stage = Stage(runner)
    stage.look()
    stage.becomes(pod(phase=phase))
    stage.client.deaf = True
    stage.api.now += timedelta(seconds=60)
    assert stage.look() == 5
    assert stage.said == ("ImageBuilding", "Building")


def test_a_version_that_is_gone_is_forgotten(runner: asyncio.Runner) -> None:
    """The garbage collector takes the rest."""
    stage = Stage(runner)
    stage.api.drop(MODEL_VERSIONS, KEY)
    assert (stage.look(), stage.writes) == (None, [])


def test_a_build_pod_concerns_its_version() -> None:
    """And other pods nobody."""
    version_of = controllers_of(MODEL_VERSIONS.kind)
    assert list(version_of(pod())) == [KEY]
    assert list(version_of(Pod())) == []


def test_a_build_pod_of_another_namespace_decides_nothing(runner: asyncio.Runner) -> None:
    """Its last words would become the version's digest."""
    stage = Stage(runner)
    theirs = ended(0, digest=DIGEST, size=1)
    stage.api.put(PODS, with_metadata(theirs, namespace="evil", uid="theirs"))
    stage.look()
    assert stage.writes == ["create pods", "patch modelversions"]
    assert stage.said[0] == "ImageBuilding"
    stage.look()
    assert (stage.said[0], stage.status.image) == ("ImageBuilding", "")


@pytest.mark.parametrize(
    ("handle", "attributes", "words"),
    [
        ("fs-2:/", {}, "does not allow the AWS EFS file system fs-2"),
        ("fs-10:/", {}, "fs-10"),
        ("fs-1:/", {"mountTargetIp": "10.0.0.1"}, "mountTargetIp is not allowed"),
    ],
)
def test_no_volume_is_made_for_a_file_system_that_nobody_allowed(
    runner: asyncio.Runner, handle: str, attributes: dict[str, str], words: str
) -> None:
    """A PersistentVolume is an administrator's to make: the operator must not lend its right to everybody."""
    stage = Stage(runner, version(storage={"AWSEfs": {"volumeHandle": handle, "attributes": attributes}}))
    with pytest.raises(ForbiddenError):
        stage.look()
    assert stage.said == ("ImageBuilding", "PodStorageNotAllowed")
    assert words in stage.status.message
    assert stage.writes == ["patch modelversions"]


@pytest.mark.parametrize(("given", "allowed"), [("", False), ("fs-1", True), ("a/fs-1, b/fs-1", False)])
def test_a_file_system_is_allowed_everywhere_or_in_one_namespace(given: str, allowed: bool) -> None:
    systems, efs = FileSystems.parse(given), EfsStorage("fs-1:/m:fsap-1")
    if given.startswith("a/"):
        systems.check(efs, "a")
    if allowed:
        systems.check(efs, "team")
    else:
        with pytest.raises(ForbiddenError, match="--efs-file-systems"):
            systems.check(efs, "team")
