"""spotReplicaSpec: the replicas with the highest indexes have a priority class and labels of their own."""

from typing import Any

from kubedl.training.job import JobRole


def apply(role: JobRole, index: int, template: dict[str, Any]) -> None:
    """Change the template of a spot replica; its metadata has labels already."""
    if role.spot is None or index < role.first_spot:
        return
    template["metadata"]["labels"] |= role.spot.labels
    if role.spot.priority_class_name:
        template["spec"]["priorityClassName"] = role.spot.priority_class_name
