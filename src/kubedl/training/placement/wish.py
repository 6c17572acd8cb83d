"""Which placement the pods of a role ask for, and with which other pods they are counted. Pure."""

from dataclasses import dataclass
from typing import Any

from kubedl.api.placement import Placement
from kubedl.api.training import TrainingJob
from kubedl.training import labels

Body = dict[str, Any]


@dataclass(frozen=True)
class Wish:
    """A placement, and the roles whose pods it is for."""

    placement: Placement
    roles: tuple[str, ...]  # in lower case

    def selector(self, uid: str) -> Body:
        """The label selector of the pods of these roles, in any attempt."""
        roles = {"key": labels.REPLICA_TYPE, "operator": "In", "values": list(self.roles)}
        return {"matchLabels": {labels.JOB_UID: uid}, "matchExpressions": [roles]}


def is_requested(resource: TrainingJob) -> bool:
    """Whether any role of a job has a wish."""
    spec = resource.spec
    return spec.placement is not None or any(role.placement is not None for role in spec.replica_specs.values())


def wishes(resource: TrainingJob) -> dict[str, Wish]:
    """The wishes of a job by role, in lower case: the role's own, else that of the job for all other roles together."""
    own = {name.lower(): role.placement for name, role in resource.spec.replica_specs.items()}
    shared: Placement | None = resource.spec.placement
    others = tuple(sorted(role for role, given in own.items() if given is None))
    found = {role: Wish(given, (role,)) for role, given in own.items() if given is not None}
    return found if shared is None else found | dict.fromkeys(others, Wish(shared, others))
