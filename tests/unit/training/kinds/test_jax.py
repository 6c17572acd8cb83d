"""JAXJob: what a process is told of the coordinator, and when the job is done."""

import pytest

from kubedl.training.kinds.jax import JAX
from tests.training_builders import JobBuilder
from tests.unit.training.kinds.pod_env import environment, is_done, order

JOB = JobBuilder(JAX(), "llm")


def test_process_0_is_the_coordinator() -> None:
    """Exactly so, for every process."""
    expected = {
        "JAX_COORDINATOR_ADDRESS": "llm-worker-0.llm.team.svc:1234",
        "JAX_NUM_PROCESSES": "3",
        "PYTHONUNBUFFERED": "1",
    }
    for index in range(3):
        assert environment(JOB.workers(3), "Worker", index) == expected | {"JAX_PROCESS_ID": str(index)}


def test_a_port_of_the_users_own_is_the_coordinators() -> None:
    """It is told to all."""
    template = JOB.template()
    template["spec"]["containers"][0]["ports"] = [{"name": "jaxjob-port", "containerPort": 8476}]
    job = JOB.workers(2, template=template)
    assert environment(job, "Worker", 1)["JAX_COORDINATOR_ADDRESS"] == "llm-worker-0.llm.team.svc:8476"


@pytest.mark.parametrize(("finished", "expected"), [(set(), False), ({0}, False), ({1}, False), ({0, 1}, True)])
def test_everybody_is_needed_to_the_end(finished: set[int], expected: bool) -> None:
    """The coordinator is one of them."""
    assert expected == is_done(JOB.workers(2), Worker=finished)


def test_defaults() -> None:
    """A collective restarts together; kills are retried, errors are not."""
    job = JOB.workers(2)
    assert JOB.kind.restart_scope(JOB.kind.job(job.build())) == "Job"
    assert order(job) == {"Worker": ("ExitCode", [])}
