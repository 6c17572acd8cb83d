"""Models and services: where a version comes from and who serves it, to those who may list each part."""

import pytest

from kubedl.console.object_kinds import INFERENCES, MODEL_VERSIONS, MODELS
from kubedl.console.problems import RefusalError
from kubedl.kube.types.meta import ObjectKey
from tests.unit.console.test_stream import Viewer, following
from tests.unit.console.world import World, caller

pytestmark = pytest.mark.looptime  # frames wait for a quarter of a second
ADA, BEN = caller("ada"), caller("ben")
BERT = ObjectKey("nlp", "bert")
DIGEST = "hub/bert@sha256:" + "a" * 64


def put_models(world: World) -> None:
    """A model of two versions in nlp, the newer one as a canary; and another in vision."""
    for namespace, name in (("nlp", "bert"), ("vision", "resnet")):
        status = {"versionCount": 2, "latestVersion": {"modelVersion": f"{name}-2"}}
        world.put(MODELS, namespace, name, spec={"description": "a model"}, status=status)
    uid = world.put_job("nlp", "bert-2")
    for number, job_uid in (("1", "uid-that-is-gone"), ("2", uid)):
        origin = {
            "jobKind": "PyTorchJob",
            "jobName": "bert-2",
            "jobUid": job_uid,
            "codeRepository": "https://me:secret@git.example/nlp.git",
            "codeRevision": "41c8e02",
            "trainerImages": {"train:1": "train@sha256:b"},
        }
        world.put(
            MODEL_VERSIONS,
            "nlp",
            f"bert-{number}",
            metadata={"creationTimestamp": f"2026-11-1{number}T00:00:00Z"},
            spec={"modelName": "bert", "createdBy": "mei.lin", "parent": "hub/base@sha256:c", "origin": origin},
            status={"image": DIGEST, "imageBuildPhase": "ImageBuildSucceeded", "size": 15, "signed": True},
        )
    rollout = {"phase": "Stepping", "stable": "bert-1", "candidate": "bert-2", "step": 1, "message": "step 2 of 3"}
    predictor = {"name": "main", "replicas": 4, "readyReplicas": 3, "trafficWeight": 100, "trafficPercent": 100}
    world.put(
        INFERENCES,
        "nlp",
        "chat",
        spec={
            "framework": "vLLM",
            "predictors": [
                {"name": "main", "modelVersion": "bert-2", "trafficWeight": 100, "template": {"spec": {"secret": "x"}}},
                {"name": "new"},
            ],
            "rollout": {"steps": [{"weight": 5, "pause": 600}, {"weight": 100}]},
        },
        status={
            "conditions": [{"type": "Ready", "status": "True", "reason": "AllReady"}],
            "predictorStatuses": [{**predictor, "modelVersion": "bert-2", "rollout": rollout}],
        },
    )


async def test_a_version_says_what_it_is_made_from_and_who_serves_it(world: World) -> None:
    """The newest first; without the password in the address of the code."""
    put_models(world)
    world.reviewer.allow("ada", "nlp", MODELS.name, MODEL_VERSIONS.name, INFERENCES.name)
    page = await world.pages.of_models.model(ADA, BERT)
    new, old = page.versions
    assert (new.name, new.state, new.image, new.signed, new.author) == ("bert-2", "Built", DIGEST, True, "mei.lin")
    assert (new.job, new.code_repository, new.code_revision) == ("bert-2", "https://git.example/nlp.git", "41c8e02")
    assert (list(new.images), new.parent) == (["train@sha256:b"], "hub/base@sha256:c")
    assert [(one.service, one.predictor, one.canary) for one in new.serving] == [("chat", "main", True)]
    assert [(one.service, one.canary, one.percent) for one in old.serving] == [("chat", False, 0)]
    assert (page.model.latest, page.model.served_by, page.missing) == ("bert-2", ["chat"], [])


async def test_a_job_that_took_the_name_of_a_deleted_one_is_not_its_maker(world: World) -> None:
    """Only the job of the same uid is a link."""
    put_models(world)
    world.reviewer.allow("ada", "nlp", MODELS.name, MODEL_VERSIONS.name)
    new, old = (await world.pages.of_models.model(ADA, BERT)).versions
    assert (new.job_there, old.job_there) == (True, False)


async def test_parts_that_may_not_be_listed_are_named_and_empty(world: World) -> None:
    put_models(world)
    world.reviewer.allow("ben", "nlp", MODELS.name)
    page = await world.pages.of_models.model(BEN, BERT)
    assert (list(page.versions), page.model.served_by) == ([], [])
    assert {(one.resource, one.namespace) for one in page.missing} == {
        (MODEL_VERSIONS.name, "nlp"),
        (INFERENCES.name, "nlp"),
    }
    rows = (await world.pages.of_models.models(BEN, "")).rows
    assert [(row.name, row.served_by) for row in rows] == [("bert", [])]


