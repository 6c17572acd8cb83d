"""What is decided about a ModelVersion: begun, waited for, tried again, given up, built."""

from datetime import timedelta
from typing import Any

import msgspec
import pytest

from harness.fakes.api_server import with_metadata
from kubedl.api.conditions import find
from kubedl.api.model import REBUILD, BuildProgress, ModelVersion, ModelVersionStatus
from kubedl.kube import codec
from kubedl.kube.types.core import Pod, PodCondition
from kubedl.models.build_pod import ATTEMPT
from kubedl.models.pack_protocol import PackResult
from kubedl.models.version_plan import (
    FAILURES,
    LONGEST_MESSAGE,
    LONGEST_PAUSE,
    LOOK,
    PATIENCE,
    Observed,
    Plan,
    pause,
    plan,
)
from tests.training_builders import NOW, after
from tests.unit.models.versions import DIGEST, OTHER, building, ended, pod, unschedulable, version, waiting
from tests.unit.training.api_model import with_status


def look(one: ModelVersion, found: Pod | None = None, seconds: float = 0, **more: Any) -> Plan:  # noqa: ANN401
    """Decide that long after the pod was made."""
    return plan(Observed(one, found, after(seconds), **more))


def said(decided: Plan) -> tuple[str | None, str]:
    """The phase, and why; the condition agrees with it."""
    ready = find(decided.status.conditions, "Ready")
    assert ready is not None
    assert (ready.status == "True") == (decided.status.image_build_phase == "ImageBuildSucceeded")
    assert ready.message == decided.status.message
    return decided.status.image_build_phase, ready.reason


def test_a_new_version_gets_its_first_pod() -> None:
    """Which the status speaks of."""
    decided = look(version())
    assert (said(decided), decided.create, decided.status.attempts) == (("ImageBuilding", "Building"), 1, 1)
    assert decided.status.image_tag == "v1"
    assert decided.status.image == ""


def test_an_answer_with_a_digest_is_an_image() -> None:
    """By digest; the pod is not needed any more."""
    told = PackResult(
        digest=DIGEST, artifact_digest=OTHER, size=7, layers_uploaded=1, layers_reused=2, bytes_uploaded=3, signed=True
    )
    decided = look(building(2, progress={"bytesDone": 1}), ended(0, codec.encode(told).decode(), attempt=2))
    status = decided.status
    assert said(decided) == ("ImageBuildSucceeded", "ImageBuilt")
    assert (status.image, status.artifact) == (f"hub/resnet@{DIGEST}", f"hub/resnet@{OTHER}")
    assert (status.size, status.layers_uploaded, status.layers_reused, status.signed) == (7, 1, 2, True)
    assert (status.finish_time, status.attempts, status.progress) == (NOW, 2, None)
    assert (decided.delete, decided.create) == (True, None)


@pytest.mark.parametrize(
    ("words", "expected"),
    [("", ("True", "AllAttached")), ("SBOM: 405", ("False", "RegistryRefused"))],
)
def test_extras_that_the_registry_refused_are_a_condition_and_no_failure(words: str, expected: tuple[str, str]) -> None:
    """With the registry's words; the version is ready all the same, and serves."""
    decided = look(building(), ended(0, digest=DIGEST, notAttached=words))
    attached = find(decided.status.conditions, "Attached")
    assert attached is not None
    assert (attached.status, attached.reason) == expected
    assert words in attached.message
    assert said(decided) == ("ImageBuildSucceeded", "ImageBuilt")


@pytest.mark.parametrize(
    "last_words", ["", "{", "[]", '{"digest": ""}', '{"digest": "latest"}', '{"digest": "sha256:abc"}', '{"digest": 5}']
)
def test_without_a_digest_there_is_no_image(last_words: str) -> None:
    """Whatever the exit code."""
    decided = look(building(), ended(0, last_words))
    assert (said(decided), decided.status.image) == (("ImageBuilding", "TryingAgain"), "")


def test_what_trying_again_cannot_help_has_failed_for_good() -> None:
    """With the packer's own reason and words; the pod stays, and its log with it."""
    decided = look(building(), ended(2, reason="TagConflict", message="take another tag", digest=DIGEST))
    assert said(decided) == ("ImageBuildFailed", "TagConflict")
    assert (decided.status.message, decided.status.finish_time, decided.delete) == ("take another tag", NOW, False)
    assert decided.status.image == ""


