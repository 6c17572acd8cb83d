"""What the API answers about where a model comes from and who serves it, from the cache and the history."""

import asyncio
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import structlog
from msgspec import to_builtins

from kubedl.console.history_source import History
from kubedl.console.kinds import job_resources
from kubedl.console.lineage_graph import Made, Trainer, chosen, graph
from kubedl.console.listing import Listing
from kubedl.console.model_pages import MOST_VERSIONS, job_of, may_list_job, versions_of, visible_model
from kubedl.console.object_kinds import INFERENCES, MODEL_VERSIONS, ShownVersion
from kubedl.console.people import Caller
from kubedl.console.problems import RefusalError
from kubedl.console.rows import job_row
from kubedl.console.served import Served, by_version
from kubedl.console.wire_base import Missing
from kubedl.console.wire_lineage import LineagePage
from kubedl.history.observed import Origin, RecordedJob
from kubedl.history.sanitizing import without_credentials
from kubedl.kube.types.meta import ObjectKey

if TYPE_CHECKING:
    from kubedl.history.queries.answers import Trained

FEW, MANY = 60, 300  # nodes; the second if somebody asks for all
PATIENCE_SECONDS = 3.0  # with the history: the rest of the graph is there at once
NO_ORIGIN = Origin()

log = structlog.get_logger()


@dataclass(frozen=True)
class Past:
    """What the history says about jobs that are gone: by uid, and whether it could be asked."""

    jobs: "Mapping[str, Trained]"
    state: str  # read, absent, failed; empty: nothing was to be asked


@dataclass(frozen=True)
class LineagePages:
    """Answers for one caller at a time."""

    listing: Listing
    history: History

    async def lineage(self, caller: Caller, key: ObjectKey, wanted: str, *, whole: bool) -> LineagePage:
        """Return the graph of a model: of its newest versions and all that serve, of `wanted`, or of all."""
        await visible_model(self.listing, caller, key)
        stores, namespace = self.listing.stores, key.namespace
        versions = await self.listing.visible_in(caller, MODEL_VERSIONS, stores.versions, namespace)
        services = await self.listing.visible_in(caller, INFERENCES, stores.inferences, namespace)
        own, served = versions_of(key.name, versions.objects), by_version(services.objects)
        serving = [one.metadata.name for one in own if one.metadata.key in served]
        few = chosen(own, serving, wanted, MOST_VERSIONS, whole=whole)
        hidden = {
            one.metadata.name
            for one in few
            if not await may_list_job(self.listing, caller, namespace, one.spec.origin or NO_ORIGIN)
        }
        past = await self._past(namespace, [one for one in few if one.metadata.name not in hidden])
        made = [self._made(one, served, past, hidden=one.metadata.name in hidden) for one in few]
        found = graph(made, versions.objects, len(own), MANY if whole else FEW)
        return LineagePage(
            nodes=found.nodes,
            edges=found.edges,
            left_out=found.left_out,
            history=past.state,
            missing=[
                *versions.missing,
                *services.missing,
                *_missing(namespace, (one for one in few if one.metadata.name in hidden)),
            ],
        )

    async def _past(self, namespace: str, versions: Sequence[ShownVersion]) -> Past:
        """Return what is recorded of the jobs that are gone, of kinds that the caller may list in this namespace.

        Whoever writes a version may name any uid in it, so a job of another namespace is not looked for.
        """
        origins = [one.spec.origin for one in versions if one.spec.origin is not None]
        gone = [one for one in origins if one.job_uid and job_of(self.listing.stores, namespace, one) is None]
        if not gone:
            return Past({}, "")
        if not self.history.installed:
            return Past({}, "absent")
        allowed = dict.fromkeys({one.job_kind for one in gone}, frozenset({namespace}))
        try:
            async with asyncio.timeout(PATIENCE_SECONDS):
                found = await self.history.insist().trained(allowed, {one.job_uid for one in gone})
        except (RefusalError, TimeoutError) as error:
            log.info("a lineage has no history", reason=str(error) or "it took too long")
            return Past({}, "failed")
        return Past(found, "read")

    def _made(self, version: ShownVersion, served: Served, past: Past, *, hidden: bool) -> Made:
        origin, namespace = version.spec.origin or NO_ORIGIN, version.metadata.namespace
        job = None if hidden else job_of(self.listing.stores, namespace, origin)
        recorded = None if hidden or job is not None else _recorded(origin, past)
        if job is not None:
            cache = to_builtins(job.spec.cache_backend) or {}
            trainer, code, data = _living(origin.job_kind, job), _code(job), list(_places(cache))
        elif recorded is not None:
            trainer, code, data = _dead(recorded), recorded.code or {}, list(_places(recorded.data or {}))
        else:
            sight = "hidden" if hidden else "gone" if origin.job_name else "none"
            known = ("", "") if hidden else (origin.job_kind, origin.job_name)
            trainer, code, data = Trainer(sight, *known), {}, []
        stated = origin.code_repository or origin.code_revision
        return Made(
            version=version,
            trainer=trainer,
            repository=without_credentials(origin.code_repository if stated else _text(code, "repository")),
            revision=origin.code_revision if stated else _text(code, "revision") or _text(code, "branch"),
            data=[without_credentials(place) for place in data],
            images=sorted(origin.trainer_images.values()),
            serving=served.get(version.metadata.key, ()),
        )


def _missing(namespace: str, versions: Iterable[ShownVersion]) -> list[Missing]:
    """Return the rights that would show the jobs of these versions."""
    kinds = {(one.spec.origin or NO_ORIGIN).job_kind.lower() for one in versions}
    names = sorted(job_resources()[kind].name for kind in kinds if kind in job_resources())
    return [Missing(verb="list", resource=name, namespace=namespace) for name in names]


def _recorded(origin: Origin, past: Past) -> "Trained | None":
    """Return the recorded job of a version; not another one whose uid somebody wrote into it."""
    found = past.jobs.get(origin.job_uid)
    same = found is not None and (found.job.kind, found.job.name) == (origin.job_kind, origin.job_name)
    return found if same else None


def _living(kind: str, job: RecordedJob) -> Trainer:
    row = job_row(kind, job)
    return Trainer("there", kind, row.name, row.uid, row.state, row.user, row.gpus, row.started, row.finished)


def _dead(recorded: "Trained") -> Trainer:
    job = recorded.job
    return Trainer(
        "recorded", job.kind, job.name, job.uid, job.state, job.user_name, job.gpus, job.started, job.finished
    )


def _code(job: RecordedJob) -> dict[str, Any]:
    source = job.spec.code_source
    if source is None:
        return {}
    return {"repository": source.repository, "revision": job.status.code_revision or source.revision or source.branch}


def _places(data: Mapping[str, Any]) -> Iterator[str]:
    """Yield where data is: its sources, or the name of the cache if that was made by somebody else."""
    dataset = data.get("dataset")
    sources = dataset.get("dataSources") if isinstance(dataset, dict) else None
    known = sources if isinstance(sources, list | tuple) else ()
    places = [_text(one, "location") for one in known if isinstance(one, dict)]
    yield from [place for place in places if place] or [name for name in (_text(data, "name"),) if name]


def _text(found: Mapping[str, Any], name: str) -> str:
    value = found.get(name)
    return value if isinstance(value, str) else ""
