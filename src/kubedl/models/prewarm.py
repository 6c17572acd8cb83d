"""Images on nodes before a pod asks for them: one ImagePullJob of OpenKruise for each built version that wishes so.

The job is made once and belongs to its version. How it goes is asked for, not watched: few versions are being pulled
at a time, and where nobody wishes it OpenKruise is never asked for. Where it is missing, one question a minute does for
all versions, and none is asked for one whose build is long over: the day it is installed nobody pulls the images of
years. What came of it stays in the version's condition, also when somebody deletes the job.
"""

from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from typing import Any, Literal

import msgspec

from kubedl.api.conditions import Condition, find, set_condition
from kubedl.api.model import MODEL_VERSIONS, ModelVersion, PreWarm
from kubedl.kube.errors import ApiError, ForbiddenError, InvalidError, NotFoundError
from kubedl.models.build_pod import owner_of
from kubedl.runtime.store import Store
from kubedl.runtime.writer import OccupiedError, Writer, merge_changes
from kubedl.schema.rbac import Grant
from kubedl.wire import codec
from kubedl.wire.meta import Key, ObjectMeta, Record, Resource

GROUP = "apps.kruise.io"
CONDITION = "PreWarmed"
PREFIX, LONGEST_NAME = "pre-warm-", 63  # OpenKruise puts the name into labels
LOOK = 10.0  # seconds
LOOK_FOR_KRUISE = timedelta(minutes=1)
PATIENCE = timedelta(hours=1)  # after the build, with a cluster that does not take the job
LONG_AGO = datetime(1, 1, 1, tzinfo=UTC)
MOST_NAMED = 10  # nodes in a message
FINAL = ("Pulled", "PullFailed", "NoNodes", "JobGone", "NameTaken", "GivenUp")  # after these nothing more is done

GRANTS = (Grant(GROUP, ("imagepulljobs",), ("get", "create"), "Have OpenKruise pull model images to nodes."),)

Body = dict[str, Any]
State = Literal["True", "False", "Unknown"]


class PullStatus(Record, frozen=True):
    """How far OpenKruise is."""

    completion_time: datetime | None = None
    desired: int = 0
    succeeded: int = 0
    failed: int = 0
    message: str = ""
    failed_nodes: tuple[str, ...] | None = ()


class ImagePullJob(Record, frozen=True):
    """OpenKruise's order to its nodes."""

    metadata: ObjectMeta = ObjectMeta()
    status: PullStatus = PullStatus()


# OpenKruise has served this version from the first release with such jobs on.
IMAGE_PULL_JOBS = Resource(ImagePullJob, "ImagePullJob", "imagepulljobs", "v1alpha1", GROUP)


