"""Who shares a cluster, who has it alone, and who ends it: file locks, with a stand-in for the cluster.

Two handles of one file contend like two processes, so one thread plays them all. A call that would
have to wait fails instead (`impatient`), so that nobody has to guess how long waiting takes.
"""

import contextlib
import fcntl
import threading
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import IO, cast

import pytest

from testbed import cluster_lock
from testbed.cluster import Cluster
from testbed.components import Parts
from testbed.errors import DeadlineError, TestbedError
from testbed.instance import Instance
from testbed.state_file import Record
from testbed.waiting import until

flock = fcntl.flock


@dataclass
class StandInInstance:
    state: Path

    def lock(self, name: str) -> Path:
        return self.state / name


@dataclass
class StandIn:
    """A cluster that only takes notes."""

    instance: StandInInstance
    shapes: list[tuple[int, int, bool]] = field(default_factory=list)
    ended: int = 0

    @property
    def users_file(self) -> Path:
        return self.instance.lock("users")

    def up(self, *, nodes: int, kwok: int, keep: bool, claim: IO[str]) -> None:
        self.shapes.append((nodes, kwok, keep))
        fcntl.flock(claim, fcntl.LOCK_SH)

    def down(self, unless: Callable[[], bool]) -> None:
        self.ended += not unless()


@pytest.fixture
def stand_in(tmp_path: Path) -> StandIn:
    return StandIn(StandInInstance(tmp_path))


@pytest.fixture
def cluster(stand_in: StandIn) -> Cluster:
    return cast("Cluster", stand_in)


