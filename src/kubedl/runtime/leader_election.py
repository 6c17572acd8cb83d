"""Leader election with a Lease: at most one process of an installation writes.

A leader that cannot renew in time exits at once, before another process may acquire the lease. A watchdog thread
enforces this, and `check` before every write, since a suspended process may resume with writes pending. The expiry of
another holder's lease is measured with the local monotonic clock, from the last observed change of the Lease; clocks of
two machines are never compared.

Use a separate client: lease renewals must not queue behind the writes that they permit.
"""

import asyncio
import contextlib
import math
import os
import socket
import threading
import time
import uuid
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any, NoReturn

import structlog

from kubedl.kube.client import Client
from kubedl.kube.errors import ApiError, ConflictError, NotFoundError
from kubedl.kube.types.core import LEASES, Lease, LeaseSpec
from kubedl.kube.types.meta import ObjectKey

log = structlog.get_logger()

Lead = Callable[[], Awaitable[None]]


@dataclass(frozen=True)
class Timing:
    """Durations in seconds. A leader exits `renew_deadline` after its last renewal; others wait for `duration`."""

    duration: float = 15.0
    renew_deadline: float = 10.0
    retry: float = 2.0

    def __post_init__(self) -> None:
        if not 2 * self.retry < self.renew_deadline < self.duration:
            raise ValueError(
                f"two retry periods must fit into the renew deadline, and the renew deadline into the duration: {self}"
            )


def since_boot() -> float:
    """Monotonic seconds that include suspend, unlike those of the event loop."""
    return time.clock_gettime(time.CLOCK_BOOTTIME)


def exit_immediately(why: str) -> NoReturn:
    """Exit without running any more code, not even a log handler that might block."""
    with contextlib.suppress(OSError):
        os.set_blocking(2, False)
        os.write(2, f"not the leader any more, exiting: {why}\n".encode())
    os._exit(1)


