"""The queue between watch and sink: one entry for each object, the newest."""

from datetime import timedelta

from kubedl.history.observation import Closing, Observation, RowKey
from kubedl.history.pending import Pending
from tests.history.builders import NOW, job, job_row


def only(pending: Pending) -> Observation:
    """The one observation that waits."""
    [change] = pending.take(10)
    assert isinstance(change, Observation)
    return change


def test_a_newer_state_replaces_an_older_one() -> None:
    """And not the other way round; the place in the queue, and with it the lag, is that of the first."""
    old, pending = job(version=1), Pending()
    new = job(identity=old["metadata"]["uid"], version=2, state="Succeeded")
    pending.add(job_row(new))
    pending.add(job_row(job("another")))
    pending.add(job_row(old))
    first, _ = pending.take(10)
    assert isinstance(first, Observation)
    assert (first.version, first.values["state"]) == (2, "Succeeded")


def test_the_last_state_stays_the_last() -> None:
    """A list that was sent before the deletion arrives after it."""
    obj, pending = job(version=5), Pending()
    pending.add(job_row(obj, deleted=True))
    pending.add(job_row(obj))
    assert only(pending).deleted


def test_an_object_that_was_missed_by_mistake_comes_back() -> None:
    """The same state from a later list."""
    obj, pending = job(), Pending()
    row = job_row(obj)
    pending.add(row)
    pending.add(Closing("jobs", row.uid, row.created, NOW + timedelta(hours=1)))
    assert only_state(pending) == ("Lost", True)
    pending.add(row)
    pending.add(Closing("jobs", row.uid, row.created, NOW + timedelta(hours=1)))
    pending.add(row)
    assert only_state(pending) == ("Running", False)


def only_state(pending: Pending) -> tuple[str, bool]:
    """State, and whether it is the last one."""
    row = only(pending)
    return row.values["state"], row.deleted


def test_states_that_a_list_brings_back_are_dropped_first() -> None:
    """The oldest of them; and those of deleted objects only when nothing else is left."""
    forgotten: list[RowKey] = []
    lost: list[RowKey] = []
    pending = Pending(most=3, forgotten=forgotten.append, lost=lost.append)
    rows = [job_row(job(f"job-{number}"), deleted=number % 2 == 0) for number in range(8)]
    for row in rows:
        pending.add(row)
    assert len(pending) == 3
    assert forgotten == [rows[number].key for number in (1, 3, 5, 7)]
    assert lost == [rows[0].key]
    assert [change.uid for change in pending.take(10)] == [rows[number].uid for number in (2, 4, 6)]
