"""Wiring of the controllers of Crons and of jobs with a cronPolicy."""

from kubedl.api.cron import CRONS
from kubedl.cron.controller import CronController, Jobs
from kubedl.cron.job_policy import ScheduledJobController
from kubedl.runtime.context import Context

WORKERS = 8
JOB_WORKERS = 1


def setup(context: Context, jobs: Jobs) -> None:
    """Run the controllers. Crons wait for no kind that the cluster may not serve."""
    crons = context.manager.informer(CRONS, context.scope())
    builder = context.controller().for_(crons).owns(*jobs.values(), optional=True)
    handler = CronController(crons.store, jobs, builder.writer, context.recorder, clock=context.clock)
    builder.complete(handler.reconcile, workers=WORKERS)
    for resource, informer in jobs.items():
        own = context.controller(f"{resource.kind} Cron")
        of_jobs = ScheduledJobController(resource, informer.store, crons.store, own.writer, context.recorder)
        own.for_(informer, of_jobs.job_with_policy).owns(crons)
        own.complete(of_jobs.reconcile, workers=JOB_WORKERS)
