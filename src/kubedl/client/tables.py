"""Server-side Tables: the rows that `kubectl get` prints, without the objects behind them."""

from collections.abc import Mapping
from datetime import datetime
from typing import Any

import msgspec

from kubedl.client.job import QUEUE_LABEL, JobSummary
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
    labels: Mapping[str, str] = NOTHING


class _Object(Record, frozen=True):
    metadata: _Meta


class _Row(Record, frozen=True):
    cells: tuple[Any, ...]
    object: _Object


class _ListMeta(Record, frozen=True):
    next_page: str = msgspec.field(name="continue", default="")


class Table(Record, frozen=True):
    """One page of a list, as rows."""

    column_definitions: tuple[_Column, ...]
    rows: tuple[_Row, ...] | None = ()
    metadata: _ListMeta = _ListMeta()


def summaries(kind: JobKind, table: Table) -> list[JobSummary]:
    """Return the jobs on one page of a Table."""
    places = {column.name: place for place, column in enumerate(table.column_definitions)}
    return [_summary(kind, row, places) for row in table.rows or ()]


def _summary(kind: JobKind, row: _Row, places: dict[str, int]) -> JobSummary:
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
    )
