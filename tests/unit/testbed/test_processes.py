"""Processes are known by their mark alone: found by it, and ended only if they still bear it."""

import contextlib
import dataclasses
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping
from pathlib import Path

import pytest

from testbed import processes
from testbed.errors import TestbedError
from testbed.processes import Marked

# Nobody's real test bed, and another one in each test process that runs beside this one.
INSTANCE = 1_000_000 + os.getpid()
SLEEP = ("sleep", "60")


@dataclasses.dataclass
class Starter:
    """Starts real processes under this test's mark and remembers them."""

    home: Path
    log: Path
    pids: list[int] = dataclasses.field(default_factory=list)

    def start(self, component: str, *command: str, environment: Mapping[str, str] | None = None) -> Marked:
        pid = processes.start(INSTANCE, component, command or SLEEP, self.log, environment)
        self.pids.append(pid)
        return Marked(pid, INSTANCE, component, str(self.home))

    def ended(self, component: str, script: str, environment: Mapping[str, str] | None = None) -> Marked:
        """A process that has ended by itself; its pid is still ours, so nobody else can have got it."""
        process = self.start(component, "sh", "-c", script, environment=environment)
        os.waitid(os.P_PID, process.pid, os.WEXITED | os.WNOWAIT)
        return process

    def end_all(self) -> None:
        for pid in self.pids:
            with contextlib.suppress(ChildProcessError):  # ended and reaped: the pid may be a stranger's now
                if os.waitpid(pid, os.WNOHANG) == (0, 0):
                    os.kill(pid, signal.SIGKILL)
                    os.waitpid(pid, 0)


@pytest.fixture
def starter(own_home: Path, tmp_path: Path) -> Iterator[Starter]:
    starter = Starter(own_home, tmp_path / "log/component.log")
    yield starter
    starter.end_all()


def lives(process: Marked) -> bool:
    """Whether a child of ours runs on; one that ended is reaped by this question."""
    return os.waitpid(process.pid, os.WNOHANG) == (0, 0)


def reaped(process: Marked) -> bool:
    try:
        os.waitpid(process.pid, os.WNOHANG)
    except ChildProcessError:
        return True
    return False


def test_started_process_is_found_by_its_mark(starter: Starter) -> None:
    assert processes.find(INSTANCE) == []
    process = starter.start("etcd")
    assert processes.find(INSTANCE) == [process]
    assert process in list(processes.everything())


def test_process_is_found_from_its_first_moment(starter: Starter) -> None:
    """Right after the start its environment may read as empty; a cleaner that came then would miss it."""
    started, found = [], []
    for number in range(10):
        started.append(starter.start(f"part{number}"))
        found.append(processes.find(INSTANCE, f"part{number}"))
    assert found == [[process] for process in started]


def test_environment_that_reads_as_empty_is_read_again(starter: Starter, monkeypatch: pytest.MonkeyPatch) -> None:
    """The same moment, made to come for certain."""
    process = starter.start("etcd")
    really, early = Path.read_bytes, [Path(f"/proc/{process.pid}/environ")] * 2

    def read(path: Path) -> bytes:
        if path in early:
            early.remove(path)
            return b""
        return really(path)

    monkeypatch.setattr(Path, "read_bytes", read)
    assert processes.find(INSTANCE) == [process]
    assert early == []


def test_a_start_lasts_until_the_mark_can_be_read(starter: Starter, monkeypatch: pytest.MonkeyPatch) -> None:
    """A busy machine may take a while over exec, longer than others look at a process without an environment."""
    really, early = Path.read_bytes, iter(range(60))

    def read(path: Path) -> bytes:
        return b"" if path.name == "environ" and next(early, None) is not None else really(path)

    monkeypatch.setattr(Path, "read_bytes", read)
    process = starter.start("etcd")
    assert next(early, None) is None
    assert processes.find(INSTANCE) == [process]


def test_a_start_does_not_wait_for_what_has_ended(starter: Starter, monkeypatch: pytest.MonkeyPatch) -> None:
    """It has no environment and never will."""
    really = Path.read_bytes
    monkeypatch.setattr(Path, "read_bytes", lambda path: b"" if path.name == "environ" else really(path))
    began = time.monotonic()
    starter.start("etcd", "true")
    assert time.monotonic() - began < processes.EXEC / 2


