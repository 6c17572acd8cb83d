"""The kinds that the recorder follows, and the permissions that follow from them. Needs no database library."""

from kubedl.history.kinds import EVENT_KIND, NODE_KIND, OBJECT_KINDS, POD_KIND, RecordedKind, grants, job_kind
from kubedl.schema.grants import LOGS, Grant
from kubedl.training.kinds import all_kinds

LEASE = "kubedl-recorder"


def recorded_kinds(*, nodes: bool = True) -> tuple[RecordedKind, ...]:
    """Return all recorded kinds; nodes are cluster-scoped, so a recorder with Roles only cannot have them."""
    jobs = tuple(job_kind(kind.resource, kind.replicas_field) for kind in all_kinds())
    return (*jobs, *OBJECT_KINDS, POD_KIND, EVENT_KIND, *((NODE_KIND,) if nodes else ()))


GRANTS = (
    *grants(recorded_kinds()),
    Grant("", ("pods/log",), ("get",), "Archive the logs of ended containers.", feature=LOGS),
    Grant("coordination.k8s.io", ("leases",), ("create",), "Leader election.", own_namespace=True),
    Grant("coordination.k8s.io", ("leases",), ("get", "patch"), "Leader election.", names=(LEASE,), own_namespace=True),
)
