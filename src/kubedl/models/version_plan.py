"""Plans the reconcile of a ModelVersion. Pure function of the observed state.

A version has one build pod at a time. The attempt is recorded in the status before its pod is created, so the limit
holds wherever the operator is killed. The image is set only after the packer has reported the digest that the registry
confirmed. A permanent failure, or too many failures, fail the version. Evictions, and errors that wait for a user to
fix a Secret or the registry, do not count; they are retried with increasing delays.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta

import msgspec

from kubedl.api.conditions import Condition, set_condition
from kubedl.api.model import DIGEST, ENDED, REBUILD, BuildProgress, ModelVersion, ModelVersionStatus, validate
from kubedl.kube import codec
from kubedl.kube.bounded_regex import BoundedPattern
from kubedl.kube.types.core import Pod, Terminated
from kubedl.models.build_pod import CONTAINER, attempt_of
from kubedl.models.pack_protocol import PERMANENT, PackResult

FAILURES = 6  # limit of counted failures
UNCOUNTED = ("Forbidden", "RepositoryMissing", "Stopped", "Unauthorized")  # reasons of the packer
ATTACHED = "Attached"  # condition: whether the registry has all referrers of the image
TAKEN_AWAY = ("Evicted", "NodeLost", "NodeShutdown", "Preempting", "Shutdown", "Terminated")  # reasons of the kubelet
FIRST_PAUSE, LONGEST_PAUSE = timedelta(seconds=10), timedelta(minutes=5)
LOOK = timedelta(seconds=5)  # maximum age of the progress of a running build
PATIENCE = timedelta(seconds=60)  # for a pod that should be gone; a second one would push the same image
LONGEST_MESSAGE = 1024
OVER = ("Succeeded", "Failed")
STARTING = "the build pod is starting"
PULLING = ("ErrImagePull", "ImagePullBackOff", "InvalidImageName", "ErrImageNeverPull")
NOT_STARTED = ("CreateContainerConfigError", "CreateContainerError", "RunContainerError")
_DIGEST = BoundedPattern(DIGEST, longest=71)


@dataclass(frozen=True)
class Observed:
    """The observed state of a version."""

    version: ModelVersion
    pod: Pod | None  # the build pod, of any attempt
    now: datetime
    progress: BuildProgress | None = None  # as reported by the packer
    warning: str = ""  # the kubelet's warning about a pod that does not start
    retrying: str = ""  # the error after which the packer tries again, as in its log


@dataclass(frozen=True)
class Plan:
    """The actions to take: a pod is created before the status is written, and deleted after."""

    status: ModelVersionStatus
    create: int | None = None  # the attempt to create a pod for
    delete: bool = False
    force: bool = False  # its node is unreachable
    again: timedelta | None = None  # time until the next reconcile


@dataclass(frozen=True)
class _End:
    """The result of a pod."""

    permanent: bool
    counts: bool
    reason: str
    message: str
    at: datetime | None


def plan(observed: Observed) -> Plan:
    """Plan the actions for a version."""
    version, pod = observed.version, observed.pod
    status = version.status
    if version.metadata.deletion_timestamp is not None:
        return Plan(status)  # its dependents are garbage-collected
    if status.image_build_phase == "ImageBuildFailed" and version.rebuild not in {"", status.rebuild}:
        return _begun_anew(observed)
    if status.image_build_phase in ENDED:
        # Keep the pod of a failed build for its log; that of a successful one is deleted.
        over = pod is not None and pod.metadata.deletion_timestamp is None
        return Plan(status, delete=over and status.image_build_phase == "ImageBuildSucceeded")
    wrong = validate(version.spec)
    if wrong is not None:
        return Plan(failed(observed, status.attempts, "SpecInvalid", f"spec.{wrong}"))
    return _build(observed, max(status.attempts, 1))


def _begun_anew(observed: Observed) -> Plan:
    """Restart a failed build on request: a new attempt, with the failures reset."""
    version = observed.version
    anew = {"failures": 0, "finish_time": None, "rebuild": version.rebuild, "image_build_phase": "ImageBuilding"}
    message = f"the build is restarted, as requested by the annotation {REBUILD}"
    status = _at(observed, version.status.attempts + 1, anew, "Rebuilding", message)
    return Plan(status, delete=observed.pod is not None and observed.pod.metadata.deletion_timestamp is None)


def failed(observed: Observed, attempt: int, reason: str, message: str) -> ModelVersionStatus:
    """Return the status of a version that failed permanently."""
    end = {"image_build_phase": "ImageBuildFailed", "finish_time": observed.now, "progress": None}
    return _at(observed, attempt, end, reason, message)


def pause(attempt: int) -> timedelta:
    """Return the delay before the next attempt."""
    return min(FIRST_PAUSE * (1 << min(attempt - 1, 10)), LONGEST_PAUSE)


def build_status(
    version: ModelVersion, status: ModelVersionStatus, reason: str, message: str, now: datetime
) -> ModelVersionStatus:
    """Return the status with its condition."""
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


def _build(observed: Observed, attempt: int) -> Plan:
    """Plan for a version that has no image yet."""
    pod, status = observed.pod, observed.version.status
    if pod is None:
        return Plan(_building(observed, attempt, "Building", _nth(attempt, STARTING)), create=attempt)
    if attempt_of(pod) >= attempt and pod.status.phase in OVER:
        return _ended(observed, attempt, pod)  # even if it is deleted meanwhile
    if pod.metadata.deletion_timestamp is not None:
        return _leaving(observed, attempt, pod.metadata.deletion_timestamp)
    if attempt_of(pod) < attempt:
        return Plan(_building(observed, attempt, "TryingAgain", status.message), delete=True)
    reason, message = _underway(observed, pod)
    return Plan(_building(observed, attempt, reason, _nth(attempt, message)), again=LOOK)


def _building(observed: Observed, attempt: int, reason: str, message: str) -> ModelVersionStatus:
    known = {"image_build_phase": "ImageBuilding", "progress": observed.progress or observed.version.status.progress}
    return _at(observed, attempt, known, reason, message)


def _at(
    observed: Observed, attempt: int, fields: Mapping[str, object], reason: str, message: str
) -> ModelVersionStatus:
    """Return the status of this attempt, with these fields."""
    version = observed.version
    # An annotation that exists from the start requests nothing; only a changed value does.
    asked = version.status.rebuild if version.status.attempts else version.rebuild
    known = {"image_tag": version.tag, "attempts": attempt, "rebuild": asked, **fields}
    status = msgspec.structs.replace(version.status, **known)
    return build_status(version, status, reason, message, observed.now)


def _nth(attempt: int, message: str) -> str:
    """Prefix the message with the attempt, from the second one on."""
    return message if attempt == 1 else f"attempt {attempt}: {message}"


def _leaving(observed: Observed, attempt: int, since: datetime) -> Plan:
    """Force deletion: a pod on an unreachable node would block its name forever."""
    status = _building(observed, attempt, "TryingAgain", "the build pod was deleted; it is replaced when it is gone")
    left = min(PATIENCE - (observed.now - since), PATIENCE)
    if left <= timedelta():
        return Plan(status, delete=True, force=True)
    return Plan(status, again=left)


def _underway(observed: Observed, pod: Pod) -> tuple[str, str]:
    """Return reason and message for a pod that has not ended: what it waits for, and how to fix it."""
    scheduled = pod.condition("PodScheduled")
    if scheduled is not None and scheduled.status == "False":
        return "Unschedulable", f"the build pod cannot be scheduled: {scheduled.message or scheduled.reason}"
    waiting = next(
        (container.state.waiting for container in pod.status.container_statuses if container.name == CONTAINER), None
    )
    if waiting is not None and waiting.reason in PULLING:
        return waiting.reason, f"the packer's image (--packer-image of the operator): {waiting.message}"
    if waiting is not None and waiting.reason in NOT_STARTED:
        return waiting.reason, f"the build pod cannot start: {waiting.message}"
    if observed.warning and pod.status.phase != "Running":
        return "NotStarted", f"the build pod cannot start: {observed.warning}"
    if observed.retrying:
        return "Building", f"the build pod tries again after an error: {observed.retrying}"
    return "Building", "the image is being built" if pod.status.phase == "Running" else STARTING


def _ended(observed: Observed, attempt: int, pod: Pod) -> Plan:
    final = next(
        (container.state.terminated for container in pod.status.container_statuses if container.name == CONTAINER), None
    )
    answer = _answer(final)
    if final is not None and final.exit_code == 0 and _DIGEST.fullmatch(answer.digest):
        return Plan(_built(observed, attempt, answer), delete=True)
    end = _judged(pod, final, answer)
    failures = observed.version.status.failures + end.counts
    if end.permanent or failures >= FAILURES:
        message = end.message if end.permanent else f"given up after {failures} failures: {end.message}"
        status = failed(observed, attempt, end.reason, message)
        return Plan(msgspec.structs.replace(status, failures=failures))
    wait = pause(attempt)
    left = min(wait - (observed.now - end.at), wait) if end.at is not None else timedelta()
    often = f"failure {failures} of {FAILURES}" if end.counts else "not counted as a failure"
    message = f"attempt {attempt}, {often}: {end.reason}: {end.message}"
    if left > timedelta():
        return Plan(_building(observed, attempt, "TryingAgain", message), again=left)
    status = _building(observed, attempt + 1, "TryingAgain", message)
    return Plan(msgspec.structs.replace(status, failures=failures), delete=True)


def _built(observed: Observed, attempt: int, answer: PackResult) -> ModelVersionStatus:
    version, repository = observed.version, observed.version.spec.image_repo
    artifact = _DIGEST.fullmatch(answer.artifact_digest)
    known = {
        "image": f"{repository}@{answer.digest}",
        "image_build_phase": "ImageBuildSucceeded",
        "finish_time": observed.now,
        "artifact": f"{repository}@{answer.artifact_digest}" if artifact else "",
        "size": answer.size,
        "layers_uploaded": answer.layers_uploaded,
        "layers_reused": answer.layers_reused,
        "bytes_uploaded": answer.bytes_uploaded,
        "signed": answer.signed,
        "progress": None,
    }
    status = _at(observed, attempt, known, "ImageBuilt", f"pushed as {repository}:{version.tag}")
    return msgspec.structs.replace(
        status, conditions=set_condition(status.conditions, _attached(observed, answer), observed.now)
    )


def _attached(observed: Observed, answer: PackResult) -> Condition:
    """Return whether the extras exist: ModelPack manifest, provenance and SBOM. The image works without them."""
    refused = answer.not_attached
    message = f"the registry rejected: {refused}" if refused else "ModelPack manifest, provenance and SBOM are attached"
    return Condition(
        type=ATTACHED,
        status="False" if refused else "True",
        reason="RegistryRefused" if refused else "AllAttached",
        message=message[:LONGEST_MESSAGE],
        observed_generation=observed.version.metadata.generation,
    )


def _answer(final: Terminated | None) -> PackResult:
    """Decode the packer's termination message; an empty result if it is invalid."""
    if final is None:
        return PackResult()
    try:
        return codec.decode(final.message, PackResult)
    except codec.UNREADABLE:
        return PackResult()


def _judged(pod: Pod, final: Terminated | None, answer: PackResult) -> _End:
    """Classify the end of a pod without an image."""
    counts = pod.status.reason not in TAKEN_AWAY and pod.holding("DisruptionTarget") is None
    if final is None:  # evicted, or its node is gone
        message = pod.status.message or "the build pod ended before the packer started"
        return _End(False, counts, pod.status.reason or "PodLost", message, pod.metadata.creation_timestamp)
    if answer.reason:
        counts = counts and answer.reason not in UNCOUNTED
        return _End(final.exit_code == PERMANENT, counts, answer.reason, answer.message, final.finished_at)
    output = final.message.strip()[-LONGEST_MESSAGE // 2 :]
    message = f"the packer exited with code {final.exit_code}" + (f": {output}" if output else "")
    reason = final.reason if final.reason not in ("", "Error", "Completed") else "PackerFailed"
    return _End(final.exit_code == PERMANENT, counts, reason, message, final.finished_at)