def test_instances_do_not_see_each_other(starter: Starter) -> None:
    starter.start("etcd")
    assert processes.find(INSTANCE + 1_000_000_000) == []


def test_component_includes_what_lies_below_it_and_not_what_begins_alike(starter: Starter) -> None:
    """Ending `node1` must not end `node10`."""
    kubelet, proxy = starter.start("node1/kubelet"), starter.start("node1/kube-proxy")
    starter.start("node10/kubelet")
    assert set(processes.find(INSTANCE, "node1")) == {kubelet, proxy}
    assert processes.find(INSTANCE, "node1/kube") == []
    assert processes.find(INSTANCE, "node1/kubelet") == [kubelet]


def test_mark_wins_over_the_given_environment(starter: Starter) -> None:
    """No caller can hide a process, not even by passing on the environment of another one."""
    process = starter.start("etcd", environment={processes.MARK: "0|kubelet|/elsewhere"})
    assert processes.find(INSTANCE) == [process]


def test_process_has_a_session_of_its_own(starter: Starter) -> None:
    """Neither Ctrl-C nor a closed terminal reaches the cluster of whoever started it."""
    process = starter.start("etcd")
    assert os.getsid(process.pid) == process.pid
    assert Path(f"/proc/{process.pid}/fd/0").readlink() == Path("/dev/null")


def test_process_outlives_a_starter_that_is_killed(own_home: Path, tmp_path: Path) -> None:
    """SIGKILL to the launcher and its group, as a CI runner does, leaves something that can be found."""
    script = (
        "import os, pathlib, signal; from testbed import processes\n"
        f"print(processes.start({INSTANCE}, 'etcd', {SLEEP!r}, pathlib.Path({str(tmp_path / 'log')!r})), flush=True)\n"
        "os.killpg(0, signal.SIGKILL)\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", script],
        cwd=Path(processes.__file__).parents[1],
        start_new_session=True,
        capture_output=True,
        text=True,
        check=False,
    )
    orphan = Marked(int(done.stdout), INSTANCE, "etcd", str(own_home))
    try:
        assert done.returncode == -signal.SIGKILL
        assert processes.find(INSTANCE) == [orphan]
    finally:
        processes.kill([orphan])
    assert processes.find(INSTANCE) == []


def test_output_and_errors_go_to_the_log_which_is_continued(starter: Starter) -> None:
    """A restarted component must not erase why it was restarted."""
    starter.ended("etcd", "echo first; echo $FRUIT >&2", {"FRUIT": "pear"})
    starter.ended("etcd", "echo second")
    assert starter.log.read_text() == "first\npear\nsecond\n"


def test_kill_ends_and_reaps_everything_before_it_returns(starter: Starter) -> None:
    """The next start reuses ports and files at once, and a zombie would look like a living child."""
    started = [starter.start(f"part{number}") for number in range(5)]
    processes.kill(started)
    assert [process for process in started if not reaped(process)] == []
    assert processes.find(INSTANCE) == []


def test_kill_leaves_what_was_not_named(starter: Starter) -> None:
    victim, bystander = starter.start("node1/kubelet"), starter.start("node2/kubelet")
    processes.kill([victim])
    assert processes.find(INSTANCE) == [bystander]


@pytest.mark.parametrize("difference", [{"component": "kubelet"}, {"instance": 0}, {"home": "/elsewhere"}])
def test_kill_spares_a_process_with_another_mark(starter: Starter, difference: dict[str, int | str]) -> None:
    """That is a recycled pid: what was found has ended, and a stranger has its number now."""
    stranger = starter.start("etcd")
    processes.kill([dataclasses.replace(stranger, **difference)])  # type: ignore[arg-type]
    assert lives(stranger)


def test_signal_spares_a_process_with_another_mark(starter: Starter) -> None:
    stranger = starter.start("etcd")
    processes.send([dataclasses.replace(stranger, component="kubelet")], signal.SIGKILL)
    processes.send([stranger], signal.SIGSTOP)
    _, status = os.waitpid(stranger.pid, os.WUNTRACED)
    assert (os.WIFSTOPPED(status), os.WIFSIGNALED(status)) == (True, False)


def test_frozen_process_is_killed(starter: Starter) -> None:
    """A test that is killed while it holds the API server frozen leaves it so."""
    process = starter.start("kube-apiserver")
    processes.send([process], signal.SIGSTOP)
    os.waitpid(process.pid, os.WUNTRACED)
    processes.kill([process])
    assert reaped(process)


