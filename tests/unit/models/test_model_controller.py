"""Models: made for the versions that name them, listing them, and coming back while there are any."""

import asyncio
from typing import TYPE_CHECKING, Any, cast

import pytest

from harness.fakes.api_server import with_metadata
from kubedl.api.model import BY_MODEL, MODEL_VERSIONS, MODELS, Model, ModelSpec, ModelVersion, VersionInfo, model_key
from kubedl.kube.errors import ApiError
from kubedl.kube.types.meta import ObjectKey, ObjectMeta, Resource
from kubedl.models.grants import GRANTS
from kubedl.models.model_controller import (
    BY_NAME,
    MOST_LISTED,
    Informers,
    ModelController,
    Observed,
    Plan,
    plan,
    summary,
)
from kubedl.runtime.expectations import Expectations
from kubedl.runtime.store import Store
from kubedl.runtime.writer import Writer
from tests.training_builders import NAMESPACE, NOW, after
from tests.unit.models.versions import DIGEST, version
from tests.unit.training.api_model import ApiModel, ClientModel, Harm

if TYPE_CHECKING:
    from kubedl.kube.client import Client
    from kubedl.runtime.events import EventRecorder

KEY = ObjectKey(NAMESPACE, "resnet")
DESCRIBED = Model(
    metadata=ObjectMeta(name=KEY.name, namespace=NAMESPACE, uid="described"), spec=ModelSpec(description="cats, dogs")
)
IMAGE = f"hub/resnet@{DIGEST}"


def made(name: str, seconds: float = 0, *, built: bool = False, **metadata: object) -> ModelVersion:
    """A version that was made then."""
    status = (
        {"imageBuildPhase": "ImageBuildSucceeded", "image": IMAGE} if built else {"imageBuildPhase": "ImageBuilding"}
    )
    one: ModelVersion = with_metadata(
        version(status, name=name), uid=name, creation_timestamp=after(seconds), **metadata
    )
    return one


class Stage:
    """Versions in the model of the API server, and the controller of their Model."""

    def __init__(self, *versions: ModelVersion) -> None:
        self.api = ApiModel(NOW)
        self.events: list[str] = []
        self.writes: list[str] = []
        self.models: Store[Model] = Store({BY_NAME: lambda model: model.metadata.key}, BY_NAME)
        self._versions: Store[ModelVersion] = Store({BY_MODEL: model_key})
        self._client = ClientModel(self.api, self._write)
        writer = Writer(cast("Client", self._client), Expectations({}))
        self._controller = ModelController(Informers(self.models, self._versions), writer, cast("EventRecorder", self))
        for one in versions:
            self.api.put(MODEL_VERSIONS, one)

    def look(self, harm: tuple[int, Harm] | None = None) -> list[str]:
        """What is written."""
        self.writes.clear()
        self.models.replace(list(self.api.all(MODELS)))
        self._versions.replace(list(self.api.all(MODEL_VERSIONS)))
        self._client.harm, self._client.writes = harm, 0
        assert asyncio.run(self._controller.reconcile(KEY)) is None
        return list(self.writes)

    def event(self, about: Any, kind: str, reason: str, _: str) -> None:  # noqa: ANN401 - a reference
        """As a recorder."""
        self.events.append(f"{kind} {about.kind} {about.name} {reason}")

    def _write(self, verb: str, resource: Resource[Any], _: object) -> None:
        self.writes.append(f"{verb} {resource.plural}")

    @property
    def model(self) -> Model | None:
        """As it is."""
        found: Model | None = self.api.find(MODELS, KEY)
        return found


def test_a_model_that_is_only_named_is_made_and_lists_its_versions() -> None:
    """And nothing is written twice."""
    stage = Stage(made("old", 0, built=True), made("new", 1))
    assert stage.look() == ["create models"]
    assert stage.look() == ["patch models"]
    assert stage.model is not None
    assert stage.model.metadata.owner_references == ()
    assert stage.model.status.version_count == 2
    assert stage.look() == []


def test_the_latest_version_is_one_that_can_be_used() -> None:
    """The newest with an image; one that is being built, or has failed, is only listed."""
    versions = [made("a", 1, built=True), made("b", 2, built=True), made("c", 3)]
    status = summary(versions)
    assert status.latest_version == VersionInfo(model_version="b", image_name=IMAGE)
    assert [one.model_version for one in status.versions] == ["c", "b", "a"]
    assert summary([made("c")]).latest_version is None


