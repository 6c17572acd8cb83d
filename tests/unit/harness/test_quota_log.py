"""Who held quota at any moment, from a log whose lines are not in order."""

import json
from pathlib import Path
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any, cast

from harness.drivers import audit_log, quota_log
from harness.drivers.quota_log import admitted, changes, peaks

if TYPE_CHECKING:
    from testbed.cluster import Cluster


def line(version: int, name: str, pods: int = 0, *true: str, code: int = 200, **status: Any) -> str:  # noqa: ANN401
    """A write after which a Workload of so many pods has these conditions."""
    usage = {"name": "worker", "count": pods, "resourceUsage": {"cpu": f"{pods}000m"}}
    admission = {"admission": {"clusterQueue": "cq", "podSetAssignments": [usage]}} if pods else {}
    conditions = [{"type": one, "status": "True"} for one in true]
    meta = {"name": name, "namespace": "team", "resourceVersion": str(version), "labels": {quota_log.JOB: name}}
    event = {
        "verb": "patch",
        "requestReceivedTimestamp": "2026-01-01T00:00:00Z",
        "objectRef": {"resource": "workloads", "namespace": "team"},
        "responseStatus": {"code": code},
        "responseObject": {"metadata": meta, "status": {**admission, "conditions": conditions, **status}},
    }
    return json.dumps(event, separators=(",", ":")) + "\n"


def history(directory: Path, *lines: str) -> list[quota_log.Change]:
    file = directory / "audit.log"
    file.write_text("".join(lines))
    return changes(cast("Cluster", SimpleNamespace(audit_log=file)), "team", "cpu", audit_log.EVER)


def test_quota_is_added_up_in_the_order_of_versions(tmp_path: Path) -> None:
    """The second gets what the first gave back; the log says so the other way round."""
    found = history(
        tmp_path,
        line(1, "a"),
        line(5, "b", 2, "QuotaReserved", "Admitted"),
        line(2, "a", 2, "QuotaReserved"),
        line(3, "a", 2, "QuotaReserved", "Evicted"),
        line(4, "a", 0, "Evicted"),
        line(9, "b", 9, "QuotaReserved", code=409),
        line(6, "b", 2, "QuotaReserved", "Finished"),
        line(7, "a", 2, "QuotaReserved"),
    )
    assert (peaks(found)[""], peaks(found)["cq"]) == (2, 2)
    assert admitted(found) == ["a", "b", "a"]


def test_who_gets_quota_before_it_is_given_back_is_found(tmp_path: Path) -> None:
    found = history(
        tmp_path, line(1, "a", 2, "QuotaReserved"), line(2, "b", 2, "QuotaReserved"), line(3, "a", 0, "Evicted")
    )
    assert peaks(found)[""] == 4


def test_pods_that_have_succeeded_need_no_quota(tmp_path: Path) -> None:
    [change] = history(tmp_path, line(1, "a", 3, "QuotaReserved", reclaimablePods=[{"name": "worker", "count": 1}]))
    assert change.held == 2


def test_others_are_left_out(tmp_path: Path) -> None:
    assert history(tmp_path, line(1, "a", 3).replace("team", "other"), line(2, "a", 3)[:-1]) == []
