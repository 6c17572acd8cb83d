"""What an Inference is made of in the cluster: the objects, cut down to what is read, and how they are found.

All of them have the Inference's uid as a label, so that those of an earlier Inference of that name are never taken for
its own, and the Inference as their controller, so that they go with it.
"""

from collections.abc import Iterable

from kubedl.api.inference import GROUP, INFERENCES, NEXT, Inference
from kubedl.serving.template import Body
from kubedl.wire.codec import Opaque
from kubedl.wire.meta import Key, Object, ObjectMeta, Record, Resource

INFERENCE = f"{GROUP}/inference"  # labels
INFERENCE_UID = f"{GROUP}/inference-uid"
PREDICTOR = f"{GROUP}/predictor"
TRACK = f"{GROUP}/track"
STABLE, CANDIDATE = "stable", "candidate"
# The first KubeDL's, for people's selectors and dashboards.
FORMER_INFERENCE, FORMER_PREDICTOR = "kubedl.io/inference-name", "kubedl.io/predictor-name"

SERVICE_OF = "kubernetes.io/service-name"  # the label of EndpointSlices
HTTP, GRPC = 8080, 9000  # ports of every predictor's Service


class DeploymentSpec(Record, frozen=True):
    """What is asked of a Deployment."""

    replicas: int = 1
    template: Opaque | None = None  # of its pods, as the API server completed it


class DeploymentCondition(Record, frozen=True):
    """What is said of a Deployment."""

    type: str = ""
    status: str = ""
    reason: str = ""
    message: str = ""


class DeploymentStatus(Record, frozen=True):
    """How far it is."""

    observed_generation: int = 0
    replicas: int = 0
    updated_replicas: int = 0
    ready_replicas: int = 0
    available_replicas: int = 0
    conditions: tuple[DeploymentCondition, ...] = ()


class Deployment(Record, frozen=True):
    """The pods of a predictor."""

    metadata: ObjectMeta = ObjectMeta()
    spec: DeploymentSpec = DeploymentSpec()
    status: DeploymentStatus = DeploymentStatus()

    @property
    def is_observed(self) -> bool:
        """Whether what is said of it is said of its present template."""
        return self.status.observed_generation >= self.metadata.generation

    @property
    def is_settled(self) -> bool:
        """Whether every pod is of the present template, and ready."""
        said = self.status
        return (
            self.is_observed
            and said.updated_replicas == said.replicas == self.spec.replicas
            and said.available_replicas == self.spec.replicas
        )

    @property
    def is_stuck(self) -> bool:
        """Whether its pods have not been replaced for longer than its progressDeadlineSeconds."""
        reasons = (one.reason for one in self.status.conditions if one.type == "Progressing" and one.status == "False")
        return self.is_observed and "ProgressDeadlineExceeded" in reasons


class EndpointConditions(Record, frozen=True):
    """Whether an endpoint answers."""

    ready: bool | None = None


class TargetRef(Record, frozen=True):
    """Whose address it is."""

    name: str = ""


class Endpoint(Record, frozen=True):
    """One address behind a Service."""

    addresses: tuple[str, ...] = ()
    conditions: EndpointConditions = EndpointConditions()
    target_ref: TargetRef = TargetRef()


class EndpointSlice(Record, frozen=True):
    """Addresses behind a Service, as gateways see them."""

    metadata: ObjectMeta = ObjectMeta()
    endpoints: tuple[Endpoint, ...] | None = ()


class Scaler(Record, frozen=True):
    """Something that scales a Deployment."""

    metadata: ObjectMeta = ObjectMeta()


class PullSecret(Record, frozen=True):
    """A Secret by which a kubelet pulls images."""

    name: str = ""


class ServiceAccount(Record, frozen=True):
    """Whose pull secrets a pod has that names none."""

    metadata: ObjectMeta = ObjectMeta()
    image_pull_secrets: tuple[PullSecret, ...] | None = ()


SERVICE_ACCOUNTS = Resource(ServiceAccount, "ServiceAccount", "serviceaccounts")
DEPLOYMENTS = Resource(Deployment, "Deployment", "deployments", group="apps")
SLICES = Resource(EndpointSlice, "EndpointSlice", "endpointslices", group="discovery.k8s.io")
AUTOSCALERS = Resource(Scaler, "HorizontalPodAutoscaler", "horizontalpodautoscalers", "v2", "autoscaling")
SCALED_OBJECTS = Resource(Scaler, "ScaledObject", "scaledobjects", "v1alpha1", "keda.sh")


def name_of(inference: Inference, predictor: str, track: str = STABLE) -> str:
    """Of everything that is made for a predictor."""
    return f"{inference.metadata.name}-{predictor}{NEXT if track == CANDIDATE else ''}"


def labels_of(inference: Inference, predictor: str, track: str = STABLE) -> dict[str, str]:
    """By which they are found."""
    meta = inference.metadata
    return {
        INFERENCE: meta.name,
        INFERENCE_UID: meta.uid,
        PREDICTOR: predictor,
        TRACK: track,
        FORMER_INFERENCE: meta.name,
        FORMER_PREDICTOR: predictor,
    }


def owner_of(inference: Inference) -> Body:
    """As what belongs to an Inference has it."""
    return {
        "apiVersion": INFERENCES.api_version,
        "kind": INFERENCES.kind,
        "name": inference.metadata.name,
        "uid": inference.metadata.uid,
        "controller": True,
        "blockOwnerDeletion": True,
    }


def identity(namespace: str, uid: str) -> str:
    """By which what an Inference has is found: with the namespace, since a neighbour can write any uid into his own."""
    return f"{namespace}/{uid}"


def labelled(found: Object) -> str | None:
    """The index of what others make for it (pods, endpoints): the Inference by its label."""
    uid = found.metadata.labels.get(INFERENCE_UID)
    return identity(found.metadata.namespace, uid) if uid else None


def inference_of(found: Object) -> Iterable[Key]:
    """The Inference that an object was made for, by its label."""
    name = found.metadata.labels.get(INFERENCE)
    if name:
        yield Key(found.metadata.namespace, name)


def ready_endpoints(slices: Iterable[EndpointSlice]) -> dict[str, int]:
    """How many answer behind each Service; a pod with two addresses is one."""
    found: dict[str, set[str]] = {}
    for one in slices:
        ready = found.setdefault(one.metadata.labels.get(SERVICE_OF, ""), set())
        for endpoint in one.endpoints or ():
            if endpoint.conditions.ready is not False:  # not said is ready, by the API's word
                ready.add(endpoint.target_ref.name or ",".join(endpoint.addresses))
    return {service: len(names) for service, names in found.items()}
