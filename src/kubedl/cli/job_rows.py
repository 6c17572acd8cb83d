"""Jobs as rows of a table. Pure."""

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import TYPE_CHECKING

from kubedl.cli.durations import age
from kubedl.cli.table import Column

if TYPE_CHECKING:
    from kubedl.client import JobSummary

UNSEEN = "no operator has seen the job yet"
GONE = "gone"  # instead of how many are ready
MOST_NODES = 3
Nodes = Mapping[str, Sequence[str]]  # by the uid of a job
NOWHERE: Nodes = {}


def columns(*, namespaces: bool, wide: bool, watched: bool = False) -> list[Column]:
    """Return the columns; rows that come by and by have a time instead of an age."""
    found = [
        Column("NAME", paint=lambda terminal, text: terminal.paint(text, "bold")),
        Column("KIND"),
        Column("STATE", paint=lambda terminal, text: terminal.state(text)),
        Column("READY"),
        Column("GPUS", right=True, rank=2),
        Column("QUEUE", rank=3),
    ]
    if not watched:
        found.append(Column("AGE", right=True, paint=lambda terminal, text: terminal.paint(text, "dim")))
    if wide:
        nodes = [] if watched else [Column("NODES", rank=7)]  # they are of pods, which are not watched
        found += [Column("USER", rank=5), *nodes, Column("RESTARTS", right=True, rank=4)]
        found.append(Column("MODEL-VERSION", rank=6))
    found.append(Column("WHAT"))
    if namespaces:
        found.insert(0, Column("NAMESPACE"))
    if watched:
        found.insert(0, Column("TIME", paint=lambda terminal, text: terminal.paint(text, "dim")))
    return found


def row(
    job: "JobSummary", now: datetime, *, namespaces: bool, wide: bool, nodes: Nodes = NOWHERE, watched: bool = False
) -> list[str]:
    """Return the cells of a job."""
    where = [] if watched else [_nodes(nodes.get(job.uid, ()))]
    more = [job.user or "-", *where, str(job.restarts), job.model_version or "-"]
    return [
        *([f"{now.astimezone():%H:%M:%S}"] if watched else []),
        *([job.namespace] if namespaces else []),
        job.name,
        job.word,
        job.state or "-",
        GONE if job.gone else job.ready or "-",
        str(job.gpus) if job.gpus else "-",
        job.queue,
        *([] if watched else [age((now - job.created).total_seconds())]),
        *(more if wide else []),
        job.message if job.state else UNSEEN,
    ]


def _nodes(names: Sequence[str]) -> str:
    more = len(names) - MOST_NODES
    return ",".join(names[:MOST_NODES]) + (f"+{more}" if more > 0 else "") or "-"
