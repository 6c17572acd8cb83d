"""An Inference in a model of the API server, and its controller with caches that are level with it.

What holds of server-side apply holds here, as far as the controller leans on it: an object of another uid is refused,
what somebody else wrote (replicas, a status) stays, and the generation grows when the spec changes.
"""

import asyncio
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, cast

import msgspec

from harness.fakes.api_server import merged, with_metadata
from kubedl.api.conditions import Condition, find
from kubedl.api.inference import INFERENCES, Inference, PredictorStatus
from kubedl.api.model import MODEL_VERSIONS, ModelVersion
from kubedl.kube import codec
from kubedl.kube.errors import ConflictError, ForbiddenError, InvalidError, NotFoundError, UnknownOutcomeError
from kubedl.kube.types.apps import DEPLOYMENTS, DeploymentStatus
from kubedl.kube.types.autoscaling import AUTOSCALERS, SCALED_OBJECTS
from kubedl.kube.types.core import PODS, SERVICES
from kubedl.kube.types.discovery import ENDPOINT_SLICES, SERVICE_OF
from kubedl.kube.types.meta import ObjectKey, Resource
from kubedl.runtime.expectations import Expectations
from kubedl.runtime.reflector import Reflector
from kubedl.runtime.server_side_apply import Applier
from kubedl.runtime.store import Store
from kubedl.runtime.writer import Writer
from kubedl.serving import naming
from kubedl.serving.controller import BY_LABEL, BY_NAMESPACE, InferenceController, Informers
from kubedl.serving.naming import APPLIED
from kubedl.serving.plan import Settings
from kubedl.serving.rollout.analysis_runner import AnalysisRunner
from kubedl.serving.routing import HTTP_ROUTES, GatewayRef
from kubedl.serving.status import Endpoints
from kubedl.serving.workload.model_init_container import Program
from tests.training_builders import NAMESPACE, NOW
from tests.unit.serving.inferences import GATEWAY, NAME, UID
from tests.unit.training.api_model import ApiModel, ClientModel, Harm

if TYPE_CHECKING:
    from kubedl.kube.client import Client
    from kubedl.runtime.events import EventRecorder
    from kubedl.serving.rollout.prometheus import MetricsSource

KEY = ObjectKey(NAMESPACE, NAME)
CONTROLLED = (DEPLOYMENTS, SERVICES, AUTOSCALERS, SCALED_OBJECTS, HTTP_ROUTES)


@dataclass
class Applying(ClientModel):
    """A client of the model that knows server-side apply and dry runs."""

    sent: dict[tuple[str, str], Mapping[str, Any]] = field(default_factory=dict)  # by plural and name
    unknown: tuple[Resource[Any], ...] = ()  # kinds that the cluster does not have
    strips: bool = False  # image volumes
    refuses: str = ""  # pods that have this in them
    full: bool = False  # the quota
    keeps: tuple[Resource[Any], ...] = ()  # kinds of which a policy lets nobody delete anything
    unreadable: str = ""  # the Deployment that has a field which the API server does not know
    asked: int = 0  # dry runs

    async def get(self, resource: Resource[Any], key: ObjectKey) -> Any:  # noqa: ANN401 - whatever it is
        self._known(resource)
        return await super().get(resource, key)

    async def delete(
        self,
        resource: Resource[Any],
        key: ObjectKey,
        uid: str,
        grace_seconds: int | None = None,
        propagation: str = "Background",
    ) -> Any:  # noqa: ANN401 - whatever it is
        if resource in self.keeps:
            raise ForbiddenError(403, "Forbidden", "denied by a policy")
        return await super().delete(resource, key, uid, grace_seconds, propagation)

    async def patch(
        self,
        resource: Resource[Any],
        key: ObjectKey,
        body: Mapping[str, Any],
        how: str = "merge",
        subresource: str = "",
    ) -> Any:  # noqa: ANN401 - whatever it is
        if how != "apply" and subresource:
            return await super().patch(resource, key, body, how, subresource)
        if how != "apply":
            return self._write("edit", resource, body, lambda: self._edited(resource, key, body))
        self._known(resource)
        if resource is DEPLOYMENTS and key.name == self.unreadable:
            raise UnknownOutcomeError(
                500, "", "failed to create typed patch object: .spec.oops: field not declared in schema"
            )
        return self._write("apply", resource, body, lambda: self._applied(resource, key, body))

    async def call(
        self,
        verb: str,
        resource: Resource[Any],
        path: str,
        *,
        params: Mapping[str, str],
        body: Mapping[str, Any],
        content: str = "",
    ) -> bytes:
        if params.get("dryRun"):
            self.asked += 1
            if self.full:
                raise ForbiddenError(403, "Forbidden", "exceeded quota: gpus, requested: 1, used: 4, limited: 4")
            if self.refuses and self.refuses in str(body):
                raise InvalidError(422, "Invalid", "no such volumes here")
            return codec.encode(_stripped(body) if self.strips else body)
        assert (verb, params["fieldManager"], resource) == ("patch", "kubedl-replicas", DEPLOYMENTS)
        key = ObjectKey(body["metadata"]["namespace"], body["metadata"]["name"])
        return codec.encode(self._write("scale", resource, body, lambda: self._scaled(key, body["spec"]["replicas"])))

    def _known(self, resource: Resource[Any]) -> None:
        if resource in self.unknown:
            raise NotFoundError(404, "NotFound", "the server could not find the requested resource")

    def _edited(self, resource: Resource[Any], key: ObjectKey, body: Mapping[str, Any]) -> Any:  # noqa: ANN401
        found = self.api.find(resource, key)
        if found.metadata.resource_version != body["metadata"]["resourceVersion"]:
            raise ConflictError(409, "Conflict", "another version")
        return self.api.put(resource, resource.decoder.decode(codec.encode(merged(codec.plain(found), body))))

    def _applied(self, resource: Resource[Any], key: ObjectKey, body: Mapping[str, Any]) -> Any:  # noqa: ANN401
        found = self.api.find(resource, key)
        uid = body["metadata"].get("uid")
        if uid and (found is None or found.metadata.uid != uid):
            raise ConflictError(409, "Conflict", "another uid")
        made = resource.decoder.decode(codec.encode(body))
        same = self.sent.get((resource.plural, key.name), {}).get("spec") == codec.plain(body["spec"])
        self.sent[resource.plural, key.name] = codec.plain(body)
        if found is None:
            made = with_metadata(made, uid=f"uid-{self.api.version + 1}", generation=1, creation_timestamp=self.api.now)
        else:
            generation = found.metadata.generation + (not same)
            made = with_metadata(made, uid=found.metadata.uid, generation=generation)
            if hasattr(found, "status"):
                made = msgspec.structs.replace(made, status=found.status)
            if resource is DEPLOYMENTS:
                spec = msgspec.structs.replace(made.spec, replicas=found.spec.replicas)
                made = msgspec.structs.replace(made, spec=spec)
        return self.api.put(resource, made)

    def _scaled(self, key: ObjectKey, replicas: int) -> Any:  # noqa: ANN401 - a Deployment
        found = self.api.find(DEPLOYMENTS, key)
        spec = msgspec.structs.replace(found.spec, replicas=replicas)
        changed = msgspec.structs.replace(found, spec=spec)
        return self.api.put(DEPLOYMENTS, with_metadata(changed, generation=found.metadata.generation + 1))


