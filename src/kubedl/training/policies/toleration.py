"""How long a role's pods are to stay on a lost node: tolerationSeconds of node.kubernetes.io/unreachable.

Read from the template, which is what the user wrote: every pod also has such a toleration of 300 seconds, which the API
server adds by default. A toleration without a key says where pods may be scheduled, and nothing about lost nodes.
"""

from datetime import timedelta
from functools import lru_cache

from kubedl.wire import codec
from kubedl.wire.codec import Opaque
from kubedl.wire.meta import Record

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
        """Whether it is about the taint that a lost node gets, which has no value."""
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
def tolerance(template: Opaque) -> timedelta:
    """How long pods of this template stay on a node that is lost, beyond what the administrator has set."""
    try:
        found = codec.decode(template.json, _Template).spec.tolerations or ()
    except codec.UNREADABLE:
        return NOT_AT_ALL
    matching = [one.toleration_seconds for one in found if one.matches()]
    if not matching:
        return NOT_AT_ALL
    bounded = [seconds for seconds in matching if seconds is not None]
    try:
        return timedelta(seconds=max(0, min(bounded))) if bounded else FOR_EVER
    except OverflowError:
        return FOR_EVER
