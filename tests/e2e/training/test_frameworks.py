"""Real frameworks train as jobs, across two nodes, and end with nothing left running."""

import re

import pytest

from tests.e2e.training.conftest import Submit
from tests.e2e.training.jobs import BOOSTED, DDP, MULTI_WORKER, PARAMETER_SERVER, SUMMED, TORCHRUN, Training
from tests.e2e.training.observed import ObservedJob


def test_parameter_servers(submit: Submit) -> None:
    """The chief is done; parameter server and workers, which would serve for ever, are ended."""
    job = submit(PARAMETER_SERVER)
    job.succeeded()
    assert loss_fell(job)
    assert "weights on /job:ps" in job.log(job.training.leader)
    job.nothing_runs()
    assert set(job.pods()) == {job.training.leader}


def test_mirrored_workers(submit: Submit) -> None:
    """Every worker holds all weights, and together they find the true ones."""
    job = submit(MULTI_WORKER)
    job.succeeded()
    assert loss_fell(job)
    assert "worker 0 of 2" in job.log(job.training.leader)
    job.nothing_runs()


@pytest.mark.parametrize("training", [DDP, TORCHRUN], ids=lambda training: training.name)
def test_torch(submit: Submit, training: Training) -> None:
    """One master and three workers, started directly or by torchrun from the environment alone."""
    job = submit(training)
    job.succeeded()
    job.nothing_runs()
    assert set(job.pods()) == training.pods
    assert on_both_nodes(job)
    for pod in training.pods:
        assert re.search(r"^rank \d of 4", job.log(pod), re.MULTILINE)
    assert loss_fell(job)


def test_boosted_trees(submit: Submit) -> None:
    """A master with the tracker and two workers, each with its own rows, find the model of a single process."""
    job = submit(BOOSTED)
    job.succeeded()
    job.nothing_runs()
    assert on_both_nodes(job)
    logs = [job.log(pod) for pod in sorted(BOOSTED.pods)]
    assert [re.findall(r"^rank (\d) of 3$", log, re.MULTILINE) for log in logs] == [["0"], ["1"], ["2"]]
    models = {model for log in logs for model in re.findall(r"^model (\w+), of one process (\w+)$", log, re.MULTILINE)}
    assert len(models) == 1, job.story()
    assert len(set(*models)) == 1


def test_a_sum_over_processes(submit: Submit) -> None:
    """Two JAX processes on two nodes meet at worker 0 and agree on one sum."""
    job = submit(SUMMED)
    job.succeeded()
    job.nothing_runs()
    assert on_both_nodes(job)
    for number, pod in enumerate(sorted(SUMMED.pods)):
        assert f"process {number} of 2: the sum is 3.0" in job.log(pod)


def on_both_nodes(job: ObservedJob) -> bool:
    """Whether its pods are spread over the test bed."""
    return len({pod["spec"]["nodeName"] for pod in job.pods().values()}) == 2


def loss_fell(job: ObservedJob) -> bool:
    """Whether the leader says so, with the weights that the data was made from."""
    said = re.search(r"loss (\S+) -> (\S+), weights \[(.*)\], bias (\S+)$", job.log(job.training.leader), re.MULTILINE)
    assert said, job.story()
    first, last, bias = float(said[1]), float(said[2]), float(said[4])
    found = [*(float(weight) for weight in said[3].split(", ")), bias]
    return last < first / 100 and all(abs(a - b) < 0.1 for a, b in zip(found, [1, -2, 3, 0.5], strict=True))
