"""From what is known of a ModelVersion to what is done for it. Pure.

A version has one build pod at a time. How often it was begun is in the status before another attempt is made, so that
the limit holds wherever the operator dies. An image is named only after the packer has said which digest the registry
has; a build that trying again cannot help, or that failed often enough, has failed for good. What is nobody's fault, or
waits for somebody to put a Secret or the registry right, does not count; it is tried again, more and more seldom.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta

import msgspec

from kubedl.api.conditions import Condition, set_condition
from kubedl.api.model import DIGEST, ENDED, REBUILD, BuildProgress, ModelVersion, ModelVersionStatus, complaint
from kubedl.models.build_pod import CONTAINER, attempt_of
from kubedl.models.order import PERMANENT, Answer
from kubedl.wire import codec
from kubedl.wire.core import Pod, Terminated
from kubedl.wire.pattern import Pattern

FAILURES = 6  # that are borne
UNCOUNTED = ("Forbidden", "RepositoryMissing", "Stopped", "Unauthorized")  # reasons of the packer
ATTACHED = "Attached"  # the condition that says whether the registry has all that refers to the image
TAKEN_AWAY = ("Evicted", "NodeLost", "NodeShutdown", "Preempting", "Shutdown", "Terminated")  # reasons of a kubelet
FIRST_PAUSE, LONGEST_PAUSE = timedelta(seconds=10), timedelta(minutes=5)
LOOK = timedelta(seconds=5)  # while a build goes on: how old its progress may be
PATIENCE = timedelta(seconds=60)  # with a pod that should be gone; a second one beside it would push the same image
LONGEST_MESSAGE = 1024
OVER = ("Succeeded", "Failed")
STARTING = "the build pod is starting"
PULLING = ("ErrImagePull", "ImagePullBackOff", "InvalidImageName", "ErrImageNeverPull")
NOT_STARTED = ("CreateContainerConfigError", "CreateContainerError", "RunContainerError")
_DIGEST = Pattern(DIGEST, longest=71)


@dataclass(frozen=True)
class Sight:
    """What is known of a version."""

    version: ModelVersion
    pod: Pod | None  # that builds it, of whatever attempt
    now: datetime
    progress: BuildProgress | None = None  # as far as the packer has said
    warning: str = ""  # what the kubelet says about a pod that does not start


@dataclass(frozen=True)
class Decision:
    """What is to be done: a pod is made before the status is written, and deleted after."""

    status: ModelVersionStatus
    create: int | None = None  # the attempt that a pod is made for
    delete: bool = False
    force: bool = False  # its node does not answer
    again: timedelta | None = None  # when to look without being asked


@dataclass(frozen=True)
class _End:
    """How a pod ended."""

    permanent: bool
    counts: bool
    reason: str
    message: str
    at: datetime | None


def decide(sight: Sight) -> Decision:
    """What is to be done for a version now."""
    version, pod = sight.version, sight.pod
    status = version.status
    if version.metadata.deletion_timestamp is not None:
        return Decision(status)  # the garbage collector takes what belongs to it
    if status.image_build_phase == "ImageBuildFailed" and version.rebuild not in {"", status.rebuild}:
        return _begun_anew(sight)
    if status.image_build_phase in ENDED:
        # Its log says why a build failed; one that succeeded has said all.
        over = pod is not None and pod.metadata.deletion_timestamp is None
        return Decision(status, delete=over and status.image_build_phase == "ImageBuildSucceeded")
    wrong = complaint(version.spec)
    if wrong is not None:
        return Decision(failed(sight, status.attempts, "SpecInvalid", f"spec.{wrong}"))
    return _build(sight, max(status.attempts, 1))


def _begun_anew(sight: Sight) -> Decision:
    """Somebody asks for another build of a version that has failed: with a new attempt, and all failures forgiven."""
    version = sight.version
    anew = {"failures": 0, "finish_time": None, "rebuild": version.rebuild, "image_build_phase": "ImageBuilding"}
    words = f"the build is begun anew, as the annotation {REBUILD} asks for"
    status = _at(sight, version.status.attempts + 1, anew, "Rebuilding", words)
    return Decision(status, delete=sight.pod is not None and sight.pod.metadata.deletion_timestamp is None)


def failed(sight: Sight, attempt: int, reason: str, message: str) -> ModelVersionStatus:
    """The status of a version that will have no image."""
    end = {"image_build_phase": "ImageBuildFailed", "finish_time": sight.now, "progress": None}
    return _at(sight, attempt, end, reason, message)


def pause(attempt: int) -> timedelta:
    """How long after a failed attempt the next may begin."""
    return min(FIRST_PAUSE * (1 << min(attempt - 1, 10)), LONGEST_PAUSE)


def stated(
    version: ModelVersion, status: ModelVersionStatus, reason: str, message: str, now: datetime
) -> ModelVersionStatus:
    """The status with what there is to say."""
    generation, ready = version.metadata.generation, status.image_build_phase == "ImageBuildSucceeded"
    message = message[:LONGEST_MESSAGE]
    condition = Condition(
        type="Ready",
        status="True" if ready else "False",
        reason=reason,
        message=message,
        observed_generation=generation,
    )
    return msgspec.structs.replace(
        status,
        message=message,
        conditions=set_condition(status.conditions, condition, now),
        observed_generation=generation,
    )


def _build(sight: Sight, attempt: int) -> Decision:
    """The version has no image yet, and may still get one."""
    pod, status = sight.pod, sight.version.status
    if pod is None:
        return Decision(_building(sight, attempt, "Building", _nth(attempt, STARTING)), create=attempt)
    if attempt_of(pod) >= attempt and pod.status.phase in OVER:
        return _ended(sight, attempt, pod)  # also if somebody deletes it meanwhile
    if pod.metadata.deletion_timestamp is not None:
        return _leaving(sight, attempt, pod.metadata.deletion_timestamp)
    if attempt_of(pod) < attempt:
        return Decision(_building(sight, attempt, "TryingAgain", status.message), delete=True)
    reason, message = _underway(sight, pod)
    return Decision(_building(sight, attempt, reason, _nth(attempt, message)), again=LOOK)


def _building(sight: Sight, attempt: int, reason: str, message: str) -> ModelVersionStatus:
    known = {"image_build_phase": "ImageBuilding", "progress": sight.progress or sight.version.status.progress}
    return _at(sight, attempt, known, reason, message)


def _at(sight: Sight, attempt: int, fields: Mapping[str, object], reason: str, message: str) -> ModelVersionStatus:
    """The status of that attempt, with these fields."""
    version = sight.version
    # What is there from the start asks for nothing: only another value than the one that a build began with does.
    asked = version.status.rebuild if version.status.attempts else version.rebuild
    known = {"image_tag": version.tag, "attempts": attempt, "rebuild": asked, **fields}
    status = msgspec.structs.replace(version.status, **known)
    return stated(version, status, reason, message, sight.now)


def _nth(attempt: int, message: str) -> str:
    """A later attempt is told as one."""
    return message if attempt == 1 else f"attempt {attempt}: {message}"


def _leaving(sight: Sight, attempt: int, since: datetime) -> Decision:
    """A pod whose node does not answer would hold its name for ever."""
    status = _building(sight, attempt, "TryingAgain", "the build pod was deleted; another follows when it is gone")
    left = min(PATIENCE - (sight.now - since), PATIENCE)
    if left <= timedelta():
        return Decision(status, delete=True, force=True)
    return Decision(status, again=left)


def _underway(sight: Sight, pod: Pod) -> tuple[str, str]:
    """Reason and message of a pod that has not ended: what it waits for, and what to do about it."""
    scheduled = pod.condition("PodScheduled")
    if scheduled is not None and scheduled.status == "False":
        return "Unschedulable", f"no node takes the build pod: {scheduled.message or scheduled.reason}"
    waiting = next((one.state.waiting for one in pod.status.container_statuses if one.name == CONTAINER), None)
    if waiting is not None and waiting.reason in PULLING:
        return waiting.reason, f"the packer's image (--packer-image of the operator): {waiting.message}"
    if waiting is not None and waiting.reason in NOT_STARTED:
        return waiting.reason, f"the build pod cannot start: {waiting.message}"
    if sight.warning and pod.status.phase != "Running":
        return "NotStarted", f"the build pod cannot start: {sight.warning}"
    return "Building", "the image is being built" if pod.status.phase == "Running" else STARTING


def _ended(sight: Sight, attempt: int, pod: Pod) -> Decision:
    final = next((one.state.terminated for one in pod.status.container_statuses if one.name == CONTAINER), None)
    answer = _answer(final)
    if final is not None and final.exit_code == 0 and _DIGEST.fullmatch(answer.digest):
        return Decision(_built(sight, attempt, answer), delete=True)
    end = _judged(pod, final, answer)
    failures = sight.version.status.failures + end.counts
    if end.permanent or failures >= FAILURES:
        message = end.message if end.permanent else f"given up after {failures} failures: {end.message}"
        status = failed(sight, attempt, end.reason, message)
        return Decision(msgspec.structs.replace(status, failures=failures))
    wait = pause(attempt)
    left = min(wait - (sight.now - end.at), wait) if end.at is not None else timedelta()
    often = f"failure {failures} of {FAILURES}" if end.counts else "not counted as a failure"
    message = f"attempt {attempt}, {often}: {end.reason}: {end.message}"
    if left > timedelta():
        return Decision(_building(sight, attempt, "TryingAgain", message), again=left)
    status = _building(sight, attempt + 1, "TryingAgain", message)
    return Decision(msgspec.structs.replace(status, failures=failures), delete=True)


def _built(sight: Sight, attempt: int, answer: Answer) -> ModelVersionStatus:
    version, repository = sight.version, sight.version.spec.image_repo
    artifact = _DIGEST.fullmatch(answer.artifact_digest)
    known = {
        "image": f"{repository}@{answer.digest}",
        "image_build_phase": "ImageBuildSucceeded",
        "finish_time": sight.now,
        "artifact": f"{repository}@{answer.artifact_digest}" if artifact else "",
        "size": answer.size,
        "layers_uploaded": answer.layers_uploaded,
        "layers_reused": answer.layers_reused,
        "bytes_uploaded": answer.bytes_uploaded,
        "signed": answer.signed,
        "progress": None,
    }
    status = _at(sight, attempt, known, "ImageBuilt", f"pushed as {repository}:{version.tag}")
    return msgspec.structs.replace(
        status, conditions=set_condition(status.conditions, _attached(sight, answer), sight.now)
    )


def _attached(sight: Sight, answer: Answer) -> Condition:
    """Whether the extras are there: ModelPack manifest, provenance, bill of materials. The image does not need them."""
    refused = answer.not_attached
    words = f"the registry refused: {refused}" if refused else "ModelPack manifest, provenance and SBOM are attached"
    return Condition(
        type=ATTACHED,
        status="False" if refused else "True",
        reason="RegistryRefused" if refused else "AllAttached",
        message=words[:LONGEST_MESSAGE],
        observed_generation=sight.version.metadata.generation,
    )


def _answer(final: Terminated | None) -> Answer:
    """The packer's last words; an empty answer if they are none."""
    if final is None:
        return Answer()
    try:
        return codec.decode(final.message, Answer)
    except codec.UNREADABLE:
        return Answer()


def _judged(pod: Pod, final: Terminated | None, answer: Answer) -> _End:
    """What an end without an image means."""
    disrupted = pod.condition("DisruptionTarget")
    counts = pod.status.reason not in TAKEN_AWAY and (disrupted is None or disrupted.status != "True")
    if final is None:  # evicted, or its node is gone
        words = pod.status.message or "the build pod ended before it began"
        return _End(False, counts, pod.status.reason or "PodLost", words, pod.metadata.creation_timestamp)
    if answer.reason:
        counts = counts and answer.reason not in UNCOUNTED
        return _End(final.exit_code == PERMANENT, counts, answer.reason, answer.message, final.finished_at)
    said = final.message.strip()[-LONGEST_MESSAGE // 2 :]
    words = f"the packer ended with code {final.exit_code}" + (f": {said}" if said else "")
    reason = final.reason if final.reason not in ("", "Error", "Completed") else "PackerFailed"
    return _End(final.exit_code == PERMANENT, counts, reason, words, final.finished_at)
