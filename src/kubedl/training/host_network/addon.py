"""The add-on: pods on the network of their nodes, with ports and Services that follow them."""

from collections.abc import Sequence

from kubedl.api.training import TrainingJob
from kubedl.kube.types.core import SERVICES, Pod
from kubedl.podspec.template import TemplateError
from kubedl.runtime.concurrency import for_each
from kubedl.runtime.writer import Writer
from kubedl.training.addons.base import Addon, AddonError, Body, Reason
from kubedl.training.host_network import services
from kubedl.training.host_network.ports import HOST_PORT, JOB_PORTS, PortRange
from kubedl.training.job import HOST_IP, Job, Replica
from kubedl.training.observed import Observed, ObservedReplica, Settings
from kubedl.training.plan import Creation, PlanBuilder
from kubedl.training.policies.network_mode import ANNOTATION, has_annotation, requested_mode

OWN_PORT = "KUBEDL_HOST_PORT"  # variable in every container
CHANGED_LATE = "NetworkModeChangedLate"
CLUSTER_DNS = "ClusterFirstWithHostNet"


class HostNetwork(Addon):
    """Gives each pod a port of its node, and lets the replica's Service lead to it."""

    def is_requested(self, resource: TrainingJob) -> bool:
        """By spec.networkMode or the annotation of KubeDL 0.5; or the job runs so."""
        return (
            resource.spec.network_mode is not None
            or has_annotation(resource)
            or resource.status.network_mode is not None
        )

    def validate(self, resource: TrainingJob) -> None:
        """Field and annotation may not contradict each other; CEL rules do not see annotations."""
        if resource.spec.network_mode == "Pod" and has_annotation(resource):
            message = f"spec.networkMode is Pod, but annotation {ANNOTATION} asks for the host network; remove one"
            raise AddonError("NetworkModeInvalid", message)

    def late_edit(self, resource: TrainingJob, pods: Sequence[Pod]) -> Reason | None:
        """An edit counts when the job is resumed."""
        status = resource.status
        if status.start_time is None:
            return None
        if resource.spec.network_mode == "Pod" and has_annotation(resource):
            return CHANGED_LATE, f"annotation {ANNOTATION}"
        mode = requested_mode(resource)
        return (CHANGED_LATE, f"network mode {mode or 'Pod'}") if mode != status.network_mode else None

    def observe_status(self, builder: PlanBuilder, replicas: Sequence[ObservedReplica]) -> Reason | None:
        """Record the mode; and look at the Services, which must lead to where the pods listen."""
        observed = builder.observed
        mode = observed.job.network_mode
        builder.set(network_mode=mode)
        if mode == "Host" and services.outdated(observed, services.observed_ports(observed)):
            builder.prepare = True
        return None

    async def prepare(self, writer: Writer, observed: Observed, creations: Sequence[Creation]) -> None:
        """Choose the ports of the pods that are created, and let Services lead to all ports."""
        job = observed.job
        if job.network_mode is None:
            return
        if job.network_mode == "HostDirect":
            job.host_ports = _ports_of_all(observed)
            return
        for creation in creations:
            name = job.pod_name(creation.replica)
            port = observed.host_ports.take(f"{job.uid}/{name}", f"{job.uid}/{name}/{creation.attempt}")
            job.host_ports[name] = port
        await _lead(writer, observed, services.observed_ports(observed) | job.host_ports)

    def mutate_pod(self, pod: Body, job: Job, settings: Settings) -> None:
        """The host network, the cluster's DNS, and the port: as container port, as host port and as a variable."""
        if job.network_mode is None:
            return
        spec, port = pod["spec"], job.host_ports[pod["metadata"]["name"]]
        annotations = {**pod["metadata"]["annotations"], HOST_PORT: str(port)}
        if job.network_mode == "HostDirect":
            first = next(iter(job.host_ports.values()))
            annotations[JOB_PORTS] = str(PortRange(first, first + len(job.host_ports) - 1))
        pod["metadata"]["annotations"] = annotations
        spec["hostNetwork"] = True
        if spec.get("dnsPolicy") in (None, "", "ClusterFirst"):  # which on the host network means the node's resolver
            spec["dnsPolicy"] = CLUSTER_DNS
        variables = [
            {"name": HOST_IP, "valueFrom": {"fieldRef": {"fieldPath": "status.hostIP"}}},
            {"name": OWN_PORT, "value": str(port)},
        ]
        for container in spec["containers"]:
            container["env"] = [*variables, *(container.get("env") or ())]  # first: other variables refer to them
            if container["name"] == job.container:
                _listen(container, job, port)


def _listen(container: Body, job: Job, port: int) -> None:
    """Replace the port of the kind in the main container."""
    declared = {job.port(role) for role in job.roles}
    others = [
        entry
        for entry in container.get("ports") or ()
        if entry.get("name") != job.port_name and entry.get("containerPort") not in declared
    ]
    own = {"name": job.port_name, "containerPort": port, "hostPort": port, "protocol": "TCP"}
    container["ports"] = [*others, own]


def _ports_of_all(observed: Observed) -> dict[str, int]:
    """Return a port for each replica: consecutive ones, so that the port of one pod tells those of all.

    Peers know each other's ports from their start, so a pod that is replaced alone gets the port of its predecessor.
    """
    job, ports = observed.job, observed.host_ports
    names = [job.pod_name(replica) for replica in job.replicas()]
    living = services.observed_ports(observed)
    known = next(((rank, living[name]) for rank, name in enumerate(names) if name in living), None)
    if known is not None:
        rank, port = known
        first = port - rank
    elif len(names) > ports.range.size:
        raise TemplateError(
            f"networkMode HostDirect needs a port for each of the {len(names)} replicas, and the operator has "
            f"{ports.range.size} (--hostnetwork-port-range={ports.range})",
        )
    else:
        first = ports.take(job.uid, f"{job.uid}/{job.resource.status.attempt}", len(names))
    return {name: first + rank for rank, name in enumerate(names)}


async def _lead(writer: Writer, observed: Observed, wanted: dict[str, int]) -> None:
    """Create the Services that are missing, and change those that lead elsewhere."""
    kind, job = observed.kind, observed.job
    existing = {service.metadata.name: service for service in observed.services}
    replicas = {job.pod_name(replica): replica for replica in job.replicas()}

    async def write(name: str) -> None:
        replica: Replica = replicas[name]
        if name in existing:
            changes = {"spec": {"ports": services.ports(job, replica, wanted[name])}}
            await writer.patch(job.resource, SERVICES, existing[name], changes)
        else:
            await writer.create(job.resource, SERVICES, services.render(kind, job, replica, wanted[name]))

    await for_each(write, [name for name in services.outdated(observed, wanted) if name in replicas])
