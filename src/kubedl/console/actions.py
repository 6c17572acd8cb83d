"""What a person may do with an object, and doing it.

Rights are asked for only to name the one that is missing; whether something is done is decided by the API server, which
is sent the person's own token. An object that a person may not list is refused as on its page, before anything is sent.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, Literal

import structlog

from kubedl.console.acting import acting
from kubedl.console.kinds import job_resources
from kubedl.console.object_kinds import CRONS, INFERENCES
from kubedl.console.pages import Pages
from kubedl.console.people import Caller
from kubedl.console.rights import Question
from kubedl.console.wire_actions import (
    ActionList,
    ActionRow,
    Done,
    JobChange,
    RolloutChange,
    VersionChange,
    WeightsChange,
)
from kubedl.console.wire_base import Missing
from kubedl.kube.types.meta import ObjectKey, Resource

JobAction = Literal["suspend", "resume", "delete"]
RolloutAction = Literal["next", "promote", "abort", "retry"]
CronAction = Literal["suspend", "resume", "run"]
JOB_ACTIONS: tuple[JobAction, ...] = ("suspend", "resume", "delete")
ROLLOUT_ACTIONS: tuple[RolloutAction, ...] = ("next", "promote", "abort", "retry")
CRON_ACTIONS: tuple[CronAction, ...] = ("suspend", "resume", "run")
WEIGHTS, VERSION, COPY = "weights", "version", "copy"
ON_SERVICES = (*ROLLOUT_ACTIONS, WEIGHTS, VERSION)
Needs = Iterable[tuple[str, Iterable[tuple[str, Resource[Any]]]]]  # name of an action, and the verbs that it takes

log = structlog.get_logger()


@dataclass(frozen=True)
class Actions:
    """Actions of one caller at a time."""

    pages: Pages

    async def of_job(self, caller: Caller, kind: str, key: ObjectKey) -> ActionList:
        """Return what could be done with a job."""
        await self.pages.visible_job(caller, kind, key)
        jobs = job_resources()[kind]
        change, delete = (("get", jobs), ("patch", jobs)), (("get", jobs), ("delete", jobs))
        again = (("get", jobs), ("create", jobs))
        needs = (("suspend", change), ("resume", change), ("delete", delete), (COPY, again))
        return await self._allowed(caller, key.namespace, needs)

    async def of_service(self, caller: Caller, key: ObjectKey) -> ActionList:
        """Return what could be done with a service."""
        await self.pages.of_services.visible(caller, key)
        change = (("get", INFERENCES), ("patch", INFERENCES))
        return await self._allowed(caller, key.namespace, ((action, change) for action in ON_SERVICES))

    async def of_cron(self, caller: Caller, key: ObjectKey) -> ActionList:
        """Return what could be done with a Cron."""
        cron = await self.pages.of_crons.visible(caller, key)
        jobs = job_resources().get(cron.spec.template.kind.lower())
        change = (("patch", CRONS),)
        run = (("get", CRONS), *((("create", jobs),) if jobs is not None else ()))
        return await self._allowed(caller, key.namespace, (("suspend", change), ("resume", change), ("run", run)))

    async def job(self, caller: Caller, kind: str, key: ObjectKey, action: JobAction, change: JobChange) -> Done:
        """Suspend, resume or delete a job."""
        await self.pages.visible_job(caller, kind, key)
        full = f"{kind}/{key.name}"
        async with acting(caller, key.namespace) as operations:
            if action == "suspend":
                job = await operations.suspend_job(full, uid=change.uid)
            elif action == "resume":
                job = await operations.resume_job(full, uid=change.uid)
            else:
                job = await operations.delete_job(full, uid=change.uid)
        return _done(caller, action, key.namespace, job.kind, job.name)

    async def rollout(self, caller: Caller, key: ObjectKey, action: RolloutAction, change: RolloutChange) -> Done:
        """Give the operator a command for a rollout."""
        await self.pages.of_services.visible(caller, key)
        async with acting(caller, key.namespace) as operations:
            services = operations.services
            commands = {
                "next": services.next,
                "promote": services.promote,
                "abort": services.abort,
                "retry": services.retry,
            }
            await commands[action](key.name, predictor=change.predictor or None)
        return _done(caller, action, key.namespace, INFERENCES.kind, key.name)

    async def weights(self, caller: Caller, key: ObjectKey, change: WeightsChange) -> Done:
        """Share the traffic of a service among its predictors."""
        await self.pages.of_services.visible(caller, key)
        async with acting(caller, key.namespace) as operations:
            await operations.services.set_traffic(key.name, change.weights)
        return _done(caller, WEIGHTS, key.namespace, INFERENCES.kind, key.name)

    async def version(self, caller: Caller, key: ObjectKey, change: VersionChange) -> Done:
        """Let a predictor serve another version of a model, in the steps of the service's rollout if it has one."""
        await self.pages.of_services.visible(caller, key)
        async with acting(caller, key.namespace) as operations:
            await operations.services.set_version(key.name, change.version, predictor=change.predictor)
        return _done(caller, VERSION, key.namespace, INFERENCES.kind, key.name)

    async def cron(self, caller: Caller, key: ObjectKey, action: CronAction) -> Done:
        """Stop or start the schedule of a Cron, or start a run of it now."""
        await self.pages.of_crons.visible(caller, key)
        kind, name = CRONS.kind, key.name
        async with acting(caller, key.namespace) as operations:
            if action == "suspend":
                await operations.crons.suspend(name)
            elif action == "resume":
                await operations.crons.resume(name)
            else:
                job = await operations.crons.run(name)
                kind, name = job.kind, job.name
        return _done(caller, f"cron {action}", key.namespace, kind, name)

    async def _allowed(self, caller: Caller, namespace: str, needs: Needs) -> ActionList:
        async def missing(rights: Iterable[tuple[str, Resource[Any]]]) -> Missing | None:
            for verb, one in rights:
                if not await self.pages.rights.may(caller, Question(verb, one.group, one.plural, namespace)):
                    return Missing(verb=verb, resource=one.name, namespace=namespace)
            return None

        return ActionList(rows=[ActionRow(name=name, missing=await missing(rights)) for name, rights in needs])


def _done(caller: Caller, action: str, namespace: str, kind: str, name: str) -> Done:
    log.info("changed", user=caller.person.name, action=action, namespace=namespace, kind=kind, name=name)
    return Done(namespace=namespace, kind=kind, name=name)
