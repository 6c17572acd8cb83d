"""What the API answers about Crons: their schedule, and their last runs."""

from dataclasses import dataclass
from datetime import datetime

from kubedl.api.conditions import find
from kubedl.console.kinds import job_resources
from kubedl.console.listing import Listing
from kubedl.console.object_kinds import CRONS, ShownCron
from kubedl.console.people import Caller
from kubedl.console.problems import RefusalError
from kubedl.console.rows import LONGEST_MESSAGE
from kubedl.console.wire_crons import CronList, CronRow, RunRow
from kubedl.kube.types.meta import ObjectKey

MOST_RUNS = 30
MISSED = "RunMissed"  # the reason of the operator, as `kubedl why` reads it


@dataclass(frozen=True)
class CronPages:
    """Answers for one caller at a time."""

    listing: Listing

    async def crons(self, caller: Caller, search: str) -> CronList:
        """Return the Crons whose names contain a text."""
        listed = await self.listing.visible(caller, CRONS, self.listing.stores.crons)
        found, more = listed.named(search)
        return CronList(
            installed=self.listing.installed(CRONS),
            rows=[await self._row(caller, one) for one in found],
            more=more,
            missing=listed.missing,
        )

    async def cron(self, caller: Caller, key: ObjectKey) -> CronRow:
        """Return one Cron."""
        return await self._row(caller, await self.visible(caller, key))

    async def visible(self, caller: Caller, key: ObjectKey) -> ShownCron:
        """Return a Cron. One that the person may not see is refused alike, whether it exists or not."""
        await self.listing.insist(caller, CRONS, key.namespace)
        found = self.listing.stores.crons.get(key)
        if found is None:
            raise RefusalError(404, f"no Cron {key}", "it does not exist, or was deleted", "Look in the list of crons.")
        return found

    async def _row(self, caller: Caller, cron: ShownCron) -> CronRow:
        spec, status, meta = cron.spec, cron.status, cron.metadata
        ready = find(status.conditions, "Ready")
        return CronRow(
            namespace=meta.namespace,
            name=meta.name,
            kind=spec.template.kind,
            schedule=spec.schedule,
            time_zone=spec.time_zone or "UTC",
            policy=spec.concurrency_policy,
            suspended=spec.suspend,
            ready=ready.status if ready is not None else "",
            reason=ready.reason if ready is not None else "",
            message=ready.message[:LONGEST_MESSAGE] if ready is not None else "",
            missed=ready is not None and ready.reason == MISSED,
            next=status.next_schedule_time,
            last=status.last_schedule_time,
            runs=await self._runs(caller, cron),
        )

    async def _runs(self, caller: Caller, cron: ShownCron) -> list[RunRow]:
        namespace, kind = cron.metadata.namespace, cron.spec.template.kind.lower()
        resource = job_resources().get(kind)
        seen = resource is not None and await self.listing.rights.list_in(caller, resource.name, namespace)

        def there(of: str, name: str) -> bool:
            return seen and of.lower() == kind and self.listing.stores.job(kind, ObjectKey(namespace, name)) is not None

        active = [
            RunRow(
                kind=one.kind,
                name=one.name,
                status="Active",
                there=there(one.kind, one.name),
                created=self._created(kind, ObjectKey(namespace, one.name)) if seen else None,
                finished=None,
            )
            for one in reversed(cron.status.active)
        ]
        ended = [
            RunRow(
                kind=one.object.kind,
                name=one.object.name,
                status=one.status,
                there=there(one.object.kind, one.object.name),
                created=one.created,
                finished=one.finished,
            )
            for one in reversed(cron.status.history)
        ]
        return [*active, *ended][:MOST_RUNS]

    def _created(self, kind: str, key: ObjectKey) -> datetime | None:
        job = self.listing.stores.job(kind, key)
        return job.metadata.creation_timestamp if job is not None else None
