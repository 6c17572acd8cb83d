"""cleanPodPolicy: which pods are deleted when the job has finished. Running pods hold resources; ended pods hold logs.

None keeps every pod of a succeeded job. Of a failed job it keeps ended pods only: the running ones are useless, and
would hold resources after a deadline.
"""

from kubedl.api.training import CleanPodPolicy
from kubedl.kube.types.core import Pod

ENDED = frozenset({"Succeeded", "Failed"})


def is_cleaned(pod: Pod, policy: CleanPodPolicy, *, failed: bool) -> bool:
    """Return whether this pod is deleted at the end of a job, failed or succeeded."""
    if policy == "None" and not failed:
        return False
    return policy == "All" or pod.status.phase not in ENDED
