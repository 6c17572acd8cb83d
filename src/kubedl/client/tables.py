"""Server-side Tables: the rows that `kubectl get` prints, without the objects behind them."""

from collections.abc import Mapping
from datetime import datetime
from typing import Any

import msgspec

from kubedl.client.job import QUEUE_LABEL, USER, JobSummary
from kubedl.client.kinds import JobKind
from kubedl.kube.types.meta import NOTHING, Record

ACCEPT = "application/json;as=Table;v=v1;g=meta.k8s.io,application/json"
PAGE = 500


class _Column(Record, frozen=True):
    name: str


class _Meta(Record, frozen=True):
    name: str
    creation_timestamp: datetime
    namespace: str = ""
    uid: str = ""
    labels: Mapping[str, str] = NOTHING
    annotations: Mapping[str, str] = NOTHING


class _Object(Record, frozen=True):
    metadata: _Meta


class Row(Record, frozen=True):
    """A row, with the metadata of its object."""

    cells: tuple[Any, ...]
    object: _Object


class _ListMeta(Record, frozen=True):
    next_page: str = msgspec.field(name="continue", default="")
    resource_version: str = ""


class Table(Record, frozen=True):
    """One page of a list, as rows."""

    column_definitions: tuple[_Column, ...] | None = ()  # a watch sends them once
    rows: tuple[Row, ...] | None = ()
    metadata: _ListMeta = _ListMeta()


def summaries(kind: JobKind, table: Table) -> list[JobSummary]:
    """Return the jobs on one page of a Table."""
    found = places(table)
    return [summary(kind, row, found) for row in table.rows or ()]


def places(table: Table) -> dict[str, int]:
    """Return where each column is in a row."""
    return {column.name: place for place, column in enumerate(table.column_definitions or ())}


def summary(kind: JobKind, row: Row, places: Mapping[str, int]) -> JobSummary:
    """Return the job of a row."""

    def cell(name: str) -> str:
        value = row.cells[places[name]] if name in places else None
        return "" if value is None else str(value)

    meta, gpus, restarts = row.object.metadata, cell("GPUs"), cell("Restarts")
    return JobSummary(
        name=meta.name,
        namespace=meta.namespace,
        kind=kind.kind,
        state=cell("State"),
        ready=cell("Ready"),
        gpus=int(gpus) if gpus.isdecimal() else None,
        queue=meta.labels.get(QUEUE_LABEL) or cell("Queue"),
        created=meta.creation_timestamp,
        message=cell("Reason"),
        restarts=int(restarts) if restarts.isdecimal() else 0,
        model_version=cell("Model-Version"),
        uid=meta.uid,
        user=meta.annotations.get(USER, ""),
    )
