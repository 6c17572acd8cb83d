"""What is decided about a Cron."""

from datetime import UTC, datetime, timedelta

import pytest

from kubedl.api.cron import MOST_ROWS
from kubedl.cron.plan import LOOK_AGAIN, Observed, plan
from kubedl.cron.runs import claimed, run_name
from kubedl.kube import codec
from tests.unit.cron.builders import CREATED, KINDS, NAME, WORKLOAD, at, cron, decide, reason, run


def since(moment: datetime) -> dict[str, object]:
    """A status with the run of that time as the last one."""
    return {"lastScheduleTime": codec.plain(moment)}


def test_nothing_is_due_before_the_first_time() -> None:
    """The operator wakes for it, and looks at the clock meanwhile."""
    decided = decide(cron(), at(12, 30))
    assert (decided.create, reason(decided)) == (None, "Scheduled")
    assert decided.status.next_schedule_time == at(13)
    assert decided.wake_at == at(12, 31)
    assert decide(cron(), at(12, 59, 50)).wake_at == at(13)


def test_a_run_is_named_in_the_status_before_it_is_created() -> None:
    """Without a uid, which nobody knows yet."""
    decided = decide(cron(), at(13))
    assert decided.create == decided.status.last_schedule_time == at(13)
    assert [(entry.name, entry.uid) for entry in decided.status.active] == [(run_name(NAME, at(13)), "")]
    assert decided.status.next_schedule_time == at(14)


def test_a_time_has_one_run() -> None:
    """However often it is looked at; nor is a time before the last one made up for."""
    of = cron(status=since(at(13)))
    assert decide(of, at(13, 0, 1)).create is None
    assert decide(of, at(12, 59)).create is None
    assert decide(of, at(14)).create == at(14)


def test_a_time_before_the_cron_was_there_is_not_made_up_for() -> None:
    """Nor the minute in which it was created."""
    assert decide(cron("* * * * *"), at(12, 0, 50)).create is None
    assert decide(cron("* * * * *"), at(12, 1)).create == at(12, 1)


def test_of_missed_times_only_the_latest_is_made_up_for() -> None:
    """After more than a hundred of them too."""
    decided = decide(cron("* * * * *", status=since(CREATED)), at(16, 40, 5))
    assert decided.create == at(16, 40)
    assert len(decided.status.active) == 1


def test_a_late_run_is_missed() -> None:
    """And the reason says which."""
    of = cron(startingDeadlineSeconds=30)
    assert decide(of, at(13, 0, 30)).create == at(13)
    late = decide(of, at(13, 0, 31))
    assert (late.create, reason(late)) == (None, "RunMissed")
    assert "2026-01-01T13:00:00Z" in late.status.conditions[0].message


def test_nothing_is_started_after_the_deadline() -> None:
    """Not even what was missed before; the operator wakes when it is reached."""
    of = cron(deadline=codec.plain(at(13, 30)))
    assert decide(of, at(13)).create == at(13)
    assert decide(of, at(13)).status.next_schedule_time is None
    assert decide(of, at(13, 29, 50)).wake_at == at(13, 30, 1)
    over = decide(of, at(13, 31))
    assert (over.create, reason(over), over.wake_at) == (None, "DeadlineReached", None)


def test_a_suspended_cron_starts_nothing() -> None:
    """And looks after its runs: rows, and the limit."""
    of = cron(suspend=True, historyLimit=0)
    ended = run(of, at(13), "Succeeded")
    decided = decide(of, at(14), ended)
    assert (decided.create, reason(decided), decided.status.next_schedule_time) == (None, "CronSuspended", None)
    assert decided.expire == (ended,)


def test_forbid_waits_for_the_end() -> None:
    """Then the latest run is started, and only that."""
    of = cron(concurrencyPolicy="Forbid", status=since(at(13)))
    active = run(of, at(13))
    waiting = decide(of, at(15), active)
    assert (waiting.create, waiting.replace, reason(waiting)) == (None, (), "WaitingForRun")
    assert [entry.name for entry in waiting.status.active] == [active.name]
    over = decide(of, at(15, 20), run(of, at(13), "Failed"))
    assert over.create == at(15)


def test_a_run_that_the_caches_lack_is_looked_up() -> None:
    """By the status it may be active: nothing is decided before the API server has answered."""
    of = cron(concurrencyPolicy="Forbid")
    entry = codec.plain(run(of, at(13)).reference())
    of = cron(concurrencyPolicy="Forbid", status={**since(at(13)), "active": [entry]})
    decided = plan(Observed(of, (), KINDS, at(14)))
    assert [one.name for one in decided.inquire] == [run_name(NAME, at(13))]
    assert (decided.create, decided.status) == (None, of.status)
    gone = plan(Observed(of, (), KINDS, at(14), frozenset(decided.inquire)))
    assert gone.create == at(14)
    assert [row.status for row in gone.status.history] == ["Deleted"]


