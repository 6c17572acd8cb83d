"""Makes what a plan asks for: what the pods need, then the Service and the pods, more at a time while all goes well.

The first refusal ends it. Whoever plans again from caches that show what was made goes on where this ended.
"""

from collections.abc import Awaitable, Callable
from contextlib import suppress
from functools import partial

from kubedl.api import model_volumes
from kubedl.api.conditions import is_true
from kubedl.api.model import ModelOutput
from kubedl.api.model_storage import Storage
from kubedl.api.model_volumes import Owner
from kubedl.api.pod_template import TemplateError
from kubedl.kube.errors import AlreadyExistsError, ApiError
from kubedl.runtime.together import AT_ONCE, each
from kubedl.runtime.writer import Writer
from kubedl.training import companions, pods, services
from kubedl.training.blocked import BLOCKED, Refusal
from kubedl.training.plan import Creation, Plan
from kubedl.training.repair import scope
from kubedl.training.snapshot import Snapshot
from kubedl.wire.core import PODS, SERVICES

Make = Callable[[], Awaitable[object]]

# Creations; doubled while all goes well, so that a quota is not run into a thousand times. After a refusal, one alone.
FIRST_BATCH, PROBE = 16, 1


async def create(writer: Writer, snapshot: Snapshot, decided: Plan) -> Refusal | None:
    """Make all of it; returns what was refused, if anything was."""
    made, kind, job = snapshot.job.made, snapshot.kind, snapshot.job
    work: list[Make] = []
    if decided.create_service:
        work.append(partial(writer.create, made, SERVICES, services.render(kind, job)))
    work += [partial(_create_pod, writer, snapshot, creation) for creation in decided.creations]
    size = PROBE if is_true(made.status.conditions, BLOCKED) else FIRST_BATCH
    try:
        await _accompany(writer, snapshot, first=decided.create_service)
        while work:
            batch, work = work[:size], work[size:]
            await each(lambda make: make(), batch)
            size = min(size * 2, AT_ONCE)
    except (ApiError, TemplateError) as refusal:
        return refusal
    return None


async def _accompany(writer: Writer, snapshot: Snapshot, *, first: bool) -> None:
    """A Service is the sign that all before it was made; not storage, which an operator of old left out."""
    kind, job = snapshot.kind, snapshot.job
    owner = Owner(job.namespace, job.uid, pods.owner_reference(kind, job))
    storage = _storage(job.spec.model_version)
    await model_volumes.provide(writer.client, storage, owner, snapshot.settings.file_systems)
    for companion in kind.companions(job) if first else ():
        # One that is there is this very job's, by its name; so the right to read is not needed.
        with suppress(AlreadyExistsError):
            body = companions.render(kind, job, companion)
            await writer.client.create(companion.resource, job.namespace, body)


def _storage(wish: ModelOutput | None) -> Storage | None:
    return wish.storage if wish is not None else None


async def _create_pod(writer: Writer, snapshot: Snapshot, creation: Creation) -> None:
    replica, attempt, settings = creation.replica, creation.attempt, snapshot.settings
    kind, job = snapshot.kind, snapshot.job
    body = partial(pods.render, kind, job, replica, attempt, scope=scope(snapshot), settings=settings)
    await writer.create(snapshot.job.made, PODS, body)
