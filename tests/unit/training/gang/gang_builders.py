"""Jobs with gangs, and what is done for them."""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from kubedl.kube.types.core import Pod
from kubedl.training.gang.assignment import job_of
from kubedl.training.gang.scheduler import InstalledScheduler
from kubedl.training.gang.schedulers import all_gang_schedulers
from kubedl.training.observed import Settings
from kubedl.training.plan import Plan
from kubedl.training.planner import plan
from tests.training_builders import JobBuilder, PodBuilder, observed, tf_job

KNOWN = all_gang_schedulers()
INSTALLED = {name: InstalledScheduler(one, next(iter(one.kinds), None)) for name, one in KNOWN.items()}
TOGETHER = tf_job().ps(1).workers(3)
IN_ORDER = tf_job().ps(1, dependsOn=[]).workers(3, dependsOn=[{"upstream": "PS", "phase": "Running"}])
NO_ROOM = "0/2 nodes are available: 2 Insufficient cpu."


def asking(job: JobBuilder, **policy: object) -> JobBuilder:
    return job.with_spec(schedulingPolicy={"gangScheduler": "native", **policy})


def planned(
    job: JobBuilder,
    *found: PodBuilder,
    default: str = "auto",
    installed: Any = INSTALLED,  # noqa: ANN401
    others: tuple[Pod, ...] = (),
    now: float = 0,
    lost: Mapping[str, float] | None = None,
) -> Plan:
    """What is done for a job in a cluster with these gang schedulers."""
    settings = Settings(gang_scheduler=default, gang_schedulers=installed)
    whole = job_of(job.kind, job.build(), settings)
    known = observed(job, *found, now=now, lost_nodes=lost)
    return plan(replace(known, job=whole, settings=settings, others=others))