@contextlib.contextmanager
def impatient(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Whoever would have to wait in this block gets BlockingIOError at once; other threads wait on."""
    thread = threading.get_ident()

    def at_once(file: int, mode: int) -> None:
        flock(file, mode | fcntl.LOCK_NB if threading.get_ident() == thread else mode)

    with monkeypatch.context() as patch:
        patch.setattr("fcntl.flock", at_once)
        yield


def would_wait(cluster: Cluster, monkeypatch: pytest.MonkeyPatch, *, alone: bool) -> bool:
    """Whether somebody who asks for a turn now has to wait for it."""
    try:
        with impatient(monkeypatch), cluster_lock.turn(cluster, alone=alone):
            return False
    except BlockingIOError:
        return True


def test_tests_that_break_nothing_run_together(cluster: Cluster, monkeypatch: pytest.MonkeyPatch) -> None:
    with cluster_lock.turn(cluster, alone=False):
        assert not would_wait(cluster, monkeypatch, alone=False)


def test_whoever_is_alone_excludes_everybody(cluster: Cluster, monkeypatch: pytest.MonkeyPatch) -> None:
    """A frozen API server must not be another test's surprise."""
    with cluster_lock.turn(cluster, alone=True):
        assert would_wait(cluster, monkeypatch, alone=False)
        assert would_wait(cluster, monkeypatch, alone=True)
    assert not would_wait(cluster, monkeypatch, alone=False)
    assert not would_wait(cluster, monkeypatch, alone=True)


def test_nobody_is_alone_while_others_run(cluster: Cluster, monkeypatch: pytest.MonkeyPatch) -> None:
    with cluster_lock.turn(cluster, alone=False):
        assert would_wait(cluster, monkeypatch, alone=True)
        # The one that gave up has left the gate open behind it.
        assert not would_wait(cluster, monkeypatch, alone=False)


def test_turn_ends_with_a_test_that_fails(cluster: Cluster, monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(ZeroDivisionError), cluster_lock.turn(cluster, alone=True):
        raise ZeroDivisionError
    assert not would_wait(cluster, monkeypatch, alone=True)


def test_whoever_waits_to_be_alone_is_not_starved(cluster: Cluster, monkeypatch: pytest.MonkeyPatch) -> None:
    """Without the gate newcomers would join those who run, and there would always be one."""
    waiting, finished = threading.Event(), threading.Event()

    def noticed(file: int, mode: int) -> None:
        flock(file, mode)
        waiting.set()  # after the first lock, which is the gate

    def break_things() -> None:
        with cluster_lock.turn(cluster, alone=True):
            finished.set()

    with cluster_lock.turn(cluster, alone=False):
        with monkeypatch.context() as patch:
            patch.setattr("fcntl.flock", noticed)
            breaker = threading.Thread(target=break_things)
            breaker.start()
            assert waiting.wait(60)
        assert would_wait(cluster, monkeypatch, alone=False)
        assert not finished.is_set()
    breaker.join(60)
    assert finished.is_set()
    assert not would_wait(cluster, monkeypatch, alone=False)


def test_borrowed_cluster_has_the_wanted_shape_and_is_not_kept(stand_in: StandIn, cluster: Cluster) -> None:
    """Kept, it would outlive the tests that started it."""
    with cluster_lock.borrowed(cluster, nodes=2, kwok=5) as lent:
        assert lent is cluster
    assert stand_in.shapes == [(2, 5, False)]


def test_last_user_ends_the_cluster_that_tests_started(stand_in: StandIn, cluster: Cluster, tmp_path: Path) -> None:
    Record("fingerprint", keep=False).write(tmp_path)
    with cluster_lock.borrowed(cluster):
        with cluster_lock.borrowed(cluster):
            pass
        assert stand_in.ended == 0
    assert stand_in.ended == 1


def test_cluster_ends_even_if_its_last_test_fails(stand_in: StandIn, cluster: Cluster, tmp_path: Path) -> None:
    Record("fingerprint", keep=False).write(tmp_path)
    with pytest.raises(ZeroDivisionError), cluster_lock.borrowed(cluster):
        raise ZeroDivisionError
    assert stand_in.ended == 1


def test_cluster_that_somebody_keeps_is_left_running(stand_in: StandIn, cluster: Cluster, tmp_path: Path) -> None:
    """Whoever typed `make cluster` wants it after the tests too."""
    Record("fingerprint", keep=True).write(tmp_path)
    with cluster_lock.borrowed(cluster):
        pass
    assert stand_in.ended == 0


def test_cluster_that_is_gone_is_not_ended_again(stand_in: StandIn, cluster: Cluster) -> None:
    """Somebody typed `make cluster-down` meanwhile."""
    with cluster_lock.borrowed(cluster):
        pass
    assert stand_in.ended == 0


def test_newcomer_waits_while_the_last_user_ends_the_cluster(
    stand_in: StandIn, cluster: Cluster, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Else it would borrow what is being taken down."""
    Record("fingerprint", keep=False).write(tmp_path)
    seen: list[bool] = []

    def down(unless: Callable[[], bool]) -> None:
        assert not unless()
        with pytest.raises(BlockingIOError), impatient(monkeypatch), cluster_lock.borrowed(cluster):
            pass
        seen.append(True)

    monkeypatch.setattr(stand_in, "down", down)
    with cluster_lock.borrowed(cluster):
        pass
    assert seen == [True]


@pytest.fixture
def other(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Cluster:
    """A real cluster object whose locks are in a directory of the test, and which starts nothing."""
    monkeypatch.setattr(Instance, "lock", lambda _, name: tmp_path / name)
    monkeypatch.setattr(Parts, "prepare", lambda *_: None)
    monkeypatch.setattr(Cluster, "_reusable", lambda _: None)
    monkeypatch.setattr("testbed.cluster.cleanup.clean", lambda _: pytest.fail("it would clean a cluster in use"))
    return Cluster(7)


def test_a_start_waits_while_a_test_breaks_things(other: Cluster, monkeypatch: pytest.MonkeyPatch) -> None:
    """It would wake what the test froze, or take the cluster for broken and clean it away."""
    monkeypatch.setattr("testbed.cluster.until", partial(until, pause=lambda _: None, clock=iter(range(1000)).__next__))
    with cluster_lock.turn(other, alone=True), pytest.raises(DeadlineError, match="the test that runs alone"):
        other.up()


def test_a_cluster_in_use_is_not_replaced(other: Cluster) -> None:
    """Another checkout, or a node that is slow for a moment, must not end the cluster of running tests."""
    with other.users_file.open("w") as users:
        flock(users, fcntl.LOCK_SH)
        with pytest.raises(TestbedError, match="is used by running tests"):
            other.up()
