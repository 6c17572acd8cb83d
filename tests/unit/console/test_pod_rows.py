"""When containers of pods were started, by which a log without its beginning is known."""

from datetime import UTC, datetime
from typing import Any

import pytest

from kubedl.console.kinds import ShownPod
from kubedl.console.rows import pod_rows
from kubedl.kube import codec

NOW = datetime(2026, 11, 18, tzinfo=UTC)
SIDECAR = {"name": "proxy", "state": {"running": {"startedAt": "2026-11-01T00:00:00Z"}}}


@pytest.mark.parametrize(
    ("state", "started"),
    [
        ({"running": {"startedAt": "2026-11-18T00:00:00Z"}}, NOW),
        ({"terminated": {"exitCode": 1, "startedAt": "2026-11-18T00:00:00Z"}}, NOW),
        ({"waiting": {"reason": "CrashLoopBackOff"}}, None),
        ({}, None),
    ],
)
def test_a_row_says_when_the_first_container_was_started(state: dict[str, Any], started: datetime | None) -> None:
    statuses = [SIDECAR, {"name": "main", "state": state}]
    spec = {"containers": [{"name": "main"}, {"name": "proxy"}]}
    body = {"metadata": {"name": "bert-0"}, "spec": spec, "status": {"containerStatuses": statuses}}
    [row] = pod_rows([codec.decode(codec.encode(body), ShownPod)], NOW)
    assert row.started == started
