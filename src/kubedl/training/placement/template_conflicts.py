"""What a role's own template says against its wish: then the job is refused, since one of both would be ignored. Pure.

The template may say more about its nodes, and place its pods relative to those of others. It may not place the pods of
the same job by the same node label a second time, nor exclude a pool altogether.
"""

from collections.abc import Iterator, Mapping, Sequence

from kubedl.api.placement import NodePool
from kubedl.kube import codec
from kubedl.kube.types.meta import NOTHING, Record
from kubedl.podspec.template import TemplateMetadata
from kubedl.training.kueue.workload import TOPOLOGY
from kubedl.training.placement.wish import Wish

MOST_TERMS = 64  # node selector terms of a pod: every one is checked for every node
KEEP_ONE = "keep one of the two"


class _Expression(Record, frozen=True):
    key: str = ""
    operator: str = ""
    values: tuple[str, ...] | None = None


class _Selector(Record, frozen=True):
    match_labels: Mapping[str, str] | None = None
    match_expressions: tuple[_Expression, ...] | None = None


class _Term(Record, frozen=True):
    topology_key: str = ""
    label_selector: _Selector | None = None


class _WeightedTerm(Record, frozen=True):
    pod_affinity_term: _Term = _Term()


class _PodAffinity(Record, frozen=True):
    required_during_scheduling_ignored_during_execution: tuple[_Term, ...] | None = None
    preferred_during_scheduling_ignored_during_execution: tuple[_WeightedTerm, ...] | None = None

    def terms(self) -> Iterator[_Term]:
        yield from self.required_during_scheduling_ignored_during_execution or ()
        for one in self.preferred_during_scheduling_ignored_during_execution or ():
            yield one.pod_affinity_term


class _NodeTerm(Record, frozen=True):
    match_expressions: tuple[_Expression, ...] | None = None
    match_fields: tuple[_Expression, ...] | None = None


class _NodeTerms(Record, frozen=True):
    node_selector_terms: tuple[_NodeTerm, ...] | None = None


class _NodeAffinity(Record, frozen=True):
    required_during_scheduling_ignored_during_execution: _NodeTerms | None = None


class _Affinity(Record, frozen=True):
    node_affinity: _NodeAffinity | None = None
    pod_affinity: _PodAffinity | None = None
    pod_anti_affinity: _PodAffinity | None = None


class _Constraint(Record, frozen=True):
    topology_key: str = ""


class _Spec(Record, frozen=True):
    node_name: str | None = None
    node_selector: Mapping[str, str] | None = None
    affinity: _Affinity | None = None
    topology_spread_constraints: tuple[_Constraint, ...] | None = None


class _Template(Record, frozen=True):
    spec: _Spec = _Spec()
    metadata: TemplateMetadata | None = None


def conflict(role: str, template: codec.RawObject, wish: Wish, own: Mapping[str, str]) -> str | None:
    """Why a template excludes a wish; None if both can be had. `own` are the labels that every pod of the role has.

    A template that cannot be read is refused when its pod is rendered or created.
    """
    try:
        given = codec.decode(template.json, _Template)
    except codec.UNREADABLE:
        return None
    meta = given.metadata or TemplateMetadata()
    found = _of_node(given.spec, wish)
    if found is None and wish.placement.strategy is not None:
        found = _of_strategy(given.spec, wish, {**(meta.labels or {}), **own}, meta.annotations or NOTHING)
    return None if found is None else f"the template of {role} {found}"


def _of_strategy(spec: _Spec, wish: Wish, labels: Mapping[str, str], annotations: Mapping[str, str]) -> str | None:
    key, affinity = wish.placement.key, spec.affinity or _Affinity()
    asked = f"the placement has strategy {wish.placement.strategy}"
    if any(one.topology_key == key for one in spec.topology_spread_constraints or ()):
        return f"has topologySpreadConstraints for {key}, and {asked}: {KEEP_ONE}"
    for name, part in (("podAffinity", affinity.pod_affinity), ("podAntiAffinity", affinity.pod_anti_affinity)):
        terms = part.terms() if part is not None else ()
        if any(one.topology_key == key and _selects(one.label_selector, labels) for one in terms):
            return f"has a {name} for {key} that selects pods of the job, and {asked}: {KEEP_ONE}"
    noted = next((name for name in TOPOLOGY if name in annotations), None)
    return f"has the annotation {noted}, and {asked}: {KEEP_ONE}" if noted is not None else None


def _of_node(spec: _Spec, wish: Wish) -> str | None:
    if spec.node_name:
        return "has a nodeName, by which pods pass the scheduler: remove it, or the placement"
    affinity = (spec.affinity or _Affinity()).node_affinity or _NodeAffinity()
    required = affinity.required_during_scheduling_ignored_during_execution
    given = (required.node_selector_terms if required is not None else None) or ()
    # An empty term holds nowhere.
    terms = [one for one in given if one.match_expressions or one.match_fields] if given else [_NodeTerm()]
    pools = wish.placement.node_pools
    if len(given or terms) * len(pools) > MOST_TERMS:
        return f"has too many nodeSelectorTerms for {len(pools)} node pools: at most {MOST_TERMS // len(pools)}"
    for pool in pools:
        if any(pool.node_selector.get(key, value) != value for key, value in (spec.node_selector or {}).items()):
            return f"has a nodeSelector that no node of the pool {pool.name} has: remove the pool"
        if not any(_may_be_in(pool, term.match_expressions or ()) for term in terms):
            return f"has a nodeAffinity that no node of the pool {pool.name} can satisfy: remove the pool"
    return None


def _may_be_in(pool: NodePool, expressions: Sequence[_Expression]) -> bool:
    """Whether a node of a pool can satisfy these, by what is known of its labels."""
    return all(_holds(one, pool.node_selector) for one in expressions if one.key in pool.node_selector)


def _selects(selector: _Selector | None, labels: Mapping[str, str]) -> bool:
    if selector is None:
        return False
    named = (selector.match_labels or {}).items()
    return all(labels.get(key) == value for key, value in named) and all(
        _holds(one, labels) for one in selector.match_expressions or ()
    )


def _holds(expression: _Expression, labels: Mapping[str, str]) -> bool:
    """Whether labels satisfy an expression; one of unknown meaning, such as Gt, is taken to be satisfied."""
    value, values = labels.get(expression.key), expression.values or ()
    answers = {
        "In": value is not None and value in values,
        "NotIn": value is None or value not in values,
        "Exists": value is not None,
        "DoesNotExist": value is None,
    }
    return answers.get(expression.operator, True)
