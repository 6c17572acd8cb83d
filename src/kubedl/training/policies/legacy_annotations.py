"""Annotations of KubeDL 0.5 that this version, or this kind of job, does not support: rejected, never ignored.

CEL rules reject unsupported fields. They cannot see annotations, and a manifest that was valid must remain applicable,
so these are checked here.
"""

from kubedl.api.training import TrainingJob
from kubedl.training.kind import Kind
from kubedl.training.policies import network_mode

NOT_YET = {  # annotation → the value that enables it, and its feature; KubeDL 0.5 ignored other values
    "kubedl.io/enable-elastic-training": ("true", "elastic training"),
}
HOW = "remove the annotation to run without it"


def unsupported(resource: TrainingJob, kind: Kind) -> str | None:
    """Return why a job with these annotations cannot run."""
    for name, (value, feature) in NOT_YET.items():
        if resource.metadata.annotations.get(name) == value:
            return f"annotation {name}: {feature} is not supported by this version; {HOW}"
    if network_mode.has_annotation(resource) and not kind.host_network:
        return f"annotation {network_mode.ANNOTATION}: {kind.kind} does not support the host network; {HOW}"
    if resource.spec.elastic is not None and network_mode.has_annotation(resource):
        return f"annotation {network_mode.ANNOTATION}: an elastic job cannot use the host network; {HOW}"
    return None
