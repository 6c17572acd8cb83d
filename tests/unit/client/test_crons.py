"""`client.crons`: a schedule stops and starts, and a run is the job of the template. And jobs that are meant by uid."""

import pytest

from kubedl.client import Conflict, NotFound, TrainingClient
from kubedl.client.crons import manifest_of_run
from tests.unit.client.api_server import GROUP, ApiServer

CRON = "/apis/apps.kubedl.io/v1alpha1/namespaces/team/crons/nightly"
WORKLOAD = {"metadata": {"labels": {"team": "a"}}, "spec": {"backoffLimit": 1}}


@pytest.fixture(autouse=True)
def _cron(api: ApiServer) -> None:
    api.put(CRON, {"spec": {"schedule": "@daily", "template": {"kind": "PyTorchJob", "workload": WORKLOAD}}})


def test_the_schedule_stops_and_starts(client: TrainingClient, api: ApiServer) -> None:
    """Nothing else of the Cron changes."""
    client.crons.suspend("nightly")
    assert api.objects[CRON]["spec"]["suspend"] is True
    client.crons.resume("nightly")
    assert (api.objects[CRON]["spec"]["suspend"], api.objects[CRON]["spec"]["schedule"]) == (False, "@daily")
    with pytest.raises(NotFound):
        client.crons.suspend("none")


def test_a_run_is_the_job_of_the_template(client: TrainingClient, api: ApiServer) -> None:
    """Under the name that is given, or under one of its own."""
    job = client.crons.run("nightly", run_name="by-hand")
    made = api.objects[f"{GROUP}/namespaces/team/pytorchjobs/by-hand"]
    assert (job.name, made["spec"], made["metadata"]["labels"]) == ("by-hand", WORKLOAD["spec"], {"team": "a"})
    assert client.crons.run("nightly").name.startswith("nightly-now-")
    with pytest.raises(NotFound):
        client.crons.run("none")


def test_the_template_itself_is_not_changed() -> None:
    """A name for one run must not be that of the next."""
    workload: dict[str, dict[str, str]] = {"metadata": {}, "spec": {}}
    cron = {"spec": {"template": {"kind": "TFJob", "workload": workload}}}
    assert manifest_of_run(cron, "a")["metadata"] == {"name": "a"}
    assert workload["metadata"] == {}


def test_a_job_that_is_meant_by_its_uid_is_no_other(client: TrainingClient, api: ApiServer) -> None:
    """One that came later under the same name is left alone."""
    path = api.job("bert")
    before = api.version
    for change in (client.suspend_job, client.resume_job, client.delete_job):
        with pytest.raises(Conflict, match="is not changed"):
            change("bert", uid="uid-of-another")
    assert api.version == before
    client.suspend_job("bert", uid="uid-bert")
    client.delete_job("bert", uid="uid-bert")
    assert path not in api.objects
