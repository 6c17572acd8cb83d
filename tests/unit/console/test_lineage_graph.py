"""The graph of a model: what leads to what, what is one part, and what is left out if there is too much."""

from datetime import UTC, datetime, timedelta

from kubedl.api.model import ModelVersionStatus
from kubedl.console.lineage_graph import (
    MADE_FROM,
    MOST_MATERIALS,
    MOST_SERVICES,
    SERVED_BY,
    TRAINED_BY,
    VERSIONS,
    Graph,
    Made,
    Trainer,
    chosen,
    graph,
)
from kubedl.console.object_kinds import ShownVersion
from kubedl.console.wire_models import Serving
from kubedl.history.observed import Origin, RecordedVersionSpec
from kubedl.kube.types.meta import ObjectMeta

FIRST = datetime(2026, 11, 1, tzinfo=UTC)


def version(number: int, model: str = "bert", parent: str = "", origin: Origin | None = None) -> ShownVersion:
    """A version; those with a larger number are newer."""
    return ShownVersion(
        metadata=ObjectMeta(
            name=f"{model}-{number}", namespace="nlp", creation_timestamp=FIRST + timedelta(days=number)
        ),
        spec=RecordedVersionSpec(model_name=model, parent=parent, origin=origin),
        status=ModelVersionStatus(image=image(number, model), image_build_phase="ImageBuildSucceeded"),
    )


def image(number: int, model: str = "bert") -> str:
    """The image of a version."""
    return f"hub/{model}@sha256:{model}{number:060}"


def job(name: str = "train") -> Trainer:
    """A job that exists."""
    return Trainer("there", "PyTorchJob", name, f"uid-{name}", user="mei.lin")


def serving(service: str, percent: int | None = 100, *, canary: bool = False, predictor: str = "main") -> Serving:
    """A predictor of a service."""
    return Serving(service=service, predictor=predictor, percent=percent, canary=canary)


def drawn(*made: Made, others: tuple[ShownVersion, ...] = (), most: int = 60) -> Graph:
    """The graph of these versions, with others that may be parents."""
    return graph(made, [*others, *(one.version for one in made)], len(made), most)


def pairs(found: Graph) -> set[tuple[str, str]]:
    """What leads to what."""
    return {(edge.source, edge.target) for edge in found.edges}


def ids(found: Graph, column: int) -> list[str]:
    """The nodes of a column, in order."""
    return [node.id for node in found.nodes if node.column == column]


def test_code_data_and_image_lead_to_the_job_and_on_to_the_service() -> None:
    one = Made(
        version(1), job(), "https://git.example/nlp", "41c8e02", ["s3://mix"], ["torch@sha256:9"], [serving("chat")]
    )
    found = drawn(one)
    assert pairs(found) == {
        ("code:https://git.example/nlp@41c8e02", "job:uid-train"),
        ("data:s3://mix", "job:uid-train"),
        ("image:torch@sha256:9", "job:uid-train"),
        ("job:uid-train", "version:bert-1"),
        ("version:bert-1", "service:chat"),
    }
    assert [node.column for node in found.nodes] == sorted(node.column for node in found.nodes)
    assert (found.edges[-1].percent, found.left_out) == (100, 0)


def test_what_two_versions_have_in_common_is_one_part() -> None:
    """Code and data of both, a job that made both, a service of both; and versions stand newest first."""
    old = Made(version(1), job(), "git", "a", ["s3://mix"], serving=[serving("chat", 75)])
    new = Made(version(2), job(), "git", "a", ["s3://mix"], serving=[serving("chat", 25, canary=True)])
    found = drawn(old, new)
    assert ids(found, MADE_FROM) == ["code:git@a", "data:s3://mix"]
    assert ids(found, TRAINED_BY) == ["job:uid-train"]
    assert ids(found, VERSIONS) == ["version:bert-2", "version:bert-1"]
    assert ids(found, SERVED_BY) == ["service:chat"]
    shares = {(edge.source, edge.percent, edge.canary) for edge in found.edges if edge.target == "service:chat"}
    assert shares == {("version:bert-1", 75, False), ("version:bert-2", 25, True)}


def test_predictors_of_one_service_with_one_version_are_added() -> None:
    """Unless one of them is not known: then neither is the sum."""
    known = [serving("chat", 30, predictor="a"), serving("chat", 70, predictor="b")]
    assert drawn(Made(version(1), job(), serving=known)).edges[-1].percent == 100
    unknown = [serving("chat", 30, predictor="a"), serving("chat", None, predictor="b")]
    assert drawn(Made(version(1), job(), serving=unknown)).edges[-1].percent is None