class PreWarming:
    """Reconciles ModelVersions that are built."""

    def __init__(self, versions: Store[ModelVersion], writer: Writer, *, clock: Callable[[], datetime]) -> None:
        self._versions = versions
        self._writer = writer
        self._clock = clock
        self._ask_again = LONG_AGO  # before then OpenKruise is taken for missing, whichever version wishes for it

    async def reconcile(self, key: Key) -> float | None:
        """Look at one version; returns in how many seconds to look again without being asked."""
        version = self._versions.get(key)
        wish = wished(version)
        if version is None or wish is None:
            return None
        try:
            found = await self._job(version, wish)
        except OccupiedError as error:
            await self._say(version, "False", error.reason, error.message)
            return None
        except (NotFoundError, ForbiddenError, InvalidError) as error:
            return await self._refused(version, error)
        if found is None:
            await self._say(version, "Unknown", "JobGone", "the ImagePullJob was deleted before it had ended")
            return None
        await self._say(version, *stated(found))
        return None if found.status.completion_time is not None else LOOK

    async def _job(self, version: ModelVersion, wish: PreWarm) -> ImagePullJob | None:
        """The job, made if it never was; None if somebody has deleted it."""
        if self._clock() < self._ask_again:
            raise NotFoundError(404, "", "as another version has heard")
        try:
            found = await self._writer.client.get(IMAGE_PULL_JOBS, Key(version.metadata.namespace, name_of(version)))
        except NotFoundError:
            said = find(version.status.conditions, CONDITION)
            if said is not None and said.reason == "Pulling":
                return None
            return await self._writer.create(version, IMAGE_PULL_JOBS, render(version, wish))
        reference = found.metadata.controller
        if reference is None or reference.uid != version.metadata.uid:
            raise OccupiedError(IMAGE_PULL_JOBS.kind, found.metadata.name)
        return found

    async def _refused(self, version: ModelVersion, error: ApiError) -> float | None:
        """Say so and come back, for some time."""
        reason, message = f"Job{error.reason or 'Refused'}", error.message
        if isinstance(error, NotFoundError):
            reason, message = (
                "KruiseNotInstalled",
                f"the cluster does not know {IMAGE_PULL_JOBS.name}; install OpenKruise",
            )
        now, built = self._clock(), version.status.finish_time or LONG_AGO
        if now - built >= PATIENCE:
            await self._say(version, "False", "GivenUp", f"{reason} for too long after the build: {message}")
            return None
        await self._say(version, "False", reason, message)
        if not isinstance(error, NotFoundError):
            raise error  # the queue waits longer each time
        if now >= self._ask_again:
            self._ask_again = now + LOOK_FOR_KRUISE
        return (self._ask_again - now).total_seconds()

    async def _say(self, version: ModelVersion, state: State, reason: str, message: str) -> None:
        generation = version.metadata.generation
        condition = Condition(
            type=CONDITION, status=state, reason=reason, message=message, observed_generation=generation
        )
        now = self._clock().replace(microsecond=0)
        conditions = set_condition(version.status.conditions, condition, now)
        status = msgspec.structs.replace(version.status, conditions=conditions)
        changes = merge_changes(codec.plain(version.status), codec.plain(status))
        if changes:
            await self._writer.patch_status(MODEL_VERSIONS, version, changes)


def wished(version: ModelVersion | None) -> PreWarm | None:
    """What is still to be done for a version."""
    if version is None or version.metadata.deletion_timestamp is not None or not version.status.image:
        return None
    said = find(version.status.conditions, CONDITION)
    return version.spec.pre_warm if said is None or said.reason not in FINAL else None


def name_of(version: ModelVersion) -> str:
    """Of the job."""
    meta, name = version.metadata, PREFIX + version.metadata.name
    return name if len(name) <= LONGEST_NAME else f"{PREFIX}{meta.uid}"


def render(version: ModelVersion, wish: PreWarm) -> Body:
    """The job as it is sent to the API server."""
    owner = owner_of(version)
    return {
        "apiVersion": IMAGE_PULL_JOBS.api_version,
        "kind": IMAGE_PULL_JOBS.kind,
        "metadata": {
            "name": name_of(version),
            "namespace": owner.namespace,
            "ownerReferences": [owner.reference],
        },
        "spec": {
            "image": version.status.image,
            "parallelism": wish.parallelism,
            "completionPolicy": {"type": "Always"},
            "pullPolicy": {"timeoutSeconds": wish.timeout_seconds},
            **({"selector": {"matchLabels": dict(wish.node_selector)}} if wish.node_selector else {}),
            **({"pullSecrets": [wish.secret_name]} if wish.secret_name else {}),
        },
    }


def stated(found: ImagePullJob) -> tuple[State, str, str]:
    """Status, reason and message of the condition."""
    status = found.status
    done = f"on {status.succeeded} of {status.desired} nodes"
    if status.completion_time is None:
        return "False", "Pulling", done
    if status.failed or status.succeeded < status.desired:
        nodes = ", ".join((status.failed_nodes or ())[:MOST_NAMED])
        return "False", "PullFailed", f"{done}; failed: {nodes or status.failed}" + _more(status)
    if not status.desired:
        return "False", "NoNodes", "no node was chosen: look at nodeSelector, and whether OpenKruise runs on the nodes"
    return "True", "Pulled", done


def _more(status: PullStatus) -> str:
    return f"; {status.message}" if status.message else ""