def test_an_end_that_comes_before_the_beginning_was_written_says_the_same() -> None:
    """The operator died after it had made the pod."""
    for found in (ended(2), ended(0, digest=DIGEST), ended(1)):
        assert look(version(), found).status == look(building(imageTag="v1"), found).status


def test_a_packer_that_cannot_even_say_why() -> None:
    """Its log is quoted, the end of it."""
    decided = look(building(), ended(2, "x" * 5000 + "unknown option"))
    assert said(decided) == ("ImageBuildFailed", "PackerFailed")
    assert decided.status.message.endswith("unknown option")
    assert len(decided.status.message) <= LONGEST_MESSAGE


TAKEN = (PodCondition(type="DisruptionTarget", status="True", reason="EvictionByEvictionAPI"),)
COUNTED = [
    (ended(1, reason="RegistryDown", message="503"), "RegistryDown: 503"),
    (ended(137, why="OOMKilled"), "OOMKilled: the packer exited with code 137"),
    (pod(phase="Failed", reason="NodeAffinity", message="no"), "NodeAffinity: no"),
    (pod(phase="Failed"), "PodLost: the build pod ended before the packer started"),
]
UNCOUNTED = [
    (ended(1, reason="Unauthorized", message="wrong password"), "Unauthorized: wrong password"),
    (ended(1, reason="Forbidden", message="token expired"), "Forbidden: token expired"),
    (ended(1, reason="RepositoryMissing", message="create it"), "RepositoryMissing: create it"),
    (ended(1, reason="Stopped", message="told to end"), "Stopped: told to end"),
    (pod(phase="Failed", reason="Evicted", message="disk"), "Evicted: disk"),
    (with_status(ended(137), conditions=TAKEN), "PackerFailed: the packer exited with code 137"),
]


@pytest.mark.parametrize(("found", "reason"), COUNTED + UNCOUNTED)
def test_what_may_help_is_tried_again_after_a_pause(found: Pod, reason: str) -> None:
    """The attempt is counted before its pod goes, and the pod is kept until then."""
    counts = (found, reason) in COUNTED
    waits = look(building(), found, seconds=4)
    assert (said(waits), waits.delete, waits.again) == (("ImageBuilding", "TryingAgain"), False, timedelta(seconds=6))
    often = f"failure 1 of {FAILURES}" if counts else "not counted as a failure"
    assert (waits.status.message, waits.status.failures) == (f"attempt 1, {often}: {reason}", 0)
    goes = look(building(), found, seconds=10)
    assert (goes.status.attempts, goes.delete, goes.create) == (2, True, None)
    assert goes.status.failures == counts


def test_a_counted_attempt_goes_and_the_next_one_comes() -> None:
    """An older pod is never judged again."""
    stays = look(building(2), ended(0, digest=DIGEST))
    assert (said(stays)[0], stays.delete, stays.create) == ("ImageBuilding", True, None)
    comes = look(building(2))
    assert (comes.create, comes.status.attempts) == (2, 2)
    assert comes.status.message == "attempt 2: the build pod is starting"


def test_pauses_grow_up_to_a_limit() -> None:
    """And are over at once where nobody knows since when to count."""
    assert [pause(attempt).total_seconds() for attempt in (1, 2, 3, 6, 9, 10**9)] == [10, 20, 40, 300, 300, 300]
    assert look(building(), ended(1, at=None)).delete
    assert look(building(), ended(1, at=after(10**9))).again == pause(1)
    assert pause(FAILURES) <= LONGEST_PAUSE


def test_it_is_not_tried_for_ever() -> None:
    """The number of failures is in the status."""
    decided = look(building(9, failures=FAILURES - 1), ended(1, attempt=9, reason="RegistryDown", message="503"))
    assert said(decided) == ("ImageBuildFailed", "RegistryDown")
    assert (decided.status.failures, decided.status.attempts) == (FAILURES, 9)
    assert decided.status.message == f"given up after {FAILURES} failures: 503"


