"""An operator whose every call passes a fault proxy, started by a fork server, restarted when a fault killed it."""

import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from signal import SIGCONT, SIGKILL, SIGSTOP, SIGTERM
from typing import Self

from harness.drivers.environment import Stage
from harness.drivers.forkserver import Child
from harness.drivers.operator_process import USER, kubeconfig_of, kubeconfig_through
from harness.fakes.pools import pools_flag
from testbed.cluster import Cluster
from testbed.errors import TestbedError
from testbed.faultproxy import FaultProxy
from testbed.faultproxy.handler import Call
from testbed.processes import last_words

STOP_DEADLINE = 30.0
# What scenarios ask for, and administrators must allow.
ALLOWED = ("--efs-file-systems=fs-1", "--cache-host-paths=/var/cache", pools_flag())
TAIL = 30
WRITES = frozenset({"create", "update", "patch", "delete", "deletecollection"})


@contextmanager
def proxy_as(cluster: Cluster, user: str) -> Iterator[FaultProxy]:
    """A fault proxy whose calls are this user's in the audit log."""
    kubeconfig_of(cluster, user)
    certificate, key = cluster.authority.files("kube-apiserver")
    own_certificate, own_key = cluster.authority.files(user)
    with FaultProxy(
        upstream=cluster.instance.server,
        certificate=certificate,
        key=key,
        authority=cluster.authority.certificate,
        client_certificate=own_certificate,
        client_key=own_key,
    ) as proxy:
        yield proxy


class ProxiedOperator:
    """`with ProxiedOperator(stage, "name") as operator:`; it is not waited for, since scenarios wait for what it does.

    It is expected to die only by a fault: `tend` starts it again after one, and complains about any other end.
    """

    def __init__(
        self, stage: Stage, name: str, arguments: Sequence[str] = ("--no-leader-election",), user: str = USER
    ) -> None:
        self._stage = stage
        self._name = name
        self._arguments = arguments
        self._user = user
        self._child: Child | None = None
        self._before = 0  # bytes of its log that are of earlier lives
        self.killed_at: list[float] = []
        self.log_file = stage.directory / f"{name}.log"

    def __enter__(self) -> Self:
        self._proxying = proxy_as(self._stage.cluster, self._user)
        self.proxy = self._proxying.__enter__()
        self._kubeconfig = kubeconfig_through(
            self._stage.cluster, self.proxy.url, self._stage.directory / f"{self._name}.kubeconfig"
        )
        return self

    def __exit__(self, kind: object, error: BaseException | None, traceback: object) -> None:
        if error is not None:
            error.add_note(f"the end of {self.log_file}:\n{self.tail()}")
        try:
            self.kill()
        finally:
            self._proxying.__exit__(None, None, None)

    def start(self) -> None:
        """Start it, behind the proxy."""
        key = f"--checkpoint-key-file={self._stage.checkpoint_key}"
        arguments = ["--kubeconfig", str(self._kubeconfig), "--address", "127.0.0.1:0", *ALLOWED, key, *self._arguments]
        self._before = self.log_file.stat().st_size if self.log_file.exists() else 0
        self._child = self._stage.forkserver.start(arguments, self.log_file)

    def tend(self) -> None:
        """Bring it back if a fault has killed it."""
        if self._child is not None and (code := self._child.poll()) is not None:
            if code != -SIGKILL:
                raise TestbedError(f"the operator ended with {code}; the end of {self.log_file}:\n{self.tail()}")
            self._revive()

    def insist(self) -> None:
        """An error if it has ended."""
        if self._child is not None and (code := self._child.poll()) is not None:
            raise TestbedError(f"the operator ended with {code}; the end of {self.log_file}:\n{self.tail()}")

    @property
    def runs(self) -> bool:
        """Whether it was started and has not ended; a frozen one runs."""
        return self._child is not None and self._child.poll() is None

    def count(self, verb: str, resource: str, subresource: str = "") -> int:
        """How many such calls it made so far."""
        wanted = verb, resource, subresource
        return sum((call.verb, call.resource, call.subresource) == wanted for call in self.proxy.calls)

    def kill(self) -> None:
        """SIGKILL, if it runs."""
        self._end(SIGKILL)

    def stop(self) -> None:
        """SIGTERM; one that was only just started may not have learnt yet how to end in good order."""
        if not self.stop_unless_killed():
            raise TestbedError(f"told to stop, it was killed; the end of {self.log_file}:\n{self.tail()}")

    def stop_unless_killed(self) -> bool:
        """SIGTERM; returns whether it ended. One that a fault killed at its last write runs again."""
        code = self._end(SIGTERM)
        if code == -SIGKILL:
            self._revive()
        elif code not in {0, -SIGTERM}:
            raise TestbedError(f"told to stop, it ended with {code}; the end of {self.log_file}:\n{self.tail()}")
        return code != -SIGKILL

    def wait_ended(self) -> int:
        """Wait for an end that it decides on itself, and return its exit code."""
        code = self.child.wait(STOP_DEADLINE)
        self._child = None
        return code

    def freeze(self) -> None:
        """SIGSTOP."""
        self.child.send_signal(SIGSTOP)

    def resume(self) -> None:
        """SIGCONT."""
        self.child.send_signal(SIGCONT)

    @property
    def child(self) -> Child:
        """Its process."""
        if self._child is None:
            raise TestbedError(f"{self._name} was not started")
        return self._child

    def writes(self) -> list[Call]:
        """What it wrote, or tried to, so far."""
        return [call for call in self.proxy.calls if call.verb in WRITES]

    def log(self) -> str:
        """What it has said since it was started."""
        return self.log_file.read_bytes()[self._before :].decode() if self.log_file.exists() else ""

    def tail(self) -> str:
        """The end of its log."""
        return last_words(self.log_file, TAIL) if self.log_file.exists() else ""

    def _revive(self) -> None:
        self.proxy.clear()  # one death is enough
        self.killed_at.append(time.monotonic())
        self.start()

    def _end(self, signal: int) -> int:
        if self._child is None:
            return 0
        self._child.send_signal(signal)
        code = self._child.wait(STOP_DEADLINE)
        self._child = None
        return code
