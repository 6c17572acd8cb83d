"""Writes are told apart by who made them, and read from rotated files too."""

import datetime
import json
import os
from pathlib import Path
from types import SimpleNamespace
from typing import TYPE_CHECKING, cast

from harness.drivers.audit_log import Write, writes

if TYPE_CHECKING:
    from testbed.cluster import Cluster

NOON = datetime.datetime(2026, 1, 1, 12, tzinfo=datetime.UTC)


def line(user: str, seconds: int, **reference: str) -> str:
    moment = (NOON + datetime.timedelta(seconds=seconds)).strftime("%Y-%m-%dT%H:%M:%S.%fZ")
    event = {"verb": "create", "user": {"username": user}, "objectRef": reference, "responseStatus": {"code": 201}}
    return json.dumps({**event, "requestReceivedTimestamp": moment}, separators=(",", ":")) + "\n"


def test_the_writes_of_one_user_since_a_moment(tmp_path: Path) -> None:
    log = tmp_path / "audit.log"
    older, rotated = tmp_path / "audit-2026-01-01T11.log", tmp_path / "audit-2026-01-01T12.log"
    older.write_text("not even read\n")
    os.utime(older, (NOON.timestamp() - 60, NOON.timestamp() - 60))
    rotated.write_text(line("me", -1, resource="pods", name="before") + line("me", 1, resource="pods", name="a"))
    asked = json.loads(line("me", 2, resource="pods", name="asked")) | {"requestURI": "/api/v1/pods?dryRun=All"}
    ours = (
        json.dumps(asked, separators=(",", ":"))
        + "\n"
        + line("me", 3, resource="tfjobs", subresource="status", namespace="n", name="b")
    )
    log.write_text(line("you", 2, resource="pods", name="yours") + ours + line("me", 4, resource="pods").rstrip())
    seen = writes(cast("Cluster", SimpleNamespace(audit_log=log)), "me", NOON)
    assert seen == [
        Write("create", "pods", "", "a", 201, NOON + datetime.timedelta(seconds=1)),
        Write("create", "tfjobs/status", "n", "b", 201, NOON + datetime.timedelta(seconds=3)),
    ]


def test_writes_to_leases_are_told_if_asked_for(tmp_path: Path) -> None:
    """They are signs of life, which nobody counts but who wants to know whether somebody lives."""
    log = tmp_path / "audit.log"
    log.write_text(line("me", 1, resource="leases", name="mine") + line("me", 2, resource="pods", name="a"))
    cluster = cast("Cluster", SimpleNamespace(audit_log=log))
    assert [write.name for write in writes(cluster, "me", NOON)] == ["a"]
    assert [write.name for write in writes(cluster, "me", NOON, leases=True)] == ["mine", "a"]
