"""An upgrade of the operator is nothing that a running job notices, and neither is the way back."""

import threading
from collections.abc import Callable
from pathlib import Path

import pytest
import yaml

from harness.drivers.environment import times
from harness.drivers.installation import DEFINITIONS, RESTRICTED, Installation, first_chart, installed
from testbed import namespaces
from testbed.cluster import Cluster
from testbed.errors import TestbedError
from testbed.waiting import until
from tests.e2e.install.jobs import Team, job
from tests.e2e.training import containers

JOBS = times(20, 200)
DEADLINE = 1200.0
CHANGED = "pytorchjobs.training.kubedl.io"
GRACE = "terminationGracePeriodSeconds: 30"
COLUMN = {"name": "Older", "type": "string", "jsonPath": ".metadata.name"}


def test_an_upgrade_and_back_touch_no_running_job(
    cluster: Cluster, base_image: str, tmp_path: Path, record_property: Callable[[str, object], None]
) -> None:
    """From the first chart that there was to this one and back, with an operator killed in the middle of each."""
    try:
        chart, image = first_chart(cluster, tmp_path)
    except TestbedError as error:
        pytest.skip(str(error))  # source without its history, as a release has it
    _make_older(chart)
    with namespaces.fresh(cluster.api, "team", RESTRICTED) as namespace, installed(cluster, {}, chart, image) as ready:
        team = Team(cluster, namespace)
        team.create(*(job(f"job-{number}", base_image) for number in range(JOBS)))
        team.until_states({"Running": JOBS}, deadline=DEADLINE)
        lives, operators = [team.lives()], _names(ready)
        record_property("jobs", team.states()["Running"])
        assert COLUMN in _columns(cluster)
        _while_one_is_killed(ready, ready.upgrade)
        assert not operators & _names(ready)  # it was an upgrade
        assert COLUMN not in _columns(cluster)  # of definitions too
        lives.append(_when_all_are_seen(team, "upgraded", base_image))
        _while_one_is_killed(ready, ready.rollback)
        assert COLUMN in _columns(cluster)
        lives.append(_when_all_are_seen(team, "back", base_image))
        touched = {name for later in lives[1:] for name, life in lives[0].items() if later.get(name) != life}
        states = team.states()
        record_property("restarted", len(touched))
        record_property("failed", states["Failed"])
        assert len(lives[0]) == JOBS
        assert not touched
        assert states == {"Running": JOBS, "Succeeded": 2}


def _when_all_are_seen(team: Team, name: str, image: str) -> dict[str, tuple[str, int]]:
    """The pods' lives, after a new job has shown that an operator works, who has then seen all others."""
    team.create(job(name, image, "true"))
    until(
        f"job {name} to be done", lambda: team.condition(name, "Succeeded").get("status") == "True", deadline=DEADLINE
    )
    until("no job to be new", lambda: not team.states()["New"], deadline=DEADLINE)
    return team.lives()


def _make_older(chart: Path) -> None:
    """The older chart is another than today's, whatever history holds: in a definition, and in the operator's pods."""
    file = chart / "files" / "crds" / f"{CHANGED}.yaml"
    definition = yaml.safe_load(file.read_text())
    [version] = definition["spec"]["versions"]
    version["additionalPrinterColumns"].append(COLUMN)
    file.write_text(f"---\n{yaml.safe_dump(definition)}")
    deployment = chart / "templates" / "deployment.yaml"
    before, grace, after = deployment.read_text().partition(GRACE)
    assert grace  # else there are no other pods after an upgrade from code that is today's
    deployment.write_text(f"{before}{grace.replace('30', '31')}{after}")


def _columns(cluster: Cluster) -> list[dict[str, str]]:
    [version] = cluster.api.get(f"{DEFINITIONS}/{CHANGED}")["spec"]["versions"]
    columns: list[dict[str, str]] = version["additionalPrinterColumns"]
    return columns


def _while_one_is_killed(installation: Installation, work: Callable[[], None]) -> None:
    """Kill the leader (SIGKILL) when Helm has begun."""
    failures: list[BaseException] = []

    def run() -> None:
        try:
            work()
        except BaseException as error:  # noqa: BLE001 told to whoever waits
            failures.append(error)

    before = _names(installation)
    leader = installation.until_led()
    helm = threading.Thread(target=run)
    helm.start()
    until("Helm to begin", lambda: bool(failures) or bool(_names(installation) - before), deadline=120)
    containers.kill(installation.cluster, leader)
    helm.join()
    if failures:
        raise failures[0]
    installation.until_led(deadline=120)


def _names(installation: Installation) -> set[str]:
    return {pod["metadata"]["name"] for pod in installation.pods()}
