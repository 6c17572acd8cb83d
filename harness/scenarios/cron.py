"""Lives of Crons: runs one after another, replaced ones, and those of a job with a schedule."""

from harness.fakes.scheduled import PlayedCron, schedule
from harness.scenarios import scenario
from harness.scenarios.driver import ScenarioDriver

MASTER = "master-0"


@scenario
def cron_runs_in_turn(world: ScenarioDriver) -> None:
    """The second run waits for the end of the first (Forbid); the row and the job of the first go with the limit."""
    cron = PlayedCron(world)
    cron.create(concurrencyPolicy="Forbid", historyLimit=1)
    first, second = cron.run(0), cron.run(1)
    first.until_pods(master_0=0)
    first.run(MASTER)
    world.until("it to be active", lambda: len(cron.active()) == 1)
    cron.tick(1)
    world.until("the second to wait", lambda: cron.reason() == "WaitingForRun")
    first.succeed(MASTER)
    second.until_pods(master_0=0)
    second.run(MASTER)
    second.fail(MASTER, 1)
    second.until_status(state="Failed")
    world.until("one row", lambda: cron.ended() == ["Failed"])
    first.until_gone()


@scenario
def cron_replaces(world: ScenarioDriver) -> None:
    """The first run is deleted, and the second one starts when its last pod is gone."""
    cron = PlayedCron(world)
    cron.create(concurrencyPolicy="Replace")
    first, second = cron.run(0), cron.run(1)
    first.until_pods(master_0=0)
    first.run(MASTER)
    world.until("it to be active", lambda: len(cron.active()) == 1)
    cron.tick(1)
    world.until("the first to be replaced", lambda: cron.reason() == "ReplacingRun")
    first.vanish(MASTER)
    first.until_gone()
    second.until_pods(master_0=0)
    second.run(MASTER)
    second.succeed(MASTER)
    second.until_status(state="Succeeded")
    world.until("two rows", lambda: cron.ended() == ["Deleted", "Succeeded"])


@scenario
def cron_of_a_job(world: ScenarioDriver) -> None:
    """The job is the template of a Cron and does not run itself; edited, so is the Cron; all goes with the job."""
    job = world.create(
        "PyTorchJob", "timed", {"Master": 1}, cronPolicy={"schedule": schedule(0)}, cleanPodPolicy="None"
    )
    job.until_status(state="Created", reason="JobScheduled")
    cron = PlayedCron(world)
    cron.miss()
    first, second = cron.run(0), cron.run(1)
    first.until_pods(master_0=0)
    first.run(MASTER)
    first.succeed(MASTER)
    first.until_status(state="Succeeded")
    world.until("a row", lambda: cron.ended() == ["Succeeded"])
    job.change(cronPolicy={"schedule": schedule(1)}, backoffLimit=7)
    second.until_pods(master_0=0)
    second.until("it to be of the edited job", lambda: (second.seen() or {})["spec"].get("backoffLimit") == 7)
    second.run(MASTER)
    second.succeed(MASTER)
    second.until_status(state="Succeeded")
    world.until("two rows", lambda: cron.ended() == ["Succeeded"] * 2)
    job.delete()
    world.until("the Cron to be gone", lambda: cron.seen() is None)
    first.until_gone()
    second.until_gone()
