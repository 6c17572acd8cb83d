"""Names and bodies of runs, and the rows of those that have ended."""

from datetime import timedelta

from kubedl.api.cron import MOST_ROWS
from kubedl.cron import runs
from kubedl.training.kinds import all_kinds
from tests.unit.cron.builders import CREATED, NAME, WORKLOAD, at, cron, run


def test_the_name_follows_from_the_scheduled_minute() -> None:
    """So that a second leader finds the run of the first."""
    assert runs.run_name("a", at(13)) == runs.run_name("a", at(13)) == f"a-{int(at(13).timestamp()) // 60}"
    assert runs.run_name("a", at(13)) != runs.run_name("a", at(13, 1))
    assert runs.minute_of(runs.run_name("a-1", at(13))) * 60 == at(13).timestamp()
    assert runs.minute_of("by-hand") == runs.minute_of("a-²") == runs.minute_of("a-" + "9" * 40) == 0


def test_runs_of_kubedl_05_are_older_than_those_that_follow() -> None:
    """Their names have seconds; by the numbers alone they would be the newest, and kept in place of others."""
    assert runs.minute_of(f"a-{int(at(13).timestamp())}") == runs.minute_of(runs.run_name("a", at(13)))


def test_a_long_name_is_cut_and_stays_apart_from_others() -> None:
    """It leaves room for the longest role of any kind with 10,000 replicas."""
    one, other = runs.run_name("a" * 63, at(13)), runs.run_name("a" * 62 + "b", at(13))
    assert one != other
    roles = [role.name for kind in all_kinds() for role in kind.roles]
    assert max(len(f"{one}-{role}-9999") for role in roles) <= 63
    assert "--" not in runs.run_name("a" * 27 + "-" * 20 + "a", at(13))


def test_the_body_is_the_workload_with_name_label_and_owner() -> None:
    """Labels and annotations of the workload are kept; its label cannot be forged."""
    labels = {"team": "vision", "kubedl.io/cron-name": "other"}
    template = {"kind": "PyTorchJob", "workload": {**WORKLOAD, "metadata": {"labels": labels}, "status": {"x": 1}}}
    body = runs.run_body(cron(template=template), at(13))
    assert body["metadata"]["labels"] == {"team": "vision", "kubedl.io/cron-name": NAME}
    assert body["metadata"]["annotations"] == {"kubedl.io/scheduled-time": "2026-01-01T13:00:00Z"}
    [owner] = body["metadata"]["ownerReferences"]
    assert (owner["kind"], owner["name"], owner["uid"], owner["controller"]) == ("Cron", NAME, "uid-cron", True)
    assert body["spec"] == WORKLOAD["spec"]
    assert "status" not in body


def test_rows_outlive_their_jobs_up_to_the_limit() -> None:
    """Oldest first; a run that was deleted before its end has a row too."""
    of = cron()
    first = runs.history((), [run(of, at(13), "Succeeded")], (), 2, at(14))
    second = runs.history(first, [run(of, at(14), "Failed")], (), 2, at(15))
    assert [(row.object.name, row.status) for row in second] == [
        (runs.run_name(NAME, at(13)), "Succeeded"),
        (runs.run_name(NAME, at(14)), "Failed"),
    ]
    third = runs.history(second, [], [runs.claimed(of, at(15))], 2, at(16))
    assert [row.status for row in third] == ["Failed", "Deleted"]
    assert runs.history(second, [], (), 0, at(16)) == ()


def test_rows_are_bounded_without_a_limit() -> None:
    """An object has a largest size."""
    many = [run(cron(), CREATED + timedelta(minutes=minute), "Succeeded") for minute in range(MOST_ROWS + 5)]
    rows = runs.history((), many, (), None, at(16))
    assert len(rows) == MOST_ROWS
    assert rows[-1].object.name == many[-1].name


def test_the_oldest_finished_runs_expire() -> None:
    """Active ones never; those that are being deleted are not deleted again, and are not kept in place of others."""
    of = cron()
    jobs = [run(of, at(hour), "Succeeded") for hour in (13, 14, 15)] + [run(of, at(16))]
    assert runs.expired(jobs, None) == ()
    assert [one.name for one in runs.expired(jobs, 1)] == [jobs[0].name, jobs[1].name]
    assert len(runs.expired(jobs, 0)) == 3
    assert runs.expired([run(of, at(13), "Failed", leaving=True), *jobs[1:]], 2) == ()
