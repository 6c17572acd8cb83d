"""F12: deleted and asked for again under the same name, in every way, with the operator there or not."""

import asyncio
from collections.abc import Callable

from harness.drivers.environment import Stage, times
from harness.drivers.proxied_operator import ProxiedOperator
from harness.scenarios.driver import job_body
from harness.scenarios.many_jobs import Fleet
from kubedl.training.labels import ATTEMPT
from testbed.api import ApiError, Object

POLICIES = ("Background", "Foreground", "Orphan")
NAMES = [f"again-{number}" for number in range(times(6, 50))]
ROUNDS = times(6, 20)  # each policy with the operator there, and with it away
PODS = 2


def test_a_job_is_made_again_under_its_name(
    ready_stage: Stage, fleet: Fleet, operator: ProxiedOperator, record_property: Callable[[str, object], None]
) -> None:
    """Every new job gets pods of its own, no old one is adopted, and nothing is left in the end."""
    record_property("repetitions", len(NAMES) * ROUNDS)
    server, services = ready_stage.watcher.connection, f"/api/v1/namespaces/{fleet.namespace}/services"
    # Gone at once when deleted: kubelets have no part in this.
    template = {
        "spec": {
            "nodeName": ready_stage.node,
            "terminationGracePeriodSeconds": 0,
            "containers": [{"name": "tensorflow", "image": "none"}],
        }
    }
    roles: dict[str, int | Object] = {"Worker": {"replicas": PODS, "template": template}}

    async def make(name: str) -> None:
        body = job_body("TFJob", name, roles, ready_stage.node)
        async with asyncio.timeout(180):
            while True:
                try:
                    await server.call("POST", fleet.jobs_path, body)
                except ApiError as error:
                    if error.status != 409:  # the old one is still going
                        raise
                    await asyncio.sleep(0.05)
                else:
                    return

    server.each(NAMES, make)
    for number in range(ROUNDS):
        fleet.until("every job to have its own pods", lambda: _own(fleet), len(NAMES) * PODS)
        assert {pod["metadata"]["labels"][ATTEMPT] for pod in fleet.pods().values()} == {"0"}
        policy, away = POLICIES[number % 3], number % 2 == 1
        if away:
            operator.kill()
        old = {name: job["metadata"]["uid"] for name, job in fleet.jobs().items()}
        fleet.delete_jobs(NAMES, policy)
        if policy == "Orphan":  # what a user asked to keep, only he can take away
            fleet.until("the pods to be let go", lambda old=old: _of(fleet, set(old.values())), 0)  # type: ignore[misc]
            fleet.take(fleet.pods())
            server.each(NAMES, lambda name: server.call("DELETE", f"{services}/{name}"))
        server.each(NAMES, make)
        fleet.until("new jobs to be seen", lambda old=old: _changed(fleet, old), len(NAMES))  # type: ignore[misc]
        if away:
            operator.start()
    fleet.until("every job to have its own pods", lambda: _own(fleet), len(NAMES) * PODS)
    # A new job begins its own life: what became of the pods of the old one is no business of its.
    assert {pod["metadata"]["labels"][ATTEMPT] for pod in fleet.pods().values()} == {"0"}
    fleet.delete_jobs(NAMES)
    fleet.until("nothing to be left", lambda: _left(ready_stage, fleet.namespace), 0)


def _left(stage: Stage, namespace: str) -> int:
    return sum(len(stage.watcher.all(kind, namespace)) for kind in ("tfjobs", "pods", "services"))


def _own(fleet: Fleet) -> int:
    return _of(fleet, {job["metadata"]["uid"] for job in fleet.jobs().values()})


def _of(fleet: Fleet, owners: set[str]) -> int:
    """How many pods belong to these."""
    references = [pod["metadata"].get("ownerReferences") or [] for pod in fleet.pods().values()]
    return sum(any(reference["uid"] in owners for reference in of_pod) for of_pod in references)


def _changed(fleet: Fleet, old: dict[str, str]) -> int:
    return sum(job["metadata"]["uid"] != old.get(name) for name, job in fleet.jobs().items())
