"""Images on nodes: one job for a built version, whatever happens to operator, job and OpenKruise."""

import asyncio
from datetime import datetime
from typing import TYPE_CHECKING, Any, cast

import msgspec
import pytest

from harness.fakes.api_server import with_metadata
from kubedl.api.conditions import Condition, find
from kubedl.api.model import MODEL_VERSIONS, ModelVersion
from kubedl.kube import codec
from kubedl.kube.errors import ApiError, ForbiddenError, NotFoundError
from kubedl.kube.types.meta import ObjectKey, ObjectMeta
from kubedl.models.prepull_controller import (
    CONDITION,
    IMAGE_PULL_JOBS,
    LOOK,
    LOOK_FOR_KRUISE,
    PATIENCE,
    ImagePullJob,
    PrePullController,
    PullStatus,
    build_status,
    pull_job_name,
    render,
    wished,
)
from kubedl.runtime.expectations import Expectations
from kubedl.runtime.store import Store
from kubedl.runtime.writer import Writer
from tests.training_builders import NAMESPACE, NOW
from tests.unit.models.versions import DIGEST, NAME, UID, version
from tests.unit.training.api_model import ApiModel, ClientModel, Crash, Harm

if TYPE_CHECKING:
    from kubedl.kube.client import Client

KEY = ObjectKey(NAMESPACE, NAME)
JOB = ObjectKey(NAMESPACE, f"pre-warm-{NAME}")
IMAGE = f"hub/resnet@{DIGEST}"
BUILT = {"imageBuildPhase": "ImageBuildSucceeded", "image": IMAGE, "finishTime": codec.plain(NOW)}
WISH: dict[str, Any] = {"nodeSelector": {"pool": "gpu"}, "parallelism": 2, "timeoutSeconds": 60, "secretName": "hub"}


def wishing(status: dict[str, Any] | None = None, **wish: object) -> ModelVersion:
    return version(BUILT if status is None else status, preWarm={**WISH, **wish})


class Stage:
    """A version in the model of the API server, and the controller."""

    def __init__(self, one: ModelVersion | None = None) -> None:
        self.api = ApiModel(NOW)
        self.writes: list[str] = []
        self.installed = True
        self.api.put(MODEL_VERSIONS, one or wishing())
        self._versions: Store[ModelVersion] = Store()
        self.client = ClientModel(self.api, self._write)
        writer = Writer(cast("Client", self.client), Expectations({}))
        self._controller = PrePullController(self._versions, writer, clock=lambda: self.api.now)

    def look(self, harm: tuple[int, Harm] | None = None, name: str = NAME) -> float | None:
        """Reconcile; returns when to look again."""
        self.writes.clear()
        self.client.harm, self.client.writes, self.client.dead = harm, 0, False
        self._versions.replace(list(self.api.all(MODEL_VERSIONS)))
        return asyncio.run(self._controller.reconcile(ObjectKey(NAMESPACE, name)))

    def pulled(self, **status: Any) -> None:  # noqa: ANN401 - whatever OpenKruise says
        """OpenKruise says something."""
        found = self.api.find(IMAGE_PULL_JOBS, JOB)
        self.api.put(IMAGE_PULL_JOBS, msgspec.structs.replace(found, status=PullStatus(**status)))

    @property
    def said(self) -> Condition:
        found = find(self.api.find(MODEL_VERSIONS, KEY).status.conditions, CONDITION)
        assert found is not None
        return found

    def _write(self, verb: str, resource: Any, _: object) -> None:  # noqa: ANN401 - of any kind
        if resource is IMAGE_PULL_JOBS and not self.installed:
            self.writes.append("in vain")
            raise NotFoundError(404, "", "the server could not find the requested resource")
        self.writes.append(f"{verb} {resource.plural}")


def test_one_job_is_made_and_followed_to_its_end() -> None:
    stage = Stage()
    assert stage.look() == LOOK
    assert stage.writes == ["create imagepulljobs", "patch modelversions"]
    stage.pulled(desired=3, succeeded=1)
    assert stage.look() == LOOK
    assert (stage.said.status, stage.said.reason, stage.said.message) == ("False", "Pulling", "on 1 of 3 nodes")
    assert stage.look() == LOOK
    assert stage.writes == []
    stage.pulled(desired=3, succeeded=3, completion_time=NOW)
    assert stage.look() is None
    assert (stage.said.status, stage.said.reason) == ("True", "Pulled")
    stage.api.drop(IMAGE_PULL_JOBS, JOB)
    assert stage.look() is None
    assert stage.writes == []


@pytest.mark.parametrize("harm", ["crash before", "crash after", "lost before", "lost after"])
@pytest.mark.parametrize("write", [0, 1])
def test_wherever_the_operator_dies_there_is_one_job(harm: Harm, write: int) -> None:
    stage = Stage()
    with pytest.raises((Crash, ApiError)):
        stage.look((write, harm))
    assert stage.look() == LOOK
    assert len(list(stage.api.all(IMAGE_PULL_JOBS))) == 1
    assert stage.said.reason == "Pulling"


def test_a_job_that_somebody_deleted_is_not_made_again() -> None:
    stage = Stage()
    stage.look()
    stage.api.drop(IMAGE_PULL_JOBS, JOB)
    assert stage.look() is None
    assert (stage.said.status, stage.said.reason) == ("Unknown", "JobGone")
    assert stage.look() is None
    assert list(stage.api.all(IMAGE_PULL_JOBS)) == []


