"""What the console sends about where a model comes from and who serves it."""

from collections.abc import Sequence
from datetime import datetime

from kubedl.console.wire_base import Missing, Wire


class LineageNode(Wire, frozen=True):
    """A part of the lineage of a model. What a kind of part does not have is empty."""

    id: str
    column: int  # 0: made from, 1: trained by, 2: versions, 3: served by
    kind: str  # code, data, image, parent, job, version, service, more
    name: str  # repository, place of data, image, or name of an object; empty: not stated, or hidden
    revision: str  # the commit of code; the image of a version, by digest
    state: str  # of a job or a version
    user: str  # of a job, as it stated them; the author of a version
    gpus: int  # of a job
    started: datetime | None
    finished: datetime | None  # of a job; when a version was created
    signed: bool
    model: str  # the Model of a parent that is a version which the caller may list
    job_kind: str
    uid: str  # of a job
    sight: str  # of a job: there, recorded (in the history alone), gone (known by name), hidden, none (not stated)
    count: int  # of those that are left out, for the kind `more`


class LineageEdge(Wire, frozen=True):
    """What came from what."""

    source: str
    target: str
    percent: (
        int | None
    )  # of the traffic of a service, as the step of a rollout divides it; null: not known, or no service
    canary: bool
    parent: bool  # a version from which a job started


class LineagePage(Wire, frozen=True):
    """Where the versions of a model come from, and who serves them."""

    nodes: Sequence[LineageNode]  # at most 60, or 300 if all are asked for; versions newest first
    edges: Sequence[LineageEdge]
    left_out: int  # versions that are not in it
    history: str  # read, absent, failed; empty: no job is gone
    missing: Sequence[Missing]
