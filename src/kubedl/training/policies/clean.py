"""cleanPodPolicy: which pods go when the job has ended. Running ones hold machines; ended ones hold logs."""

from kubedl.api.training import CleanPodPolicy
from kubedl.wire.core import Pod

ENDED = frozenset({"Succeeded", "Failed"})


def goes(pod: Pod, policy: CleanPodPolicy) -> bool:
    """Whether this pod is deleted at the end."""
    if policy == "None":
        return False
    return policy == "All" or pod.status.phase not in ENDED
