"""Where versions of a model come from and who serves them, as a graph in four columns. Pure.

Every edge joins neighbouring columns: what a version is made from leads to its job, also if no job is stated. A version
whose parent is a version in the graph has an edge back, from that version to the job.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

from msgspec.structs import replace

from kubedl.console.object_kinds import ShownVersion
from kubedl.console.rows import build_state
from kubedl.console.wire_lineage import LineageEdge, LineageNode
from kubedl.console.wire_models import Serving

MADE_FROM, TRAINED_BY, VERSIONS, SERVED_BY = range(4)
MOST_MATERIALS, MOST_SERVICES = 8, 12  # of one version
NEWEST = 5  # versions that are shown though nobody serves them
NOTHING = LineageNode(
    id="",
    column=MADE_FROM,
    kind="",
    name="",
    revision="",
    state="",
    user="",
    gpus=0,
    started=None,
    finished=None,
    signed=False,
    model="",
    job_kind="",
    uid="",
    sight="",
    count=0,
)


@dataclass(frozen=True)
class Trainer:
    """The job that made a version, as far as the caller may see it."""

    sight: str  # there, recorded, gone, hidden, none
    kind: str = ""
    name: str = ""
    uid: str = ""
    state: str = ""
    user: str = ""
    gpus: int = 0
    started: datetime | None = None
    finished: datetime | None = None


@dataclass(frozen=True)
class Made:
    """A version, with what it was made from and who serves it. Texts have no credentials."""

    version: ShownVersion
    trainer: Trainer
    repository: str = ""
    revision: str = ""
    data: Sequence[str] = ()
    images: Sequence[str] = ()
    serving: Sequence[Serving] = ()


@dataclass(frozen=True)
class Graph:
    """Nodes and edges, and how many versions are not among them."""

    nodes: Sequence[LineageNode]
    edges: Sequence[LineageEdge]
    left_out: int


@dataclass
class _Draft:
    """A graph in the making: what several versions have in common is one node."""

    nodes: dict[str, LineageNode] = field(default_factory=dict)
    edges: dict[tuple[str, str], LineageEdge] = field(default_factory=dict)

    def add(self, one: LineageNode) -> str:
        self.nodes.setdefault(one.id, one)
        return one.id

    def join(self, source: str, target: str, *, percent: int | None = None, canary: bool = False) -> None:
        """Add an edge. A service that runs a version by several predictors gets their shares together."""
        before = self.edges.get((source, target))
        if before is not None:
            known = percent is not None and before.percent is not None
            percent = (percent or 0) + (before.percent or 0) if known else None
            canary = canary and before.canary
        parent = self.nodes[source].column == VERSIONS and self.nodes[target].column == TRAINED_BY
        self.edges[source, target] = LineageEdge(
            source=source, target=target, percent=percent, canary=canary, parent=parent
        )


def chosen(
    newest: Sequence[ShownVersion], serving: Iterable[str], wanted: str, most: int, *, whole: bool
) -> list[ShownVersion]:
    """Return which versions a graph is made of, the most important first: asked for, serving, newest."""
    serves = frozenset(serving)

    def rank(version: ShownVersion) -> int:
        name = version.metadata.name
        return 0 if name == wanted else 1 if name in serves else 2

    few = [one for index, one in enumerate(newest) if whole or index < NEWEST or rank(one) < 2]
    return sorted(few, key=rank)[:most]  # sorting keeps the order of equals


def graph(made: Sequence[Made], others: Iterable[ShownVersion], versions: int, most: int) -> Graph:
    """Return the graph of as many versions as there is room for, in their order of importance.

    `others` are all versions that the caller may list, of which one may be a parent; `versions` is how many the model
    has.
    """
    by_digest = _by_digest(others)
    shown: list[Made] = []
    taken: set[str] = set()
    for one in made:
        wider = taken | set(_drawn([one], by_digest).nodes)  # at worst: a parent may become a version of the graph
        if len(wider) <= most:
            shown, taken = [*shown, one], wider
    draft = _drawn(sorted(shown, key=_newest, reverse=True), by_digest)
    ordered = sorted(draft.nodes.values(), key=lambda node: node.column)
    return Graph(ordered, list(draft.edges.values()), versions - len(shown))


def _newest(one: Made) -> tuple[float, str]:
    created = one.version.metadata.creation_timestamp
    return created.timestamp() if created is not None else 0.0, one.version.metadata.name


def _drawn(made: Sequence[Made], by_digest: Mapping[str, Sequence[ShownVersion]]) -> _Draft:
    draft = _Draft()
    ids = {one.version.metadata.name: draft.add(_version_node(one)) for one in made}
    for one in made:
        version = ids[one.version.metadata.name]
        job = draft.add(_job_node(one))
        materials = [draft.add(node) for node in _few(_materials(one, by_digest, ids), MOST_MATERIALS, job)]
        for material in materials:
            draft.join(material, job)
        for parent in _parents(one, by_digest):
            if parent.metadata.name in ids:
                draft.join(ids[parent.metadata.name], job)
        draft.join(job, version)
        _serve(draft, version, one.serving)
    return draft


def _serve(draft: _Draft, version: str, serving: Sequence[Serving]) -> None:
    names = sorted({one.service for one in serving})
    nodes = [_node(f"service:{name}", SERVED_BY, "service", name) for name in names]
    kept = {node.id: draft.add(node) for node in _few(nodes, MOST_SERVICES, version)}
    for one in serving:
        if f"service:{one.service}" in kept:
            draft.join(version, f"service:{one.service}", percent=one.percent, canary=one.canary)
    for key in kept:
        if draft.nodes[key].kind == "more":
            draft.join(version, key)


def _few(nodes: Iterable[LineageNode], most: int, whose: str) -> Iterator[LineageNode]:
    """Yield the first nodes, and one that says how many more there are."""
    found = list(nodes)
    yield from found[:most]
    if len(found) > most:
        yield _node(f"more:{whose}", found[0].column, "more", "", count=len(found) - most)


def _materials(
    one: Made, by_digest: Mapping[str, Sequence[ShownVersion]], ids: Mapping[str, str]
) -> Iterator[LineageNode]:
    """Yield what a version is made from, but for a parent that is in the graph as a version."""
    if one.repository or one.revision:
        yield _node(f"code:{one.repository}@{one.revision}", MADE_FROM, "code", one.repository, revision=one.revision)
    parents = list(_parents(one, by_digest))
    if parents and parents[0].metadata.name not in ids:
        known = parents[0]
        name, image = known.metadata.name, known.status.image
        yield _node(f"parent:{name}", MADE_FROM, "parent", name, revision=image, model=known.spec.model_name)
    elif one.version.spec.parent and not parents:
        image = one.version.spec.parent
        yield _node(f"parent:{image}", MADE_FROM, "parent", image, revision=image)
    for place in one.data:
        yield _node(f"data:{place}", MADE_FROM, "data", place)
    for image in one.images:
        yield _node(f"image:{image}", MADE_FROM, "image", image)


def _parents(one: Made, by_digest: Mapping[str, Sequence[ShownVersion]]) -> Iterator[ShownVersion]:
    """Yield the version that a training started from, if it is known: the oldest with this image."""
    name, digest = one.version.metadata.name, _digest(one.version.spec.parent)
    found = [version for version in by_digest.get(digest, ()) if version.metadata.name != name] if digest else []
    yield from found[:1]


def _by_digest(versions: Iterable[ShownVersion]) -> dict[str, list[ShownVersion]]:
    found: dict[str, list[ShownVersion]] = {}
    ordered = sorted(versions, key=lambda one: (_newest(Made(one, Trainer("none"))), one.metadata.name))
    for version in ordered:
        for digest in {_digest(version.status.image), _digest(version.status.artifact)} - {""}:
            found.setdefault(digest, []).append(version)
    return found


def _digest(image: str) -> str:
    return image.partition("@")[2]


def _version_node(one: Made) -> LineageNode:
    meta, status = one.version.metadata, one.version.status
    return _node(
        f"version:{meta.name}",
        VERSIONS,
        "version",
        meta.name,
        revision=status.image,
        state=build_state(status),
        user=one.version.spec.created_by,
        finished=meta.creation_timestamp,
        signed=status.signed,
    )


def _job_node(one: Made) -> LineageNode:
    """Return the job; if it is hidden or not stated, one of its own for each version.

    A deleted job of which nothing is known has no uid here, since any user can write any uid into a version. What the
    version states tells it from a later job of its name all the same: nothing is looked up by it.
    """
    by, version = one.trainer, one.version.metadata.name
    stated = one.version.spec.origin
    known = by.uid or f"{by.kind}/{by.name}/{stated.job_uid if stated is not None else ''}"
    return _node(
        f"job:{known}" if by.name else f"job:{by.sight}/{version}",
        TRAINED_BY,
        "job",
        by.name,
        state=by.state,
        user=by.user,
        gpus=by.gpus,
        started=by.started,
        finished=by.finished,
        job_kind=by.kind,
        uid=by.uid,
        sight=by.sight,
    )


def _node(key: str, column: int, kind: str, name: str, **more: Any) -> LineageNode:  # noqa: ANN401 - its other fields
    return replace(NOTHING, id=key, column=column, kind=kind, name=name, **more)
