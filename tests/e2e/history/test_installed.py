"""The recorder of the chart on real nodes, with a database, storage for logs and a collector outside the cluster."""

import json
import math
from collections.abc import Callable

import yaml

from devtools.dashboard import RATE, panels
from devtools.history_dashboard import HISTORY_BOARD
from harness.drivers.helm import CHART
from harness.drivers.history_installation import (
    CLUSTER,
    MOST_BYTES,
    HistoryInstallation,
    installed_with_history,
)
from harness.drivers.installation import NAMESPACE, RESTRICTED
from harness.drivers.prometheus import RealPrometheus
from testbed import namespaces
from testbed.api import Object
from testbed.cluster import Cluster
from testbed.waiting import until
from tests.e2e.install.jobs import Team, job

PORT = 8080
LINES = 20_000
WORDS = "of a log that is longer than what is kept of it"
TALK = f"for i in range({LINES}): print('line', i, '{WORDS}')"


def test_the_recorder_keeps_rows_logs_and_records(
    cluster: Cluster, base_image: str, record_property: Callable[[str, object], None]
) -> None:
    """In a namespace that enforces *restricted*: it migrates, records, archives, tells a collector; it is monitored."""
    with (
        installed_with_history(cluster) as history,
        namespaces.fresh(cluster.api, "team", RESTRICTED) as namespace,
    ):
        record_property("seconds", history.installation.seconds)
        pod = history.until_ready()
        assert _is_restricted(pod)
        with RealPrometheus(f"{pod['status']['podIP']}:{PORT}") as prometheus:
            team = Team(cluster, namespace)
            team.create(
                job("good", base_image, "python3", "-c", "print('hello from good')"),
                job("chatty", base_image, "python3", "-c", TALK),
                job("bad", base_image, "python3", "-c", "print('goodbye'); raise SystemExit(3)", backoffLimit=0),
            )
            team.until_states({"Succeeded": 2, "Failed": 1}, deadline=240)
            logs = until("every log", lambda: _logs(history, namespace, 3), deadline=120, interval=1)
            record_property("logs", len(logs))
            _check_logs(history, logs)
            sent = until("records of all jobs", lambda: _ended(history, namespace), deadline=60, interval=1)
            assert sent == {"good": "Succeeded", "chatty": "Succeeded", "bad": "Failed"}
            record_property("records", len(history.collector.records()))
            _check_monitoring(prometheus, record_property)
        _check_outage(history, team, base_image)


def _is_restricted(pod: Object) -> bool:
    [container] = pod["spec"]["containers"]
    security = container["securityContext"]
    return bool(security["readOnlyRootFilesystem"]) and security["capabilities"] == {"drop": ["ALL"]}


def _logs(history: HistoryInstallation, namespace: str, number: int) -> dict[str, tuple[str, bool]]:
    """Location of each pod's log, and whether it was cut, by the names of jobs, when there are so many."""
    query = (
        "SELECT pods.namespace, jobs.name, pods.log_location, pods.log_cut FROM pods "
        "JOIN jobs ON jobs.uid = pods.job_uid WHERE pods.log_location IS NOT NULL"
    )
    rows = [row[1:] for row in history.rows(query) if row[0] == namespace]
    found = {name: (location, cut == "t") for name, location, cut in rows}
    if len(found) < number:
        raise TimeoutError(f"{sorted(found)} have a log")
    return found


def _check_logs(history: HistoryInstallation, logs: dict[str, tuple[str, bool]]) -> None:
    """One object for each, with what the container printed; of a long one the end."""
    assert len(history.storage.keys()) == len(logs)
    assert all(location.startswith(f"s3://logs/{CLUSTER}/") for location, _ in logs.values())
    assert history.storage.printed(logs["good"][0]) == b"hello from good\n"
    assert history.storage.printed(logs["bad"][0]) == b"goodbye\n"
    first, *rest = history.storage.printed(logs["chatty"][0]).splitlines()
    assert b"was cut" in first
    assert rest == [f"line {number} {WORDS}".encode() for number in range(LINES - len(rest), LINES)]
    stored = len(history.storage.read(logs["chatty"][0]).partition(b"\n")[2])
    assert MOST_BYTES - 150 < stored <= MOST_BYTES
    assert {name: cut for name, (_, cut) in logs.items()} == {"good": False, "chatty": True, "bad": False}


def _ended(history: HistoryInstallation, namespace: str) -> dict[str, str]:
    """The last state that the collector was told of each job, when all have ended."""
    records = [one for one in history.collector.records() if one["attributes"].get("k8s.namespace.name") == namespace]
    jobs = [one["body"] for one in records if one["attributes"]["kubedl.table"] == "jobs"]
    states = {one["name"]: one["state"] for one in sorted(jobs, key=lambda body: int(body["resource_version"]))}
    if len(states) < 3 or not set(states.values()) <= {"Succeeded", "Failed"}:
        raise TimeoutError(str(states))
    return states


def _check_monitoring(prometheus: RealPrometheus, record_property: Callable[[str, object], None]) -> None:
    """Every panel of the recorder's board has an answer, and no alert about the history holds."""
    queries = {panel.title: panel.query.replace(RATE, "30s") for panel in panels(HISTORY_BOARD)}
    record_property("panels", len(queries))
    empty: list[str] = []

    def answered() -> bool:
        empty[:] = [title for title, query in queries.items() if not _has_numbers(prometheus.ask(query))]
        if empty:
            raise TimeoutError(", ".join(empty))
        return True

    try:
        until("every panel to have data", answered, deadline=90, interval=1)
    finally:
        record_property("empty", len(empty))
    rules = yaml.safe_load((CHART / "files" / "alerts.yaml").read_text())["groups"][0]["rules"]
    history = [rule for rule in rules if rule["alert"].startswith("KubeDLHistory")]
    assert len(history) == 4
    assert [rule["alert"] for rule in history if prometheus.ask(rule["expr"])] == []


def _has_numbers(answer: list[Object]) -> bool:
    return any(not math.isnan(float(one["value"][1])) for one in answer)


def _check_outage(history: HistoryInstallation, team: Team, image: str) -> None:
    """While database, storage and collector are down, jobs run; afterwards a new recorder has all of it."""
    history.database.stop()
    history.storage.freeze()
    team.create(job("later", image, "python3", "-c", "print('later')"))
    team.until_states({"Succeeded": 3, "Failed": 1}, deadline=120)
    old = history.until_ready()["metadata"]["name"]
    team.cluster.kubectl(f"--namespace={NAMESPACE}", "delete", "pod", old, "--grace-period=0", "--force")
    history.database.start()
    history.storage.resume()
    logs = until("the log", lambda: _logs(history, team.namespace, 4), deadline=300, interval=1)
    assert history.storage.printed(logs["later"][0]) == b"later\n"
    assert len(history.storage.keys()) == 4
    assert json.dumps(logs).count("s3://") == 4
