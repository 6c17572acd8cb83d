"""How often the kubelet's Events about a pod are read."""

from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, cast

import pytest

from kubedl.api.conditions import Condition
from kubedl.api.training import JobStatus
from kubedl.kube.types.core import Pod
from kubedl.kube.types.meta import ObjectMeta
from kubedl.runtime.pod_events import PodEvent
from kubedl.training import waiting_memory
from kubedl.training.waiting import PODS_READY
from kubedl.training.waiting_memory import LONGEST_PAUSE, WaitingMemory

if TYPE_CHECKING:
    from kubedl.kube.client import Client

NOW = datetime(2026, 1, 1, tzinfo=UTC)
POD = Pod(metadata=ObjectMeta(name="a", namespace="team", uid="1"))


@pytest.mark.parametrize(
    ("event", "expected"),
    [
        (None, [3, 3, 3, 3, 3, 6, 12, 24]),
        (PodEvent(reason="Scheduled", type="Normal"), [3, 3, 3, 3, 3, 6, 12, 24]),
        (PodEvent(reason="FailedMount", type="Warning"), [3, 6, 12, 24, 48, 96, 192, 300]),
    ],
)
async def test_a_late_warning_is_found_soon(
    monkeypatch: pytest.MonkeyPatch, event: PodEvent | None, expected: list[int]
) -> None:
    """While there is none, a few questions follow quickly; then they become rare, as they are where it is known."""

    async def last_event(_: object, __: object) -> PodEvent | None:
        return event

    monkeypatch.setattr(waiting_memory, "last_event", last_event)
    memory, now, pauses = WaitingMemory(), NOW, []
    for _ in expected:
        answer = await memory.ask(cast("Client", None), "job", POD, now)
        pauses.append((answer.again - now).total_seconds())
        now = answer.again
    assert pauses == expected
    assert max(pauses) <= LONGEST_PAUSE.total_seconds()


def test_a_message_of_the_future_holds_no_other_back() -> None:
    """The clock of the operator was set back after it had been written."""
    memory, before = WaitingMemory(), JobStatus()
    after = JobStatus(reason="Unschedulable", conditions=(Condition(type=PODS_READY, status="False"),))
    memory.written("job", before, after, NOW)
    assert memory.message_changed_at("job", NOW) == NOW
    assert memory.message_changed_at("job", NOW - timedelta(hours=1)) is None
