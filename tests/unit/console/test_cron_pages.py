"""Crons: when they run next, how they ran before, and what was missed."""

from typing import Any

from kubedl.console.object_kinds import CRONS
from kubedl.kube.types.meta import ObjectKey
from tests.unit.console.world import JOBS, World, caller

ADA = caller("ada")
NIGHTLY = ObjectKey("nlp", "nightly")


def put_cron(world: World, namespace: str = "nlp", reason: str = "Scheduled", **status: Any) -> None:  # noqa: ANN401
    """A Cron that runs PyTorchJobs at night."""
    world.put(
        CRONS,
        namespace,
        "nightly",
        spec={"schedule": "0 3 * * *", "template": {"kind": "PyTorchJob", "workload": {"spec": {"env": "secret"}}}},
        status={
            "conditions": [{"type": "Ready", "status": "True", "reason": reason, "message": "said"}],
            "nextScheduleTime": "2026-11-19T03:00:00Z",
            "lastScheduleTime": "2026-11-18T03:00:00Z",
            **status,
        },
    )


def ended(name: str, status: str) -> dict[str, Any]:
    """A run that has ended."""
    return {"object": {"kind": "PyTorchJob", "name": name}, "status": status, "created": "2026-11-17T03:00:00Z"}


async def test_a_cron_shows_its_schedule_and_its_runs(world: World) -> None:
    """The newest first; only a run whose job exists is a link."""
    world.reviewer.allow("ada", "nlp", CRONS.name)
    world.put_job("nlp", "nightly-3")
    active = [{"kind": "PyTorchJob", "name": "nightly-3", "namespace": "nlp"}]
    put_cron(world, active=active, history=[ended("nightly-1", "Failed"), ended("nightly-2", "Succeeded")])
    cron = await world.pages.of_crons.cron(ADA, NIGHTLY)
    assert (cron.schedule, cron.time_zone, cron.kind, cron.missed) == ("0 3 * * *", "UTC", "PyTorchJob", False)
    assert [(run.name, run.status, run.there) for run in cron.runs] == [
        ("nightly-3", "Active", True),
        ("nightly-2", "Succeeded", False),
        ("nightly-1", "Failed", False),
    ]
    assert "secret" not in repr(world.stores.crons.get(NIGHTLY))


async def test_a_missed_run_is_said(world: World) -> None:
    world.reviewer.allow("ada", "nlp", CRONS.name)
    put_cron(world, reason="RunMissed")
    cron = await world.pages.of_crons.cron(ADA, NIGHTLY)
    assert (cron.missed, cron.message) == (True, "said")


async def test_a_run_that_may_not_be_listed_is_no_link(world: World) -> None:
    """Its name is in the Cron, which may be listed."""
    world.reviewer.allow("ada", "nlp", CRONS.name)
    world.reviewer.allowed -= {("ada", JOBS, "nlp")}
    world.put_job("nlp", "nightly-3")
    put_cron(world, active=[{"kind": "PyTorchJob", "name": "nightly-3"}])
    [run] = (await world.pages.of_crons.cron(ADA, NIGHTLY)).runs
    assert (run.there, run.created) == (False, None)


async def test_crons_of_others_are_not_listed(world: World) -> None:
    world.reviewer.allow("ada", "nlp", CRONS.name)
    put_cron(world)
    put_cron(world, "vision")
    answer = await world.pages.of_crons.crons(ADA, "")
    assert [row.namespace for row in answer.rows] == ["nlp"]
    assert [(one.resource, one.namespace) for one in answer.missing] == [(CRONS.name, "")]
    assert not (await world.pages.of_crons.crons(ADA, "daily")).rows


async def test_runs_are_bounded(world: World) -> None:
    world.reviewer.allow("ada", "nlp", CRONS.name)
    put_cron(world, history=[ended(f"nightly-{number}", "Succeeded") for number in range(50)])
    runs = (await world.pages.of_crons.cron(ADA, NIGHTLY)).runs
    assert (len(runs), runs[0].name) == (30, "nightly-49")
