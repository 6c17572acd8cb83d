"""Applies the creates of a plan: auxiliary objects, then the Service, then the pods in growing batches.

It stops at the first rejection. The next plan, from caches that show the created objects, continues from there.
"""

from collections.abc import Awaitable, Callable, Iterable, Sequence
from contextlib import suppress
from functools import partial

from kubedl.api.conditions import is_true
from kubedl.kube.errors import AlreadyExistsError, ApiError
from kubedl.kube.types.core import PODS, SERVICES, Pod
from kubedl.podspec.template import TemplateError
from kubedl.runtime.concurrency import AT_ONCE, for_each
from kubedl.runtime.writer import Writer
from kubedl.training import auxiliary_objects, pods, services
from kubedl.training.addons import registry
from kubedl.training.addons.base import Addon
from kubedl.training.blocked import BLOCKED, Refusal
from kubedl.training.elastic.avoidance import avoid
from kubedl.training.elastic.leaving import due_notices
from kubedl.training.kind import AuxiliaryObject
from kubedl.training.kueue.admission import apply_admission
from kubedl.training.observed import Observed
from kubedl.training.plan import Creation, Plan
from kubedl.training.restarts import scope

Make = Callable[[], Awaitable[object]]

# Batch sizes; doubled on success, so that an exceeded quota does not cause a thousand errors. After a rejection, one
# create.
FIRST_BATCH, PROBE = 16, 1


async def create(writer: Writer, observed: Observed, decided: Plan) -> tuple[list[Pod], Refusal | None]:
    """Create all objects; returns the pods, or the rejection."""
    resource, kind, job = observed.job.resource, observed.kind, observed.job
    work, found = list[Make](), list[object]()
    if decided.create_service:
        work.append(partial(writer.create, resource, SERVICES, services.render(kind, job)))
    addons = registry.requested(resource)
    work += [partial(_create_pod, writer, observed, creation, addons) for creation in decided.creations]
    size = PROBE if is_true(resource.status.conditions, BLOCKED) else FIRST_BATCH
    try:
        await _ensure_prerequisites(writer, observed, decided, addons)
        await _ensure_groups(writer, observed, decided.creations)
        while work:
            batch, work = work[:size], work[size:]
            found += await for_each(lambda make: make(), batch)
            size = min(size * 2, AT_ONCE)
    except (ApiError, TemplateError) as refusal:
        return [], refusal
    return [one for one in found if isinstance(one, Pod)], None


async def _ensure_prerequisites(writer: Writer, observed: Observed, decided: Plan, addons: Sequence[Addon]) -> None:
    """What pods need. An existing Service implies that the objects exist; what add-ons prepare is always ensured."""
    kind, job = observed.kind, observed.job
    for addon in addons:
        await addon.prepare(writer, observed, decided.creations)
    if not decided.create_service:
        return
    objects = [
        *kind.auxiliary_objects(job),
        *(made for addon in addons for made in addon.objects(job, observed.settings)),
    ]
    for companion in objects:
        await _ensure(writer, observed, companion)


async def _ensure_groups(writer: Writer, observed: Observed, creations: Iterable[Creation]) -> None:
    """Declare the groups of these pods: not earlier, since some schedulers set resources aside for a group."""
    for gang in dict.fromkeys(creation.gang for creation in creations):
        declaration = gang.declaration(scope(observed)) if gang is not None else None
        if declaration is not None:
            await _ensure(writer, observed, declaration)


async def _ensure(writer: Writer, observed: Observed, companion: AuxiliaryObject) -> None:
    # An existing object belongs to this job, by its name; so no read permission is needed.
    with suppress(AlreadyExistsError):
        body = auxiliary_objects.render(observed.kind, observed.job, companion)
        await writer.client.create(companion.resource, observed.job.namespace, body)


async def _create_pod(writer: Writer, observed: Observed, creation: Creation, addons: Sequence[Addon]) -> Pod:
    replica, attempt, settings = creation.replica, creation.attempt, observed.settings
    kind, job = observed.kind, observed.job

    def body() -> pods.Body:
        pod = pods.render(kind, job, replica, attempt, scope=scope(observed), settings=settings, addons=addons)
        if creation.gang is not None:
            creation.gang.join(pod)
        if away := due_notices(observed):
            avoid(pod, away)
        if observed.queue is not None:
            apply_admission(pod, replica.role, observed.queue)
        return pod

    return await writer.create(observed.job.resource, PODS, body)
