"""F7: other writers on the same object, bursts of conflicts, and the peace of an idle job."""

import asyncio
from collections.abc import Callable

from harness.drivers.api_connection import MERGE_PATCH
from harness.drivers.environment import Stage, times
from harness.drivers.proxied_operator import ProxiedOperator
from harness.scenarios.many_jobs import Fleet
from testbed.faultproxy import AnswerInstead, Match
from testbed.waiting import until, working_seconds

RATE = 20.0  # edits a second
SECONDS = times(5, 60)
IDLE = times(5, 600)


def test_no_edit_of_a_user_is_lost(
    ready_stage: Stage, fleet: Fleet, operator: ProxiedOperator, record_property: Callable[[str, object], None]
) -> None:
    """Twenty edits a second while the operator works, and its status answered 409 again and again."""
    edits = round(RATE * SECONDS)
    record_property("repetitions", edits)
    operator.proxy.inject(Match(verb="patch", resource="tfjobs", times=20), AnswerInstead(409))
    fleet.create(["edited"], {"Worker": 2}, restartScope="Replica")
    server = ready_stage.watcher.connection

    async def edit() -> None:
        for number in range(edits):
            body = {
                "metadata": {"annotations": {f"edit-{number}": "mine"}},
                "spec": {"activeDeadlineSeconds": 1000 + number},
            }
            await server.call("PATCH", f"{fleet.jobs_path}/edited", body, MERGE_PATCH)
            await asyncio.sleep(1 / RATE)

    async def disturb() -> None:
        for number in range(SECONDS):
            await asyncio.sleep(1)
            body = {"gracePeriodSeconds": 0}
            await server.call("DELETE", f"{fleet.pods_path}/edited-worker-{number % 2}", body)

    async def both() -> None:
        await asyncio.gather(edit(), disturb(), return_exceptions=True)

    fleet.until_pods(2)
    server.run(both())
    job = fleet.jobs()["edited"]
    fleet.until(
        "the last edit to be seen", lambda: len(fleet.jobs()["edited"]["metadata"].get("annotations", {})), edits
    )
    job = fleet.jobs()["edited"]
    assert job["spec"]["activeDeadlineSeconds"] == 1000 + edits - 1
    fleet.until_pods(2)
    fleet.run(fleet.pods())
    fleet.until_all(state="Running", observedGeneration=job["metadata"]["generation"])


def test_an_idle_job_is_not_written_to(
    fleet: Fleet, operator: ProxiedOperator, record_property: Callable[[str, object], None]
) -> None:
    """Running, suspended and finished jobs, whatever defaults the API server adds to what it is sent."""
    record_property("seconds", IDLE)
    fleet.create(["running"], {"PS": 1, "Worker": 1})
    fleet.create(["paused"], {"Worker": 1}, suspend=True)
    fleet.create(["finished"], {"Worker": 1})
    fleet.until_pods(2)
    fleet.run(["running-ps-0", "finished-worker-0"])
    fleet.until_pods(3)
    fleet.run(["running-worker-0"])
    fleet.end(["finished-worker-0"])
    states = {"running": "Running", "paused": "Suspended", "finished": "Succeeded"}
    fleet.until(
        "their states", lambda: {name: status.get("state") for name, status in fleet.statuses().items()}, states
    )
    _until_idle(operator, IDLE)


def _until_idle(operator: ProxiedOperator, seconds: float) -> None:
    """Wait for so long a time without a write: the last ones about the jobs may come after their states."""
    seen, since = len(operator.writes()), working_seconds()

    def idle() -> bool:
        nonlocal seen, since
        operator.insist()
        writes = operator.writes()
        if len(writes) != seen:
            print(*writes[seen:], sep="\n")
            seen, since = len(writes), working_seconds()
        return working_seconds() - since >= seconds

    until("nothing to be written", idle, deadline=seconds + 30)