async def test_a_model_is_found_by_the_digest_of_a_version(world: World) -> None:
    """Of versions that a person may list; a short text is a part of a name."""
    put_models(world)
    status = {"image": "hub/bert@sha256:" + "cafe" * 16, "imageBuildPhase": "ImageBuildSucceeded"}
    world.put(MODEL_VERSIONS, "nlp", "bert-3", spec={"modelName": "bert"}, status=status)
    world.put(MODELS, "vision", "cafecafe-net")
    world.reviewer.allow("root", "", MODELS.name, MODEL_VERSIONS.name)
    world.reviewer.allow("cara", "", MODELS.name)

    async def found(who: str, search: str) -> list[tuple[str, str]]:
        rows = (await world.pages.of_models.models(caller(who), search)).rows
        return [(row.name, row.found) for row in rows]

    for digest in ("cafecafe", "sha256:" + "cafe" * 16, "hub/bert@sha256:cafecafecafe"):
        assert await found("root", digest) == [("bert", "bert-3")]
    assert await found("root", "cafeca") == [("cafecafe-net", "")]
    assert await found("root", "cafecafe0") == []
    assert await found("cara", "cafecafe") == [("cafecafe-net", "")]


async def test_lists_have_only_what_may_be_listed_and_what_is_searched(world: World) -> None:
    put_models(world)
    assert not (await world.pages.of_models.models(ADA, "")).rows
    world.reviewer.allow("root", "", MODELS.name)
    assert [row.name for row in (await world.pages.of_models.models(caller("root"), "")).rows] == ["bert", "resnet"]
    assert [row.name for row in (await world.pages.of_models.models(caller("root"), "res")).rows] == ["resnet"]


@pytest.mark.parametrize("name", ["bert", "nothing"])
async def test_what_one_may_not_list_is_refused_whether_it_exists_or_not(world: World, name: str) -> None:
    put_models(world)
    for answer in (
        world.pages.of_models.model(BEN, ObjectKey("nlp", name)),
        world.pages.of_services.service(BEN, ObjectKey("nlp", name)),
        world.pages.of_crons.cron(BEN, ObjectKey("nlp", name)),
    ):
        with pytest.raises(RefusalError) as refused:
            await answer
        assert (refused.value.status, name in str(refused.value)) == (403, False)


async def test_a_service_shows_predictors_weights_and_its_rollout(world: World) -> None:
    """What the operator has not said is not known, and no template is shown."""
    put_models(world)
    world.reviewer.allow("ada", "nlp", INFERENCES.name, MODEL_VERSIONS.name)
    service = await world.pages.of_services.service(ADA, ObjectKey("nlp", "chat"))
    main, new = service.predictors
    assert (main.model, main.ready, main.replicas, main.weight, main.percent) == ("bert", 3, 4, 100, 100)
    assert main.rollout is not None
    assert (main.rollout.phase, main.rollout.stable, main.rollout.candidate, main.rollout.step) == (
        "Stepping",
        "bert-1",
        "bert-2",
        1,
    )
    assert (new.weight, new.percent, new.rollout) == (None, None, None)
    assert [(step.weight, step.pause) for step in service.steps] == [(5, 600), (100, None)]
    assert (service.ready, service.framework) == ("True", "vLLM")
    assert "secret" not in repr(world.stores.inferences.get(ObjectKey("nlp", "chat")))
    assert [row.name for row in (await world.pages.of_services.services(ADA, "")).rows] == ["chat"]


async def test_a_model_is_not_named_by_a_service_to_those_who_may_not_list_versions(world: World) -> None:
    put_models(world)
    world.reviewer.allow("ben", "nlp", INFERENCES.name)
    [row] = (await world.pages.of_services.services(BEN, "")).rows
    assert row.predictors[0].model == ""


async def test_lists_are_bounded_and_say_so(world: World) -> None:
    world.reviewer.allow("root", "", MODELS.name, INFERENCES.name)
    for number in range(502):
        world.put(MODELS, "nlp", f"m{number:03}")
        world.put(INFERENCES, "nlp", f"s{number:03}")
    models = await world.pages.of_models.models(caller("root"), "")
    services = await world.pages.of_services.services(caller("root"), "")
    assert [(len(one.rows), one.more) for one in (models, services)] == [(500, 2), (500, 2)]


async def test_versions_are_bounded_and_the_newest_stay(world: World) -> None:
    world.reviewer.allow("root", "", MODELS.name, MODEL_VERSIONS.name, INFERENCES.name)
    world.put(MODELS, "nlp", "bert")
    for number in range(203):
        world.put(MODEL_VERSIONS, "nlp", f"v{number:03}", spec={"modelName": "bert"})
    page = await world.pages.of_models.model(caller("root"), BERT)
    assert (len(page.versions), page.more_versions, page.versions[0].name) == (200, 3, "v202")


async def test_changes_are_told_by_page(world: World) -> None:
    world.reviewer.allow("ada", "nlp", MODELS.name, MODEL_VERSIONS.name, INFERENCES.name)
    viewer = Viewer(world, "ada")
    async with viewer.stream(await viewer.cursor()) as events:
        await anext(events)
        put_models(world)
        assert set((await following(events)).data["touched"]) == {"models", "services"}