def test_a_parent_in_the_graph_leads_from_its_version_to_the_job() -> None:
    found = drawn(Made(version(1), job("one")), Made(version(2, parent=image(1)), job("two")))
    [back] = [edge for edge in found.edges if edge.parent]
    assert (back.source, back.target) == ("version:bert-1", "job:uid-two")
    assert ids(found, MADE_FROM) == []


def test_a_parent_that_is_another_model_or_only_an_image_is_what_a_version_is_made_from() -> None:
    base = version(7, "llama")
    found = drawn(
        Made(version(1, parent=image(7, "llama")), job("one")),
        Made(version(2, parent="hub/elsewhere@sha256:c"), job("two")),
        others=(base,),
    )
    parents = {node.id: node.model for node in found.nodes if node.kind == "parent"}
    assert parents == {"parent:llama-7": "llama", "parent:hub/elsewhere@sha256:c": ""}


def test_a_version_is_not_its_own_parent() -> None:
    """Two versions with the same files have the same digest."""
    found = drawn(Made(version(1, parent=image(1)), job()))
    assert not [edge for edge in found.edges if edge.parent]
    assert ids(found, MADE_FROM) == [f"parent:{image(1)}"]


def test_hidden_jobs_are_never_one_part_and_have_no_name() -> None:
    """Not even that two versions come from the same one is told."""
    found = drawn(*(Made(version(number), Trainer("hidden")) for number in (1, 2)))
    assert sorted(ids(found, TRAINED_BY)) == ["job:hidden/bert-1", "job:hidden/bert-2"]
    assert {node.name for node in found.nodes if node.kind == "job"} == {""}


def test_deleted_jobs_of_one_name_are_different_jobs() -> None:
    """As when somebody makes one, deletes it and makes it again. A uid that is only stated is not shown."""
    origins = [Origin(job_kind="PyTorchJob", job_name="train", job_uid=uid) for uid in ("first", "second", "second")]
    gone = Trainer("gone", "PyTorchJob", "train")
    found = drawn(*(Made(version(number, origin=one), gone) for number, one in enumerate(origins)))
    assert sorted(ids(found, TRAINED_BY)) == ["job:PyTorchJob/train/first", "job:PyTorchJob/train/second"]
    assert {node.uid for node in found.nodes} == {""}


def test_the_newest_five_and_all_that_serve_are_chosen() -> None:
    newest = [version(number) for number in range(20, 0, -1)]
    names = [one.metadata.name for one in chosen(newest, ["bert-1", "bert-19"], "", 200, whole=False)]
    assert names == ["bert-19", "bert-1", "bert-20", "bert-18", "bert-17", "bert-16"]
    asked = chosen(newest, ["bert-19"], "bert-3", 200, whole=False)
    assert [one.metadata.name for one in asked][:2] == ["bert-3", "bert-19"]
    assert len(chosen(newest, [], "", 200, whole=True)) == 20
    assert len(chosen(newest, [], "", 12, whole=True)) == 12


def test_the_number_of_parts_is_bounded_and_those_that_serve_come_first() -> None:
    """What does not fit is counted; a version is there with all of its parts or not at all."""
    made = [
        Made(
            version(number), job(f"j{number}"), "git", str(number), serving=[serving("chat", 0)] if number > 90 else ()
        )
        for number in range(100, 0, -1)
    ]
    found = drawn(*made)
    assert len(found.nodes) <= 60
    assert {f"version:bert-{number}" for number in range(91, 101)} <= set(ids(found, VERSIONS))
    assert found.left_out == 100 - len(ids(found, VERSIONS))
    known = {node.id for node in found.nodes}
    assert all(edge.source in known and edge.target in known for edge in found.edges)


def test_a_version_with_too_many_parts_says_how_many_are_left_out() -> None:
    one = Made(
        version(1),
        job(),
        data=[f"s3://{number}" for number in range(MOST_MATERIALS + 3)],
        serving=[serving(f"s{number:03}") for number in range(MOST_SERVICES + 40)],
    )
    more = {node.column: node.count for node in drawn(one).nodes if node.kind == "more"}
    assert more == {MADE_FROM: 3, SERVED_BY: 40}
    assert ("version:bert-1", "more:version:bert-1") in pairs(drawn(one))