class LeaderElector:
    """The elector of one process. `changed` is called with True when it becomes leader and with False when it stops."""

    def __init__(
        self,
        client: Client,
        key: ObjectKey,
        *,
        timing: Timing = Timing(),  # noqa: B008 - frozen
        changed: Callable[[bool], None] = lambda _: None,
        clock: Callable[[], float] = since_boot,
        die: Callable[[str], None] = exit_immediately,
    ) -> None:
        self.identity = f"{socket.gethostname()}_{uuid.uuid4()}"
        self._client, self._key, self._timing = client, key, timing
        self._changed, self._clock, self._die = changed, clock, die
        self._held: Lease | None = None  # as last written by this process
        self._seen = LeaseSpec()
        self._free_at = 0.0  # when the observed lease expires
        self._valid_until: float | None = None  # while leader

    @property
    def term(self) -> tuple[str, int]:
        """The uid of the Lease and the number of its holders before this one: a fencing token for other stores."""
        held = self._held
        return (held.metadata.uid, held.spec.lease_transitions) if held is not None else ("", 0)

    @property
    def is_leader(self) -> bool:
        """Whether this process is leader and may write."""
        return (valid_until := self._valid_until) is not None and self._clock() < valid_until

    def check(self) -> None:
        """Exit if this process is leader but its lease has expired; cheap, and safe to call from any thread."""
        if (valid_until := self._valid_until) is not None and self._clock() >= valid_until:
            self._die(f"the lease {self._key} was not renewed for {self._timing.renew_deadline:g} s")

    async def run(self, lead: Lead) -> None:
        """Wait for the lease, hold it while `lead()` runs, then release it; cancel to stop."""
        try:
            while not await self._try():
                left = self._free_at - self._clock()
                await asyncio.sleep(left + 0.01 if 0 < left < self._timing.retry else self._timing.retry)
            log.info("acquired the lease", lease=str(self._key), identity=self.identity)
            await self._hold(lead)
        finally:
            await self._release()

    async def _hold(self, lead: Lead) -> None:
        ended = threading.Event()
        threading.Thread(target=self._watch, args=(ended,), name="lease watchdog", daemon=True).start()
        self._changed(True)
        renewing, leading = asyncio.ensure_future(self._renew()), asyncio.ensure_future(lead())
        try:
            await asyncio.wait({leading, renewing}, return_when=asyncio.FIRST_COMPLETED)
        finally:
            leading.cancel()
            await asyncio.wait({leading})  # shutdown may take a while; keep renewing the lease until then
            renewing.cancel()
            await asyncio.wait({renewing})
            self._valid_until = None
            ended.set()
            self._changed(False)
        for task in (renewing, leading):
            if not task.cancelled():
                task.result()

    def _watch(self, ended: threading.Event) -> None:
        while not ended.wait(min(0.25, (self._timing.duration - self._timing.renew_deadline) / 10)):
            self.check()

    async def _renew(self) -> None:
        while True:
            await asyncio.sleep(self._timing.retry)
            ours = await self._try()
            self.check()
            if ours is False:
                self._die(f"the lease {self._key} is held by {self._seen.holder_identity}")

    async def _try(self) -> bool | None:
        """Return whether this process holds the lease; None if that is unknown."""
        try:
            async with asyncio.timeout((self._timing.renew_deadline - self._timing.retry) / 3):
                return await self._claim()
        except (ApiError, TimeoutError) as error:
            log.warning(
                "failed to acquire or renew the lease",
                lease=str(self._key),
                error=str(error) or "no response within the timeout",
            )
            return None

    async def _claim(self) -> bool:
        began = self._clock()  # before the write: others count from after it
        if self._held is not None:
            with contextlib.suppress(ConflictError, NotFoundError):
                return await self._take(began, self._held)
            self._held = None  # changed since the last read, perhaps by our own write without a response
        lease = await self._look()
        taken = lease is not None and lease.spec.holder_identity not in {"", self.identity}
        if taken and self._clock() < self._free_at:
            return False
        return await self._take(began, lease)

    async def _look(self) -> Lease | None:
        try:
            lease = await self._client.get(LEASES, self._key)
        except NotFoundError:
            return None
        if lease.spec != self._seen:
            self._seen = lease.spec
            self._free_at = self._clock() + (lease.spec.lease_duration_seconds or self._timing.duration)
        return lease

    async def _take(self, began: float, old: Lease | None) -> bool:
        spec: dict[str, Any] = {"holderIdentity": self.identity, "renewTime": _now()}
        if old is None or old.spec.holder_identity != self.identity:
            spec |= {"acquireTime": _now(), "leaseDurationSeconds": math.ceil(self._timing.duration)}
            spec["leaseTransitions"] = old.spec.lease_transitions + 1 if old else 0
        self._held = await self._write(old, spec)
        self._valid_until = began + self._timing.renew_deadline
        return True

    async def _release(self) -> None:
        try:
            async with asyncio.timeout(self._timing.retry):
                lease = await self._look()
                if lease is not None and lease.spec.holder_identity == self.identity:
                    await self._write(lease, {"holderIdentity": "", "leaseDurationSeconds": 1, "renewTime": _now()})
        except (ApiError, TimeoutError) as error:
            log.warning("lease not released, it will expire", lease=str(self._key), error=str(error) or "no response")

    async def _write(self, old: Lease | None, spec: dict[str, Any]) -> Lease:
        if old is None:
            head = {"apiVersion": LEASES.api_version, "kind": LEASES.kind, "metadata": {"name": self._key.name}}
            return await self._client.create(LEASES, self._key.namespace, head | {"spec": spec})
        # The resource version makes concurrent updates conflict, so two processes cannot both acquire it.
        guard = {"resourceVersion": old.metadata.resource_version}
        return await self._client.patch(LEASES, self._key, {"metadata": guard, "spec": spec})


def _now() -> str:
    return datetime.now(UTC).isoformat(timespec="microseconds").replace("+00:00", "Z")