def test_without_openkruise_the_version_says_so_until_it_is_there() -> None:
    stage = Stage()
    stage.installed = False
    assert stage.look() == LOOK_FOR_KRUISE.total_seconds()
    assert (stage.said.status, stage.said.reason) == ("False", "KruiseNotInstalled")
    assert "install OpenKruise" in stage.said.message
    stage.installed = True
    stage.api.now += LOOK_FOR_KRUISE
    assert stage.look() == LOOK
    assert stage.said.reason == "Pulling"


def test_openkruise_is_looked_for_once_for_all_versions() -> None:
    stage = Stage()
    stage.installed = False
    stage.api.put(MODEL_VERSIONS, with_metadata(wishing(), name="another", uid="another"))
    stage.look()
    assert stage.writes == ["in vain", "patch modelversions"]
    stage.api.now += LOOK_FOR_KRUISE / 4
    assert stage.look(name="another") == LOOK_FOR_KRUISE.total_seconds() * 3 / 4
    assert stage.writes == ["patch modelversions"]


def test_a_clock_that_is_set_back_hides_openkruise_from_nobody() -> None:
    stage = Stage()
    stage.installed = False
    stage.look()
    stage.installed = True
    stage.api.now -= PATIENCE
    assert stage.look() == LOOK
    assert stage.said.reason == "Pulling"


@pytest.mark.parametrize("finished", [NOW, None])
def test_nobody_waits_for_openkruise_for_ever(finished: datetime | None) -> None:
    """So that the day it comes is not the day on which all images of years are pulled."""
    stage = Stage(wishing({**BUILT, "finishTime": codec.plain(finished)}))
    stage.installed = False
    stage.api.now += PATIENCE
    assert stage.look() is None
    assert (stage.said.status, stage.said.reason) == ("False", "RetriesExhausted")
    assert "install OpenKruise" in stage.said.message
    stage.installed = True
    assert (stage.look(), stage.writes) == (None, [])


def test_nor_for_a_right_or_a_quota() -> None:
    stage = Stage()
    stage.api.now += PATIENCE
    assert stage.look((0, "refused")) is None
    assert (stage.said.reason, "exceeded quota" in stage.said.message) == ("RetriesExhausted", True)


def test_a_job_of_somebody_else_is_left_alone() -> None:
    stage = Stage()
    stage.api.put(IMAGE_PULL_JOBS, ImagePullJob(metadata=ObjectMeta(name=JOB.name, namespace=NAMESPACE, uid="1")))
    assert stage.look() is None
    assert stage.said.reason == "NameTaken"


def test_a_refusal_is_told_and_tried_again() -> None:
    stage = Stage()
    with pytest.raises(ForbiddenError):
        stage.look((0, "refused"))
    assert (stage.said.reason, stage.said.message) == ("JobForbidden", "exceeded quota")
    assert stage.look() == LOOK


@pytest.mark.parametrize(
    "one",
    [
        version(BUILT),
        wishing({"imageBuildPhase": "ImageBuilding"}),
        wishing({"imageBuildPhase": "ImageBuildFailed"}),
        with_metadata(wishing(), deletion_timestamp=NOW),
        None,
    ],
)
def test_nothing_is_done_without_a_wish_or_an_image(one: ModelVersion | None) -> None:
    assert wished(one) is None
    stage = Stage(one or version({}))
    assert stage.look() is None
    assert stage.writes == []


@pytest.mark.parametrize(
    ("status", "state", "reason", "words"),
    [
        (PullStatus(), "False", "Pulling", "on 0 of 0 nodes"),
        (PullStatus(completion_time=NOW), "False", "NoNodes", "no node selected"),
        (
            PullStatus(completion_time=NOW, desired=2, succeeded=1, failed=1, failed_nodes=("b",), message="no space"),
            "False",
            "PullFailed",
            "on 1 of 2 nodes; failed: b; no space",
        ),
        (
            PullStatus(completion_time=NOW, desired=2, succeeded=1, failed_nodes=None),
            "False",
            "PullFailed",
            "failed: 0",
        ),
    ],
)
def test_what_openkruise_says_is_told(status: PullStatus, state: str, reason: str, words: str) -> None:
    found = build_status(ImagePullJob(status=status))
    assert found[:2] == (state, reason)
    assert words in found[2]


def test_the_job_is_what_was_wished() -> None:
    one = wishing()
    wish = wished(one)
    assert wish is not None
    body = render(one, wish)
    assert body["spec"] == {
        "image": IMAGE,
        "parallelism": 2,
        "completionPolicy": {"type": "Always"},
        "pullPolicy": {"timeoutSeconds": 60},
        "selector": {"matchLabels": {"pool": "gpu"}},
        "pullSecrets": ["hub"],
    }
    assert body["metadata"]["ownerReferences"][0]["uid"] == UID
    plain = version(BUILT, preWarm={})
    assert plain.spec.pre_warm is not None
    assert render(plain, plain.spec.pre_warm)["spec"].keys().isdisjoint({"selector", "pullSecrets"})


def test_a_long_name_stays_one() -> None:
    assert pull_job_name(version(name="a" * 60)) == f"pre-warm-{UID}"
    assert len(pull_job_name(version(name="a" * 54))) == 63
