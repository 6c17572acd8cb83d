"""The operator under test: the real controller, stores, gate and writer over the model of the API server.

Its caches lag behind as far as a test lets them; planning waits, as it does in the runtime, until they show what this
process wrote itself. It looks at its job only when it has a reason to: something changed, a write failed, or the moment
has come for which it asked.
"""

import asyncio
from collections.abc import Callable
from datetime import datetime, timedelta
from typing import TYPE_CHECKING, Any, cast

from kubedl.api.cachebackend import CACHE_BACKENDS, CacheBackend
from kubedl.api.training import BY_CACHE, cache_key
from kubedl.kube.errors import ApiError
from kubedl.kube.types.core import NODES, PODS, SERVICES, Node, Pod, Service
from kubedl.kube.types.meta import ObjectKey, Resource
from kubedl.podspec.model_volumes import FileSystems
from kubedl.runtime.expectations import Expectations
from kubedl.runtime.store import BY_OWNER, Store
from kubedl.runtime.writer import Writer
from kubedl.training.controller import JobController
from kubedl.training.elastic.asking import NobodyAsks
from kubedl.training.host_network.ports import HostPorts
from kubedl.training.informers import Informers
from kubedl.training.observed import Settings
from kubedl.training.spot.reports import NoReports, Reports
from tests.unit.training.api_model import ApiModel, ClientModel, Crash, Harm
from tests.unit.training.program_model import AskerModel, Program

if TYPE_CHECKING:
    from kubedl.kube.client import Client
    from kubedl.runtime.events import EventRecorder

Watcher = Callable[["OperatorModel", str, Resource[Any], Any], None]


SETTINGS = Settings(file_systems=FileSystems(frozenset({"fs-1"})), checkpoint_key=b"k" * 32)


class Recording:
    """A recorder that keeps events for tests."""

    def __init__(self) -> None:
        self.events: list[str] = []

    def event(self, _: object, type_: str, reason: str, message: str) -> None:
        """Keep it."""
        self.events.append(f"{type_} {reason}: {message}")


class OperatorModel:
    """One process, from its start to its death."""

    def __init__(
        self,
        api: ApiModel,
        kind: Any,  # noqa: ANN401 - a Kind
        key: ObjectKey,
        watcher: Watcher,
        settings: Settings = SETTINGS,
        program: Program | None = None,
        reports: Reports | None = None,
    ) -> None:
        self._api = api
        self._key = key
        self.jobs: Store[Any] = Store({BY_CACHE: cache_key})
        self.pods: Store[Pod] = Store({"node": lambda pod: pod.spec.node_name or None}, BY_OWNER)
        self.services: Store[Service] = Store()
        self.nodes: Store[Node] = Store()
        self.backends: Store[CacheBackend] = Store()
        self.resources: dict[Resource[Any], Store[Any]] = {
            kind.resource: self.jobs,
            PODS: self.pods,
            SERVICES: self.services,
            NODES: self.nodes,
            CACHE_BACKENDS: self.backends,
        }
        self._expectations = Expectations({kind.resource: self.jobs, PODS: self.pods, SERVICES: self.services})
        self._violation: AssertionError | None = None
        self.recorder = Recording()
        self._watcher = watcher
        self.client = ClientModel(api, self._about_to_write)
        writer = Writer(cast("Client", self.client), self._expectations)
        self.host_ports = HostPorts()
        informers = Informers(
            self.jobs,
            self.pods,
            self.services,
            self.nodes,
            self.backends,
            host_ports=self.host_ports,
            asker=AskerModel(program) if program is not None else NobodyAsks(),
            reports=reports or NoReports(),
        )
        self.controller = JobController(
            kind, informers, writer, cast("EventRecorder", self.recorder), settings=settings, clock=lambda: api.now
        )
        self.reason: str | None = "start"  # to look at the job
        self.due: datetime | None = None
        self._delivered = dict.fromkeys(self.resources, 0)
        self._subscribe()
        for resource in self.resources:
            self.list_again(resource)

    def _subscribe(self) -> None:
        def changed(old: object, new: object) -> None:
            self.reason = f"{type(new or old).__name__} changed"

        for store in self.resources.values():
            store.subscribe(changed)
        self.jobs.subscribe(self.controller.observer.job_changed)
        self.pods.subscribe(self.controller.observer.pod_changed)
        self.pods.subscribe(self.host_ports.pod_changed)

    def deliver(self, resource: Resource[Any], most: int = 1000) -> bool:
        """The watch brings the next changes; says whether there were any."""
        store, history = self.resources[resource], self._api.history.get(resource.plural, [])
        first = self._delivered[resource]
        for change in history[first : first + most]:
            if change.deleted:
                store.remove(change.object.metadata.key, change.object)
            else:
                store.put(change.object)
            store.version = change.version
        self._delivered[resource] = min(len(history), first + most)
        return self._delivered[resource] > first

    def deliver_all(self) -> bool:
        return sum(self.deliver(resource) for resource in self.resources) > 0

    def list_again(self, resource: Resource[Any]) -> None:
        """The watch was lost and what happened meanwhile with it: only what is there now is known."""
        store = self.resources[resource]
        store.replace(list(self._api.all(resource)))
        store.version = self._api.version
        self._delivered[resource] = len(self._api.history.get(resource.plural, []))

    def has_reason(self) -> bool:
        """Whether the runtime would look at the job now."""
        return self.reason is not None or (self.due is not None and self.due <= self._api.now)

    def reconcile(self, runner: asyncio.Runner, harm: tuple[int, Harm] | None = None) -> bool:
        """Look at the job, if the gate is open; says whether anything was written. Raises Crash when killed."""
        if self._expectations.pending(self._key):
            return False
        self.reason, self.due = None, None
        self.client.harm, self.client.writes = harm, 0
        try:
            # Not runner.run: it sets a signal handler each time, and there are many thousands of looks.
            again = runner.get_loop().run_until_complete(self.controller.reconcile(self._key))
        except ApiError as error:
            self.reason = f"failed: {error}"
        except Crash:
            self.client.dead = True
        else:
            self._set_timer(again)
        finally:
            if self._violation is not None:
                raise self._violation
        if self.client.dead:
            raise Crash
        return self.client.writes > 0

    def _about_to_write(self, verb: str, resource: Resource[Any], what: object) -> None:
        try:
            self._watcher(self, verb, resource, what)
        except AssertionError as violation:
            self._violation = violation  # the controller may find another error first
            raise

    def _set_timer(self, again: float | None) -> None:
        if again is None:
            return
        assert again > 0 or self.client.writes, "looks again at once without having done anything: a hot loop"
        self.due = self._api.now + timedelta(seconds=again)