def test_a_run_that_was_not_created_is_created_again() -> None:
    """With the same name, unless it is late or the next one is due."""
    status = {**since(at(13)), "active": [codec.plain(claimed(cron(), at(13)))]}
    decided = decide(cron(status=status), at(13, 5))
    assert decided.create == at(13)
    assert len(decided.status.active) == 1
    later = decide(cron(status=status), at(14))
    assert later.create == at(14)
    assert [entry.name for entry in later.status.active] == [run_name(NAME, at(14))]
    assert later.status.history == ()
    late = decide(cron(status=status, startingDeadlineSeconds=60), at(13, 5))
    assert (late.create, late.status.active) == (None, ())
    assert decide(cron(status=status, suspend=True), at(13, 5)).create is None


def test_a_run_that_was_not_created_waits_if_the_policy_has_become_stricter() -> None:
    """It is not forgotten meanwhile."""
    entry = codec.plain(claimed(cron(), at(14)))
    of = cron(concurrencyPolicy="Forbid", status={**since(at(14)), "active": [entry]})
    waiting = decide(of, at(14, 5), run(of, at(13)))
    assert (waiting.create, reason(waiting)) == (None, "WaitingForRun")
    assert [one.name for one in waiting.status.active] == [run_name(NAME, at(13)), run_name(NAME, at(14))]
    assert decide(of, at(14, 6), run(of, at(13), "Failed")).create == at(14)


def test_replace_deletes_and_waits() -> None:
    """The next run starts when the last one is gone, not before."""
    of = cron(concurrencyPolicy="Replace", status=since(at(13)))
    active = run(of, at(13))
    decided = decide(of, at(14), active)
    assert (decided.create, decided.replace, reason(decided)) == (None, (active,), "ReplacingRun")
    leaving = decide(of, at(14), run(of, at(13), leaving=True))
    assert (leaving.create, leaving.replace) == (None, ())
    assert decide(of, at(14)).create == at(14)
    assert decide(of, at(13, 30), active).replace == ()


def test_allow_starts_beside_others_up_to_a_bound() -> None:
    """A status has a largest size."""
    of = cron("* * * * *", status=since(at(15)))
    active = [run(of, at(12) + timedelta(minutes=minute)) for minute in range(MOST_ROWS)]
    assert len(decide(of, at(15, 1), *active[1:]).status.active) == MOST_ROWS
    full = decide(of, at(15, 1), *active)
    assert (full.create, reason(full)) == (None, "WaitingForRun")


def test_a_clock_that_was_set_back_repeats_nothing() -> None:
    """The next run is the first that was not there yet."""
    decided = decide(cron(status=since(at(15))), at(13, 30))
    assert (decided.create, reason(decided)) == (None, "ClockSetBack")
    assert decided.status.next_schedule_time == at(16)
    assert decided.wake_at == at(13, 30) + LOOK_AGAIN


@pytest.mark.parametrize(
    ("spec", "expected"),
    [
        ({"schedule": "61 * * * *"}, "InvalidSchedule"),
        ({"schedule": "0 0 */31 2 1#5"}, "NeverFires"),
        ({"timeZone": "Mars/Olympus"}, "InvalidTimeZone"),
        ({"template": {"kind": "CronTab", "workload": WORKLOAD}}, "UnknownKind"),
        ({"template": {"kind": "TFJob", "workload": {"metadata": {"namespace": "x"}, "spec": {}}}}, "InvalidTemplate"),
        ({"template": {"kind": "TFJob", "workload": {"spec": {"cronPolicy": {}}}}}, "InvalidTemplate"),
        ({"template": {"kind": "TFJob", "workload": {"spec": {"runPolicy": {"cronPolicy": {}}}}}}, "InvalidTemplate"),
        ({"template": {"kind": "TFJob", "workload": {"spec": [], "metadata": 7}}}, "InvalidTemplate"),
        ({"template": {"kind": "TFJob", "workload": {"spec": {}, "metadata": {"labels": [1]}}}}, "InvalidTemplate"),
    ],
)
def test_what_cannot_be_run_says_so(spec: dict[str, object], expected: str) -> None:
    """In a condition, without looking again."""
    decided = decide(cron(**{"schedule": "0 * * * *", **spec}), at(16))  # type: ignore[arg-type]
    [condition] = decided.status.conditions
    assert (decided.create, condition.status, condition.reason) == (None, "False", expected)
    assert decided.wake_at is None
    assert condition.message


def test_an_active_run_of_a_package_that_is_gone_blocks_nothing() -> None:
    """Nobody could tell how it is."""
    entry = {"kind": "GoneJob", "name": "x", "uid": "1"}
    of = cron(concurrencyPolicy="Forbid", status={**since(at(13)), "active": [entry]})
    assert decide(of, at(14)).create == at(14)


def test_a_cron_that_is_deleted_does_nothing() -> None:
    """Its runs are garbage-collected."""
    of = codec.plain(cron(status=since(at(13))))
    of["metadata"]["deletionTimestamp"] = codec.plain(datetime(2026, 1, 1, 14, tzinfo=UTC))
    leaving = codec.decode(codec.encode(of), type(cron()))
    assert plan(Observed(leaving, (), KINDS, at(16))).create is None