def test_process_that_has_ended_is_neither_found_nor_an_error(starter: Starter) -> None:
    """Between finding and ending anything may die by itself."""
    zombie, killed = starter.ended("etcd", "exit 0"), starter.start("kubelet")
    processes.kill([killed])
    processes.kill([zombie, killed])
    processes.send([zombie, killed], signal.SIGCONT)
    assert processes.find(INSTANCE) == []


def test_process_that_ends_just_before_the_signal_is_no_error(
    starter: Starter, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its descriptor is open and its mark was read; the kernel answers that there is nobody any more."""

    def gone(*_: int) -> None:
        raise ProcessLookupError

    process = starter.start("etcd")
    with monkeypatch.context() as patch:
        patch.setattr("testbed.processes.signal.pidfd_send_signal", gone)
        processes.send([process], signal.SIGCONT)
    assert lives(process)


def test_one_is_the_component_itself_and_nothing_below_it(starter: Starter) -> None:
    kubelet = starter.start("node1/kubelet")
    assert processes.one(INSTANCE, "node1/kubelet") == kubelet
    with pytest.raises(TestbedError) as error:
        processes.one(INSTANCE, "node1")
    assert str(error.value) == f"node1 is not running in instance {INSTANCE}; running: node1/kubelet"


def test_components_are_what_was_started_and_not_the_children_that_bear_its_mark(starter: Starter) -> None:
    """containerd's shims outlive it: it must count as ended, and they must be found all the same."""
    note = starter.log.with_name("child")
    kubelet = starter.start("node1/kubelet")
    parent = starter.ended("node1/containerd", f"sleep 60 & echo $! >{note}")
    child = Marked(int(note.read_text()), INSTANCE, parent.component, parent.home)
    try:
        assert processes.components(INSTANCE) == {"node1/kubelet": kubelet}
        with pytest.raises(TestbedError, match="node1/containerd is not running"):
            processes.one(INSTANCE, "node1/containerd")
        with pytest.raises(TestbedError, match="node1/containerd ended"):
            processes.insist(INSTANCE, "node1/containerd", starter.log)
        assert processes.find(INSTANCE, "node1/containerd") == [child]
    finally:
        processes.kill([child])


def test_component_that_was_started_again_is_not_taken_for_the_child_of_its_life_before(starter: Starter) -> None:
    """The child has the lower pid, so it comes first in every listing."""
    note = starter.log.with_name("child")
    before = starter.ended("node1/containerd", f"sleep 60 & echo $! >{note}")
    child = Marked(int(note.read_text()), INSTANCE, before.component, before.home)
    try:
        again = starter.start("node1/containerd")
        assert processes.one(INSTANCE, "node1/containerd") == again
    finally:
        processes.kill([child])


def test_insist_is_content_while_the_component_lives(starter: Starter) -> None:
    starter.start("etcd")
    processes.insist(INSTANCE, "etcd", starter.log)


def test_insist_shows_the_end_of_the_log_of_what_has_ended(starter: Starter) -> None:
    """The last lines say why; the thousand before them would hide it."""
    starter.ended("etcd", "seq 1 40; exit 1")
    with pytest.raises(TestbedError) as error:
        processes.insist(INSTANCE, "etcd", starter.log)
    last = "\n".join(str(number) for number in range(26, 41))
    assert str(error.value) == f"etcd ended; the end of {starter.log}:\n{last}"


def test_log_that_is_not_text_is_shown_all_the_same(tmp_path: Path) -> None:
    """An error about the log would hide the error in the log."""
    (tmp_path / "log").write_bytes(b"broken \xff\n")
    assert processes.last_words(tmp_path / "log") == "broken \N{REPLACEMENT CHARACTER}"


def test_program_that_is_missing_is_an_error_at_once(starter: Starter) -> None:
    with pytest.raises(FileNotFoundError):
        starter.start("etcd", "/nonexistent/etcd")


def test_variable_that_is_no_mark_is_ignored(monkeypatch: pytest.MonkeyPatch) -> None:
    """Whoever exports KUBEDL_TESTBED=1 in some shell must not make `make cluster-down` fail for all.

    Not with a real process: it would stop the searches of every test bed on this machine.
    """
    monkeypatch.setattr(processes, "_environment", lambda _: b"HOME=/root\0KUBEDL_TESTBED=1\0")
    assert list(processes.everything()) == []
