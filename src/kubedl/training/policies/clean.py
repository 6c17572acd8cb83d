"""cleanPodPolicy: which pods go when the job has ended. Running ones hold machines; ended ones hold logs.

None keeps every pod of a job that succeeded. Of one that failed it keeps those that have ended: nobody waits for what
the others still do, and a deadline that leaves machines taken is none.
"""

from kubedl.api.training import CleanPodPolicy
from kubedl.wire.core import Pod

ENDED = frozenset({"Succeeded", "Failed"})


def goes(pod: Pod, policy: CleanPodPolicy, *, failed: bool) -> bool:
    """Whether this pod is deleted at the end of a job, which failed or succeeded."""
    if policy == "None" and not failed:
        return False
    return policy == "All" or pod.status.phase not in ENDED
