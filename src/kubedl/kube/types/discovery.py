"""EndpointSlices (discovery.k8s.io/v1), reduced to the fields that controllers read."""

from collections.abc import Iterable

from kubedl.kube.types.meta import ObjectMeta, Record, Resource

SERVICE_OF = "kubernetes.io/service-name"  # label of EndpointSlices


class EndpointConditions(Record, frozen=True):
    """Conditions of an endpoint."""

    ready: bool | None = None


class TargetRef(Record, frozen=True):
    """The pod of an endpoint."""

    name: str = ""


class Endpoint(Record, frozen=True):
    """One endpoint of a Service."""

    addresses: tuple[str, ...] = ()
    conditions: EndpointConditions = EndpointConditions()
    target_ref: TargetRef = TargetRef()


class EndpointSlice(Record, frozen=True):
    """Endpoints of a Service, as gateways see them."""

    metadata: ObjectMeta = ObjectMeta()
    endpoints: tuple[Endpoint, ...] | None = ()


ENDPOINT_SLICES = Resource(EndpointSlice, "EndpointSlice", "endpointslices", group="discovery.k8s.io")


def ready_endpoints(slices: Iterable[EndpointSlice]) -> dict[str, int]:
    """Return the number of ready endpoints by Service; a pod with two addresses counts once."""
    found: dict[str, set[str]] = {}
    for endpoint_slice in slices:
        ready = found.setdefault(endpoint_slice.metadata.labels.get(SERVICE_OF, ""), set())
        for endpoint in endpoint_slice.endpoints or ():
            if endpoint.conditions.ready is not False:  # unset means ready, by the API's definition
                ready.add(endpoint.target_ref.name or ",".join(endpoint.addresses))
    return {service: len(names) for service, names in found.items()}