class Stage:
    """`look` is one pass of the controller; everything else is what happens around it."""

    def __init__(self, runner: asyncio.Runner, made: Inference, *versions: ModelVersion) -> None:
        self.api = ApiModel(NOW)
        self.events: list[str] = []
        self.writes: list[str] = []
        self.program = Program("packer:1")
        self.gateway: GatewayRef | None = None
        self.gateway_api = True
        self.source: MetricsSource | None = None
        self._woken: set[ObjectKey] = set()
        self.client = Applying(self.api, self._write)
        self._runner = runner
        self._stores: dict[Resource[Any], Store[Any]] = {
            INFERENCES: Store({BY_NAMESPACE: lambda one: one.metadata.namespace}),
            MODEL_VERSIONS: Store(),
            ENDPOINT_SLICES: Store({BY_LABEL: naming.labelled}),
            PODS: Store({BY_LABEL: naming.labelled}),
            **{resource: Store() for resource in CONTROLLED},
        }
        self.api.put(INFERENCES, made)
        for version in versions:
            self.api.put(MODEL_VERSIONS, version)
        self.start()

    def start(self) -> None:
        """A new process: it remembers nothing."""
        client, stores = cast("Client", self.client), self._stores
        self._routes: Reflector[Any] = Reflector(client, HTTP_ROUTES, stores[HTTP_ROUTES])
        self._scaled: Reflector[Any] = Reflector(client, SCALED_OBJECTS, stores[SCALED_OBJECTS])
        expectations = Expectations({})
        writer = Writer(client, expectations)
        informers = Informers(
            inferences=stores[INFERENCES],
            versions=stores[MODEL_VERSIONS],
            deployments=stores[DEPLOYMENTS],
            services=stores[SERVICES],
            autoscalers=stores[AUTOSCALERS],
            slices=stores[ENDPOINT_SLICES],
            pods=stores[PODS],
            routes=self._routes,
            scaled=self._scaled,
        )
        applier = Applier(client, expectations, APPLIED)
        self.measurements = AnalysisRunner(None, self._woken.add)
        self.controller = InferenceController(
            informers,
            writer,
            applier,
            cast("EventRecorder", self),
            settings=Settings(self.program, Endpoints()),
            gateway=None,
            measurements=self.measurements,
            clock=lambda: self.api.now,
        )

    def look(self, harm: tuple[int, Harm] | None = None) -> float | None:
        """Reconcile; returns when to look again."""
        self.writes.clear()
        self.client.harm, self.client.writes, self.client.dead = harm, 0, False
        self._routes.absent = not self.gateway_api
        self._routes.synced.set()
        self._scaled.synced.set()
        self.controller._gateway = self.gateway  # noqa: SLF001 - a setting that tests change
        self.measurements.source = self.source
        return self._runner.run(self._looked())

    async def _looked(self) -> float | None:
        """Again if it is woken by an answer, as its queue would."""
        while True:
            self._woken.clear()
            for resource, store in self._stores.items():
                store.replace(list(self.api.all(resource)))
            again = await self.controller.reconcile(KEY)
            for _ in range(5):  # whoever answers at once has answered then
                await asyncio.sleep(0)
            if not self._woken:
                return again

    def settle(self, passes: int = 12) -> None:
        """Look until nothing is written any more."""
        for _ in range(passes):
            self.look()
            if not self.writes:
                return
        raise AssertionError(f"it never rests: {self.writes}")

    def serves(self, name: str, ready: int | None = None) -> None:
        """The cluster has followed: so many pods of a Deployment answer, or all."""
        found = self.api.find(DEPLOYMENTS, ObjectKey(NAMESPACE, name))
        count = found.spec.replicas if ready is None else ready
        status = DeploymentStatus(
            observed_generation=found.metadata.generation,
            replicas=found.spec.replicas,
            updated_replicas=found.spec.replicas,
            ready_replicas=count,
            available_replicas=count,
        )
        self.api.put(DEPLOYMENTS, msgspec.structs.replace(found, status=status))
        labels = {SERVICE_OF: name, naming.INFERENCE: NAME, naming.INFERENCE_UID: UID}
        endpoints = [
            {"targetRef": {"name": f"{name}-{number}"}, "conditions": {"ready": True}} for number in range(count)
        ]
        body = {"metadata": {"name": name, "namespace": NAMESPACE, "labels": labels}, "endpoints": endpoints}
        self.api.put(ENDPOINT_SLICES, ENDPOINT_SLICES.decoder.decode(codec.encode(body)))

    def accepts(self) -> None:
        """The gateway takes the route as it is."""
        found = self.api.find(HTTP_ROUTES, KEY)
        said = {"type": "Accepted", "status": "True", "observedGeneration": found.metadata.generation}
        parent = {"parentRef": {"name": GATEWAY.name, "namespace": GATEWAY.namespace}, "conditions": [said]}
        whole = merged(codec.plain(found), {"status": {"parents": [parent]}})
        self.api.put(HTTP_ROUTES, HTTP_ROUTES.decoder.decode(codec.encode(whole)))

    def edit(self, made: Inference) -> None:
        """The user changes the Inference."""
        found = self.inference
        meta = msgspec.structs.replace(made.metadata, generation=found.metadata.generation + (made.spec != found.spec))
        self.api.put(INFERENCES, msgspec.structs.replace(made, metadata=meta, status=found.status))

    def body(self, resource: Resource[Any], name: str) -> Mapping[str, Any]:
        """An object as it was last sent."""
        return self.client.sent[resource.plural, name]

    def found(self, resource: Resource[Any]) -> list[str]:
        """The names of all objects of a kind."""
        return sorted(one.metadata.name for one in self.api.all(resource))

    def shares(self) -> dict[str, int]:
        """As the gateway is told."""
        route = self.api.find(HTTP_ROUTES, KEY)
        return {ref.name: ref.weight for rule in route.spec.rules for ref in rule.backend_refs}

    def event(self, about: Any, kind: str, reason: str, _: str) -> None:  # noqa: ANN401 - a reference
        """As a recorder."""
        self.events.append(f"{kind} {about.kind} {reason}")

    @property
    def inference(self) -> Inference:
        """As it is."""
        found: Inference = self.api.find(INFERENCES, KEY)
        return found

    @property
    def predictors(self) -> dict[str, PredictorStatus]:
        """What is said of each."""
        return {one.name: one for one in self.inference.status.predictor_statuses}

    def condition(self, kind: str = "Ready") -> Condition:
        """What is said of the whole."""
        said = find(self.inference.status.conditions, kind)
        assert said is not None
        return said

    @property
    def ready(self) -> tuple[str, str]:
        """Whether it is, and why."""
        return self.condition().status, self.condition().reason

    def _write(self, verb: str, resource: Resource[Any], what: Any) -> None:  # noqa: ANN401 - a body or a key
        name = what.name if isinstance(what, ObjectKey) else what["metadata"].get("name", "status")
        self.writes.append(f"{verb} {resource.plural} {name}")


def _stripped(body: Any) -> Any:  # noqa: ANN401 - JSON
    """A pod as it comes back where image volumes are not known."""
    spec = body["spec"]
    lost = {volume["name"] for volume in spec["volumes"] if "image" in volume}
    containers = {
        kind: [
            {**one, "volumeMounts": [mount for mount in one["volumeMounts"] if mount["name"] not in lost]}
            for one in spec[kind]
        ]
        for kind in ("containers", "initContainers")
    }
    volumes = [volume for volume in spec["volumes"] if volume["name"] not in lost]
    return {**body, "spec": {**spec, **containers, "volumes": volumes}}