def test_a_status_stays_small() -> None:
    """All are counted, not all are listed."""
    status = summary(made(f"v{number}", number) for number in range(MOST_LISTED + 1))
    assert (len(status.versions), status.version_count) == (MOST_LISTED, MOST_LISTED + 1)
    assert status.versions[0].model_version == f"v{MOST_LISTED}"


def test_a_model_that_is_deleted_comes_back_while_versions_name_it() -> None:
    """As it was, and not in silence. No version goes with it."""
    stage = Stage(made("a", built=True), made("b"))
    stage.api.put(MODELS, with_metadata(DESCRIBED, uid="first"))
    stage.look()
    assert (stage.look(), stage.events) == ([], [])
    stage.api.drop(MODELS, KEY)
    with pytest.raises(ApiError):
        stage.look((0, "refused"))
    assert stage.look() == ["create models"]
    assert stage.model is not None
    assert stage.model.spec == DESCRIBED.spec
    assert stage.model.metadata.uid != "first"
    assert stage.events == ["Warning ModelVersion a ModelBlocked", "Normal Model resnet ModelMadeAgain"]
    assert stage.look() == ["patch models"]
    assert stage.models.tombstones(KEY) == []
    assert len(list(stage.api.all(MODEL_VERSIONS))) == 2


def test_a_model_that_nobody_needed_is_forgotten() -> None:
    """A version that comes later has a Model of its own."""
    stage = Stage()
    stage.api.put(MODELS, DESCRIBED)
    stage.look()
    stage.api.drop(MODELS, KEY)
    assert stage.look() == []
    stage.api.put(MODEL_VERSIONS, made("a"))
    assert stage.look() == ["create models"]
    assert stage.model is not None
    assert (stage.model.spec.description, stage.events) == ("", [])


def test_versions_that_go_do_not_count() -> None:
    """A Model without versions is nobody's but its user's: it is neither made nor deleted."""
    assert Stage(made("a", deletion_timestamp=NOW)).look() == []
    stage = Stage(made("a"))
    stage.look()
    stage.look()
    stage.api.drop(MODEL_VERSIONS, ObjectKey(NAMESPACE, "a"))
    assert stage.look() == ["patch models"]
    assert stage.model is not None
    assert stage.model.status == summary([])


def test_no_right_that_nobody_uses() -> None:
    """Models are followed and made, never asked for one by one, and never edited or deleted."""
    verbs = {resource: grant.verbs for grant in GRANTS for resource in grant.resources}
    assert {resource: verbs[resource] for resource in verbs if resource.partition("/")[0] == "models"} == {
        "models": ("list", "watch", "create"),
        "models/status": ("patch",),
    }


def test_a_model_that_cannot_be_made_is_told_about_its_first_version() -> None:
    """A quota, for example."""
    stage = Stage(made("b", 1), made("a", 0))
    with pytest.raises(ApiError):
        stage.look((0, "refused"))
    assert stage.events == ["Warning ModelVersion a ModelBlocked"]


@pytest.mark.parametrize(
    ("model", "versions", "expected"),
    [
        (None, (), Plan(forget=True)),
        (DESCRIBED, (), Plan(status=summary(()), forget=True)),
        (DESCRIBED, (made("v1"),), Plan(status=summary((made("v1"),)), forget=True)),
        (with_metadata(DESCRIBED, deletion_timestamp=NOW), (made("v1"),), Plan(forget=True)),
    ],
)
def test_what_is_planned_follows_from_what_is_there(
    model: Model | None, versions: tuple[ModelVersion, ...], expected: Plan
) -> None:
    assert plan(Observed(KEY, model, None, versions)) == expected


@pytest.mark.parametrize(("former", "spec"), [(None, {}), (DESCRIBED, {"description": "cats, dogs"})])
def test_a_model_that_a_version_names_is_planned_as_it_was(former: Model | None, spec: dict[str, str]) -> None:
    """What was deleted is not forgotten before it is there again."""
    decided = plan(Observed(KEY, None, former, (made("v1"),)))
    assert decided.create is not None
    assert (decided.create["spec"], decided.status, decided.forget) == (spec, None, False)
