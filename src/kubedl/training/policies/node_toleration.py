"""How long the pods of a role stay on a lost node: tolerationSeconds of node.kubernetes.io/unreachable.

It is read from the user's template: pods also have a default toleration of 300 seconds from the API server. A
toleration without a key is about scheduling, not about lost nodes.
"""

from datetime import timedelta
from functools import lru_cache

from kubedl.kube import codec
from kubedl.kube.codec import RawObject
from kubedl.kube.types.meta import Record

UNREACHABLE = "node.kubernetes.io/unreachable"
FOR_EVER = timedelta.max
NOT_AT_ALL = timedelta()


class _Toleration(Record, frozen=True):
    key: str | None = None
    operator: str | None = None
    value: str | None = None
    effect: str | None = None
    toleration_seconds: int | None = None

    def matches(self) -> bool:
        """Return whether it tolerates the taint of a lost node, which has no value."""
        return (
            self.key == UNREACHABLE
            and self.effect in (None, "", "NoExecute")
            and (self.operator == "Exists" or not self.value)
        )


class _Spec(Record, frozen=True):
    tolerations: tuple[_Toleration, ...] | None = None


class _Template(Record, frozen=True):
    spec: _Spec


@lru_cache(maxsize=256)  # the same for every replica of a role
def tolerance(template: RawObject) -> timedelta:
    """Return how long pods of this template stay on a lost node, beyond the administrator's grace period."""
    try:
        tolerations = codec.decode(template.json, _Template).spec.tolerations or ()
    except codec.UNREADABLE:
        return NOT_AT_ALL
    matching = [toleration.toleration_seconds for toleration in tolerations if toleration.matches()]
    if not matching:
        return NOT_AT_ALL
    bounded = [seconds for seconds in matching if seconds is not None]
    try:
        return timedelta(seconds=max(0, min(bounded))) if bounded else FOR_EVER
    except OverflowError:
        return FOR_EVER