@pytest.mark.parametrize(("found", "_"), UNCOUNTED)
def test_what_is_nobodys_fault_or_can_be_put_right_is_tried_for_ever(found: Pod, _: str) -> None:
    """As seldom as anything is: a password may be put right the next day."""
    found = with_metadata(found, labels={**found.metadata.labels, ATTEMPT: "100"})
    before = building(100, failures=FAILURES - 1)
    waits = look(before, found)
    assert (said(waits), waits.again) == (("ImageBuilding", "TryingAgain"), LONGEST_PAUSE)
    goes = look(before, found, seconds=LONGEST_PAUSE.total_seconds())
    assert (goes.delete, goes.status.attempts, goes.status.failures) == (True, 101, FAILURES - 1)


def test_a_pod_that_somebody_deleted_is_made_again_and_not_counted() -> None:
    """Nobody failed."""
    leaving = look(building(3), pod(3, "Running", deleted=NOW), seconds=20)
    assert (leaving.create, leaving.delete, leaving.again) == (None, False, timedelta(seconds=40))
    lost = look(building(3), pod(3, "Running", deleted=NOW), seconds=PATIENCE.total_seconds())
    assert (lost.delete, lost.force) == (True, True)
    gone = look(building(3))
    assert (gone.create, gone.status.attempts) == (3, 3)


def test_what_a_pod_said_counts_while_it_is_deleted() -> None:
    """Its image is there."""
    told = with_metadata(ended(0, digest=DIGEST), deletion_timestamp=NOW)
    assert look(building(), told).status.image == f"hub/resnet@{DIGEST}"


@pytest.mark.parametrize(
    ("found", "warning", "reason", "words"),
    [
        (pod(), "", "Building", "the build pod is starting"),
        (pod(phase="Running"), "", "Building", "the image is being built"),
        (unschedulable("0/2 nodes"), "", "Unschedulable", "the build pod cannot be scheduled: 0/2 nodes"),
        (
            waiting("ImagePullBackOff", "not found"),
            "",
            "ImagePullBackOff",
            "--packer-image of the operator): not found",
        ),
        (waiting("CreateContainerError", "no python3"), "", "CreateContainerError", "cannot start: no python3"),
        (waiting("ContainerCreating"), "", "Building", "the build pod is starting"),
        (waiting("ContainerCreating"), "FailedMount: no Secret", "NotStarted", "cannot start: FailedMount: no Secret"),
        (pod(phase="Running"), "FailedMount: before", "Building", "the image is being built"),
    ],
)
def test_what_a_build_waits_for_is_said(found: Pod, warning: str, reason: str, words: str) -> None:
    """And looked at again."""
    decided = look(building(), found, warning=warning)
    assert (said(decided), decided.again) == (("ImageBuilding", reason), LOOK)
    assert words in decided.status.message


def test_an_error_that_the_packer_tries_again_after_is_said() -> None:
    """Else a registry that does not answer looks like a long build."""
    decided = look(building(), pod(phase="Running"), retrying="RegistryUnreachable: refused")
    assert said(decided) == ("ImageBuilding", "Building")
    assert decided.status.message == "the build pod tries again after an error: RegistryUnreachable: refused"


def test_progress_is_passed_on_and_kept() -> None:
    """Also while the packer says nothing new."""
    half = BuildProgress(bytes_done=5, bytes_total=10)
    assert look(building(), pod(phase="Running"), progress=half).status.progress == half
    before = building(progress={"bytesDone": 5, "bytesTotal": 10})
    assert look(before, pod(phase="Running")).status.progress == half


@pytest.mark.parametrize(
    ("spec", "words"),
    [
        ({"storage": None}, "spec.storage: the storage of the model files"),
        ({"storage": {}}, "spec.storage: set exactly one of"),
        ({"imageRepo": "a:b"}, "spec.imageRepo: the repository"),
        ({"modelName": ""}, "spec.modelName: the name of the Model"),
        ({"imageTag": "a b"}, "spec.imageTag: a tag"),
        ({"parent": "hub/resnet:v1"}, "spec.parent: a model image by digest"),
    ],
)
def test_a_version_that_no_rule_has_seen_fails_with_the_field(spec: dict[str, Any], words: str) -> None:
    """Nothing is made for it."""
    decided = look(version(**spec))
    assert (said(decided), decided.create) == (("ImageBuildFailed", "SpecInvalid"), None)
    assert decided.status.message.startswith(words)


