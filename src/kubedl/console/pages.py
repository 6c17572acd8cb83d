"""What the API answers, from cache and rights. No HTTP here."""

from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import datetime
from time import monotonic

import msgspec

from kubedl.console.cache import Stores
from kubedl.console.cost_pages import CostPages
from kubedl.console.cron_pages import CronPages
from kubedl.console.cursor import Cursor
from kubedl.console.explaining import Explaining
from kubedl.console.feed import Feed
from kubedl.console.gpu_use import GpuUse
from kubedl.console.gpu_use import nobody as unmeasured
from kubedl.console.history_source import NO_HISTORY, History
from kubedl.console.holder_pages import HolderPages
from kubedl.console.kinds import PODS, ShownPod, job_resources
from kubedl.console.lineage_pages import LineagePages
from kubedl.console.listing import Listing
from kubedl.console.log_pages import LogPages
from kubedl.console.measuring import Measuring, nobody
from kubedl.console.metric_pages import MetricPages
from kubedl.console.model_pages import ModelPages
from kubedl.console.node_pages import NodePages
from kubedl.console.past_pages import PastPages
from kubedl.console.people import Caller
from kubedl.console.problems import RefusalError, forbidden, no_such_job
from kubedl.console.queue_pages import QueuePages
from kubedl.console.rights import Rights
from kubedl.console.rows import condition_rows, event_rows, job_row, pod_rows
from kubedl.console.run_pages import RunPages
from kubedl.console.service_pages import ServicePages
from kubedl.console.wire import JobList, JobPage
from kubedl.console.wire_base import Missing
from kubedl.console.wire_runs import ChangesPage, StartPage
from kubedl.console.wire_why import WhyPage
from kubedl.history.observed import RecordedJob
from kubedl.history.observed_pods import EVENTS
from kubedl.kube.types.meta import ObjectKey

WHOLE = 32_768  # characters of a message, the limit of the API


@dataclass(frozen=True)
class Pages:
    """Answers for one caller at a time."""

    stores: Stores
    feed: Feed
    rights: Rights
    now: Callable[[], datetime]
    history: History = NO_HISTORY
    measuring: Measuring = field(default_factory=nobody)
    gpu_use: GpuUse = field(default_factory=unmeasured)
    explaining: Explaining = field(default_factory=lambda: Explaining(monotonic))

    @property
    def of_nodes(self) -> NodePages:
        """Return the answers about nodes."""
        return NodePages(self.stores, self.rights)

    @property
    def of_holders(self) -> HolderPages:
        """Return the answers about who holds GPUs."""
        return HolderPages(self.stores, self.rights)

    @property
    def of_queues(self) -> QueuePages:
        """Return the answers about queues."""
        return QueuePages(self.listing)

    @property
    def of_models(self) -> ModelPages:
        """Return the answers about models."""
        return ModelPages(self.listing)

    @property
    def of_lineage(self) -> LineagePages:
        """Return the answers about where models come from."""
        return LineagePages(self.listing, self.history)

    @property
    def of_services(self) -> ServicePages:
        """Return the answers about services."""
        return ServicePages(self.listing)

    @property
    def of_metrics(self) -> MetricPages:
        """Return the answers about the requests of services."""
        return MetricPages(self.listing, self.measuring)

    @property
    def of_crons(self) -> CronPages:
        """Return the answers about Crons."""
        return CronPages(self.listing)

    @property
    def of_past(self) -> PastPages:
        """Return the answers about jobs that were deleted."""
        return PastPages(self.history, self.rights)

    @property
    def of_logs(self) -> LogPages:
        """Return the answers about logs of the archive."""
        return LogPages(self.history, self.rights)

    @property
    def of_costs(self) -> CostPages:
        """Return the answers about costs."""
        return CostPages(self.history, self.rights, self.now, self.gpu_use)

    @property
    def of_runs(self) -> RunPages:
        """Return the answers about a job beside others like it."""
        return RunPages(self.stores, self.history, self.rights, self.now)

    @property
    def listing(self) -> Listing:
        """Return the lists of all kinds but jobs."""
        return Listing(self.stores, self.rights)

    async def jobs(self, caller: Caller) -> JobList:
        """Return all jobs that a person may see."""
        self.stores.insist_read(*job_resources().values())
        snapshot = self.feed.snapshot()
        view = await self.rights.view(caller, self.feed.places(snapshot.rows))
        return JobList(
            cursor=str(Cursor(self.feed.epoch, snapshot.position, view.digest)),
            rows=[msgspec.Raw(row) for row in snapshot.seen_by(view.shows)],
            hidden_namespaces=view.hidden_namespaces([one.name for one in job_resources().values()]),
        )

    async def job(self, caller: Caller, kind: str, key: ObjectKey) -> JobPage:
        """Return one job with its pods and events."""
        job = await self.visible_job(caller, kind, key)
        self.stores.insist_read(PODS, EVENTS)
        missing: list[Missing] = []

        async def may_list(resource: str) -> bool:
            if await self.rights.list_in(caller, resource, key.namespace):
                return True
            missing.append(Missing(verb="list", resource=resource, namespace=key.namespace))
            return False

        sees_pods, sees_events = await may_list(PODS.name), await may_list(EVENTS.name)
        pods = self.pods_of(job)
        about = pods if sees_pods else []  # an event about a pod names it
        events = self.stores.events_about(job, about) if sees_events else []
        return JobPage(
            job=job_row(job_resources()[kind].kind, job, WHOLE),
            suspended=job.spec.suspend,
            reason=job.status.reason,
            conditions=condition_rows(job),
            pods=pod_rows(pods, self.now()) if sees_pods else (),
            events=event_rows(events),
            missing=missing,
        )

    async def why(self, caller: Caller, kind: str, key: ObjectKey) -> WhyPage:
        """Return why a job waits or failed. Evidence is read with the person's own token."""
        job = await self.visible_job(caller, kind, key)
        return await self.explaining.why(caller, job_resources()[kind], job)

    async def start(self, caller: Caller, kind: str, key: ObjectKey) -> StartPage:
        """Return when jobs like this one have started."""
        return await self.of_runs.start(caller, kind, await self.visible_job(caller, kind, key))

    async def changes(self, caller: Caller, kind: str, key: ObjectKey) -> ChangesPage:
        """Return what changed since the last job of its name that succeeded."""
        return await self.of_runs.changes(caller, kind, await self.visible_job(caller, kind, key))

    async def visible_job(self, caller: Caller, kind: str, key: ObjectKey) -> RecordedJob:
        """Return a job. One that the person may not see is refused alike, whether it exists or not."""
        resource = job_resources().get(kind)
        if resource is None:
            raise RefusalError(404, f"no kind {kind}", "KubeDL has no such kind of jobs", "Look in the list of jobs.")
        if not await self.rights.list_in(caller, resource.name, key.namespace):
            raise forbidden(caller.person.name, "list", resource.name, key.namespace)
        self.stores.insist_read(resource)
        job = self.stores.job(kind, key)
        if job is None:
            raise no_such_job(key.namespace, resource.kind, key.name)
        return job

    def pods_of(self, job: RecordedJob) -> list[ShownPod]:
        """Return the pods that a job controls."""
        return self.stores.pods.owned_by(job)
