"""How long the pods of a role stay on a lost node: tolerationSeconds of node.kubernetes.io/unreachable.

It is read from the user's template: pods also have a default toleration of 300 seconds from the API server. A
toleration without a key is about scheduling, not about lost nodes.
"""

from datetime import timedelta
from functools import lru_cache

from kubedl.kube.codec import RawObject
from kubedl.training.template import Toleration, tolerations

UNREACHABLE = "node.kubernetes.io/unreachable"
FOR_EVER = timedelta.max
NOT_AT_ALL = timedelta()


@lru_cache(maxsize=256)  # the same for every replica of a role
def tolerance(template: RawObject) -> timedelta:
    """Return how long pods of this template stay on a lost node, beyond the administrator's grace period."""
    matching = [one.toleration_seconds for one in tolerations(template) if _is_of_lost_node(one)]
    if not matching:
        return NOT_AT_ALL
    bounded = [seconds for seconds in matching if seconds is not None]
    try:
        return timedelta(seconds=max(0, min(bounded))) if bounded else FOR_EVER
    except OverflowError:
        return FOR_EVER


def _is_of_lost_node(one: Toleration) -> bool:
    """Return whether it tolerates the taint of a lost node, which has no value."""
    is_of_pods_that_run = one.effect in (None, "", "NoExecute")
    return one.key == UNREACHABLE and is_of_pods_that_run and (one.operator == "Exists" or not one.value)