@pytest.mark.parametrize(("phase", "goes"), [("ImageBuildSucceeded", True), ("ImageBuildFailed", False)])
def test_what_is_over_stays_so(phase: str, goes: bool) -> None:
    """Only the pod of a build that succeeded goes, wherever the operator died before."""
    over = version({"imageBuildPhase": phase, "attempts": 1})
    assert look(over) == Plan(over.status)
    assert look(over, ended(0, digest=DIGEST)) == Plan(over.status, delete=goes)
    assert look(over, pod(deleted=NOW)) == Plan(over.status)


def test_one_that_is_deleted_is_left_to_the_garbage_collector() -> None:
    """Nothing is made for it again."""
    gone = with_metadata(version(), deletion_timestamp=NOW)
    assert look(gone) == Plan(gone.status)


def test_an_equal_sight_changes_nothing() -> None:
    """Deciding twice gives the status that is there."""
    for found in (pod(), pod(phase="Running"), ended(1), ended(2)):
        first = look(building(), found, seconds=1).status
        again = look(msgspec.structs.replace(building(), status=first), found, seconds=2).status
        assert again == first


def test_a_default_tag_is_long_enough_to_be_unique() -> None:
    """Five digits clash in a thousand versions more often than not; a tag that was chosen once is kept."""
    assert look(version(imageTag="")).status.image_tag == "12345678aaaa"
    begun = version({"imageBuildPhase": "ImageBuilding", "attempts": 1, "imageTag": "12345"}, imageTag="")
    assert (begun.tag, look(begun).status.image_tag) == ("12345", "12345")


def asking(one: ModelVersion, value: str) -> ModelVersion:
    """With the annotation that asks for another build."""
    made: ModelVersion = with_metadata(one, annotations={REBUILD: value})
    return made


FAILED = {"imageBuildPhase": "ImageBuildFailed", "attempts": 6, "failures": 6, "finishTime": "2026-01-01T00:00:00Z"}


def test_a_failed_version_is_built_again_when_somebody_asks() -> None:
    """Its failures are forgiven, its old pod goes, and the next attempt begins; asked once, it is done once."""
    decided = look(asking(version(FAILED), "1"), ended(2, attempt=6))
    assert (said(decided), decided.delete, decided.create) == (("ImageBuilding", "Rebuilding"), True, None)
    status = decided.status
    assert (status.attempts, status.failures, status.finish_time, status.rebuild) == (7, 0, None, "1")
    begun = asking(with_status_of(status), "1")
    assert look(begun).create == 7
    over = look(begun, ended(2, attempt=7, reason="BadModel", message="x"))
    assert said(over) == ("ImageBuildFailed", "BadModel")
    assert over.status.rebuild == "1"
    assert look(asking(with_status_of(over.status), "1")) == Plan(over.status)
    assert said(look(asking(with_status_of(over.status), "2"))) == ("ImageBuilding", "Rebuilding")


@pytest.mark.parametrize("status", [{}, {**FAILED, "imageBuildPhase": "ImageBuildSucceeded"}])
def test_the_annotation_asks_nothing_of_a_version_that_has_not_failed(status: dict[str, Any]) -> None:
    """One that is there from the start, say because a manifest was copied, is taken note of."""
    decided = look(asking(version(status), "1"))
    assert find(decided.status.conditions, "Ready") is None or said(decided) == ("ImageBuilding", "Building")
    assert decided.status.rebuild == ("" if status else "1")
    if not status:
        over = look(asking(with_status_of(decided.status), "1"), ended(2, reason="BadModel", message="x"))
        assert not look(asking(with_status_of(over.status), "1"), ended(2)).delete


def test_a_long_annotation_is_bounded() -> None:
    decided = look(asking(version(FAILED), "x" * 5000))
    assert decided.status.rebuild == "x" * 63
    assert look(asking(version({**FAILED, "rebuild": "x" * 63}), "x" * 5000)).status.image_build_phase == (
        "ImageBuildFailed"
    )


def with_status_of(status: ModelVersionStatus) -> ModelVersion:
    """The version, as it is after a status was written."""
    return msgspec.structs.replace(version(), status=status)
