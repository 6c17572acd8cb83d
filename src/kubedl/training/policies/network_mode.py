"""The network of a job's pods: that of pods, or that of their nodes.

It is chosen when the job starts and recorded in the status: pods of one job on different networks would not find each
other. A later edit counts when the job is suspended and resumed.
"""

from kubedl.api.training import HostNetworkMode, TrainingJob

ANNOTATION, HOST = "kubedl.io/network-mode", "host"  # of KubeDL 0.5, which ignored other values

Mode = HostNetworkMode | None  # None: the network of pods


def has_annotation(resource: TrainingJob) -> bool:
    """Return whether the annotation asks for the host network."""
    return resource.metadata.annotations.get(ANNOTATION) == HOST


def requested_mode(resource: TrainingJob) -> Mode:
    """Return what the job asks for: the field, else the annotation."""
    field = resource.spec.network_mode
    if field is None:
        return "Host" if has_annotation(resource) else None
    return None if field == "Pod" else field


def network_mode(resource: TrainingJob) -> Mode:
    """Return the mode in which the job was started; of one that has not been, what it asks for."""
    return requested_mode(resource) if resource.status.start_time is None else resource.status.network_mode
