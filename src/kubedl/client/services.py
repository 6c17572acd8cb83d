"""Models that are served: `client.services`."""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from kubedl.client.blocking import blocking
from kubedl.client.errors import Invalid
from kubedl.client.objects import INFERENCES, ObjectOperations
from kubedl.client.server_object import ServerObject

if TYPE_CHECKING:
    from kubedl.client.job_lookup import Cluster

ANNOTATION = "serving.kubedl.io/rollout"  # what it says is done, and it is removed
MOST_WEIGHT = 1_000_000
DEFAULT_WEIGHT = 100
AT_REST = ("", "Stable", "RolledBack")
NAME_ONE = ("--predictor NAME",)

Change = Callable[[Mapping[str, Any]], Mapping[str, Any]]  # from a predictor to the fields that change


@dataclass(frozen=True)
class Rollout:
    """How far a predictor is on its way to another version of its model."""

    phase: str = ""  # Starting, Stepping, Promoting, Stable or RolledBack; empty without a rollout
    candidate: str = ""
    rejected: str = ""  # the version that was rolled back
    message: str = ""

    @property
    def is_active(self) -> bool:
        """Return whether a version is being rolled out."""
        return self.phase not in AT_REST


@dataclass(frozen=True)
class Predictor:
    """The servers of one model version, and their share of the traffic."""

    name: str
    model_version: str
    weight: int
    percent: int | None  # what the gateway sends it; None without one
    replicas: int
    ready: int
    message: str
    rollout: Rollout


@dataclass(frozen=True)
class Service(ServerObject):
    """A service: predictors behind one address."""

    @property
    def framework(self) -> str:
        """Return which server its pods run."""
        return str(self.spec.get("framework") or "")

    @property
    def is_ready(self) -> bool:
        """Return whether it answers."""
        return self.has_condition("Ready")

    @property
    def message(self) -> str:
        """Return why it is not ready; empty if it is."""
        found = self.condition("Ready")
        return "" if self.is_ready else str(found.get("message") or found.get("reason") or "")

    @property
    def endpoint(self) -> str:
        """Return its address; empty if it has none yet."""
        return str(self.status.get("inferenceEndpoint") or "")

    @property
    def predictors(self) -> tuple[Predictor, ...]:
        """Return its predictors, in the order of the spec."""
        known = {one["name"]: one for one in self.status.get("predictorStatuses") or ()}
        return tuple(_predictor(one, known.get(one["name"]) or {}) for one in self.spec.get("predictors") or ())


class ServiceOperations:
    """Services of one namespace, as the caller."""

    def __init__(self, cluster: "Cluster", namespace: str) -> None:
        self.namespace = namespace
        self._objects = ObjectOperations(cluster, namespace)

    async def list(self, *, all_namespaces: bool = False) -> tuple[Service, ...]:
        """Return the services."""
        found = await self._objects.list_all(INFERENCES, all_namespaces=all_namespaces)
        return tuple(Service(one) for one in found)

    async def create(self, manifest: Mapping[str, Any], *, dry_run: bool = False, strict: bool = False) -> Service:
        """Create a service; with `dry_run`, only let the server check it.

        With `strict`, the server refuses fields that it does not know.
        """
        return Service(await self._objects.create(INFERENCES, manifest, dry_run=dry_run, strict=strict))

    async def get(self, name: str) -> Service:
        """Return a service. Raises NotFound."""
        return Service(await self._objects.get(INFERENCES, name))

    async def set_traffic(self, name: str, weights: Mapping[str, int]) -> Service:
        """Set the weights of predictors by name; the share of one is its weight among those of all.

        Raises Invalid for a predictor that does not exist or a weight outside 0 to 1,000,000, and Conflict if somebody
        changed the service meanwhile.
        """
        service = await self.get(name)
        for one, weight in weights.items():
            if not 0 <= weight <= MOST_WEIGHT:
                raise Invalid(f"the weight of {one} is {weight}", f"weights are from 0 to {MOST_WEIGHT}")
        _check_names(service, weights)
        return await self._change(
            service, lambda one: {"trafficWeight": weights[one["name"]]} if one["name"] in weights else {}
        )

    async def scale(self, name: str, *, replicas: int, predictor: str | None = None) -> Service:
        """Change the number of servers of a predictor, which must be named if there are several."""
        service = await self.get(name)
        chosen = _chosen(service, predictor)
        return await self._change(service, lambda one: {"replicas": replicas} if one["name"] == chosen else {})

    async def set_version(self, name: str, version: str, *, predictor: str | None = None) -> Service:
        """Let a predictor, which must be named if there are several, serve another ModelVersion.

        If the service has a rollout, the version goes out in its steps. Raises Conflict if somebody changed the service
        meanwhile.
        """
        service = await self.get(name)
        chosen = _chosen(service, predictor)
        return await self._change(service, lambda one: {"modelVersion": version} if one["name"] == chosen else {})

    async def next(self, name: str, *, predictor: str | None = None) -> Service:
        """Go on to the next step of a rollout, of one predictor or of all that have one.

        Raises Invalid if there is none. The operator does it within seconds; `get` shows what came of it.
        """
        return await self._say(name, "next", predictor)

    async def promote(self, name: str, *, predictor: str | None = None) -> Service:
        """Let the new version serve everything, also one that was rolled back. Raises Invalid if there is none."""
        return await self._say(name, "promote", predictor)

    async def abort(self, name: str, *, predictor: str | None = None) -> Service:
        """Go back to the version that served before. Raises Invalid if there is no rollout."""
        return await self._say(name, "abort", predictor)

    async def retry(self, name: str, *, predictor: str | None = None) -> Service:
        """Try a version again that was rolled back. Raises Invalid if there is none."""
        return await self._say(name, "retry", predictor)

    async def delete(self, name: str) -> None:
        """Delete a service and its servers; models stay. Raises NotFound."""
        await self._objects.delete(INFERENCES, name)

    async def _change(self, service: Service, change: Change) -> Service:
        """Change predictors of the service as it was read: a list is replaced as a whole."""
        predictors = [{**one, **change(one)} for one in service.spec["predictors"]]
        version = {"resourceVersion": service.metadata["resourceVersion"]}
        body = {"metadata": version, "spec": {"predictors": predictors}}
        return Service(await self._objects.patch(INFERENCES, service.name, body))

    async def _say(self, name: str, word: str, predictor: str | None) -> Service:
        service = await self.get(name)
        if predictor is not None:
            _check_names(service, (predictor,))
        _check_rollouts(service, word, predictor)
        value = f"{word}:{predictor}" if predictor else word
        return Service(await self._objects.patch(INFERENCES, name, {"metadata": {"annotations": {ANNOTATION: value}}}))


