"""Which kinds are recorded, as data: a kind is a resource, a table and the function that makes its rows."""

from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime
from functools import partial
from typing import Any

from kubedl.api.cron import CRONS
from kubedl.api.inference import INFERENCES
from kubedl.api.model import MODEL_VERSIONS
from kubedl.api.training import GROUP
from kubedl.history import rows
from kubedl.history.observation import Observation
from kubedl.history.observed import resource_of_jobs, resource_of_objects
from kubedl.history.observed_pods import EVENTS, NODES, PODS
from kubedl.kube.types.meta import Resource
from kubedl.schema.grants import FOLLOW, Grant

JOB_NAME = f"{GROUP}/job-name"  # the label that all pods of jobs have


@dataclass(frozen=True)
class RecordedKind:
    """A kind that is recorded."""

    resource: Resource[Any]
    table: str
    row: Callable[..., Observation]  # from an object, `deleted` and `now`
    labels: str = ""  # only objects with this label

    @property
    def kind_column(self) -> str:
        """The kind in the column `kind` of its table; empty if the table has one kind only."""
        return self.resource.kind if self.table in ("jobs", "objects") else ""


def job_kind(resource: Resource[Any], replicas_field: str) -> RecordedKind:
    """Return a kind of training jobs."""
    return RecordedKind(resource_of_jobs(resource, replicas_field), "jobs", partial(rows.job_row, resource.kind))


def object_kind(resource: Resource[Any]) -> RecordedKind:
    """Return any other kind."""
    return RecordedKind(resource_of_objects(resource), "objects", partial(rows.object_row, resource.kind))


def _event_row(event: Any, *, deleted: bool, now: datetime) -> Observation:  # noqa: ANN401 - Events expire
    return rows.event_row(event, now=now)


POD_KIND = RecordedKind(PODS, "pods", rows.pod_row, labels=JOB_NAME)
EVENT_KIND = RecordedKind(EVENTS, "events", _event_row)
NODE_KIND = RecordedKind(NODES, "nodes", rows.node_row)
OBJECT_KINDS = (object_kind(MODEL_VERSIONS), object_kind(INFERENCES), object_kind(CRONS))


def grants(kinds: tuple[RecordedKind, ...]) -> tuple[Grant, ...]:
    """Return the permissions to watch these kinds. The recorder writes nothing but its Lease."""
    return tuple(
        Grant(
            kind.resource.group,
            (kind.resource.plural,),
            FOLLOW,
            "Record the history.",
            cluster_scoped=not kind.resource.namespaced,
        )
        for kind in kinds
    )