class Services:
    """Services of one namespace: `ServiceOperations` without an event loop."""

    def __init__(self, operations: ServiceOperations) -> None:
        self._operations = operations

    list = blocking(ServiceOperations.list)
    create = blocking(ServiceOperations.create)
    get = blocking(ServiceOperations.get)
    set_traffic = blocking(ServiceOperations.set_traffic)
    scale = blocking(ServiceOperations.scale)
    set_version = blocking(ServiceOperations.set_version)
    next = blocking(ServiceOperations.next)
    promote = blocking(ServiceOperations.promote)
    abort = blocking(ServiceOperations.abort)
    retry = blocking(ServiceOperations.retry)
    delete = blocking(ServiceOperations.delete)


def _predictor(spec: Mapping[str, Any], status: Mapping[str, Any]) -> Predictor:
    rollout, percent = status.get("rollout") or {}, status.get("trafficPercent")
    return Predictor(
        name=str(spec["name"]),
        model_version=str(status.get("modelVersion") or spec.get("modelVersion") or ""),
        weight=int(spec.get("trafficWeight", DEFAULT_WEIGHT)),
        percent=int(percent) if percent is not None else None,
        replicas=int(status.get("replicas", spec.get("replicas", 1))),
        ready=int(status.get("readyReplicas", 0)),
        message=str(status.get("message") or ""),
        rollout=Rollout(*(str(rollout.get(key) or "") for key in ("phase", "candidate", "rejected", "message"))),
    )


def _chosen(service: Service, predictor: str | None) -> str:
    """Return the name of the one predictor that a change is about."""
    known = [one.name for one in service.predictors]
    if predictor is None and len(known) != 1:
        raise Invalid(f"{service.name} has the predictors {', '.join(known)}", "each has servers of its own", NAME_ONE)
    chosen = predictor or known[0]
    _check_names(service, (chosen,))
    return chosen


def _check_names(service: Service, names: Iterable[str]) -> None:
    known = [one.name for one in service.predictors]
    unknown = sorted(set(names) - set(known))
    if unknown:
        there = ", ".join(known)
        what = f"{service.name} has no predictor called {', '.join(unknown)}"
        raise Invalid(what, f"it has {there}", (f"one of {there}",))


def _check_rollouts(service: Service, word: str, predictor: str | None) -> None:
    """Refuse a word that has nothing to change."""
    rollouts = [one.rollout for one in service.predictors if predictor in (None, one.name)]
    rejected = next((one.rejected for one in rollouts if one.rejected), "")
    if word in ("retry", "promote") and rejected:  # a version that was rolled back may be tried again, or forced
        return
    if word == "retry" or not any(one.is_active for one in rollouts):
        why = f"{rejected} was rolled back" if rejected else "no rollout is under way"
        steps = (f"kubedl serve retry {service.name}",) if rejected else (f"kubedl serve get {service.name}",)
        raise Invalid(f"nothing to {word if word != 'next' else 'continue'}", why, steps)
