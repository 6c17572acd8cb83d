"""Keeps new pods away from nodes that will be taken.

Clouds taint such nodes, but a template may tolerate every taint, and an annotation or a condition is none.
"""

from collections.abc import Iterable
from typing import Any

REQUIRED = "requiredDuringSchedulingIgnoredDuringExecution"


def avoid(pod: dict[str, Any], nodes: Iterable[str]) -> None:
    """Let no scheduler choose these nodes. A pod that names its node itself is its user's concern."""
    spec = pod["spec"]
    if spec.get("nodeName"):
        return
    # A field takes one value, and the fields of a term must all hold; of several terms one suffices. An empty term of a
    # template holds nowhere, so it stays empty.
    away = [{"key": "metadata.name", "operator": "NotIn", "values": [node]} for node in sorted(nodes)]
    affinity = dict(spec.get("affinity") or {})
    of_nodes = dict(affinity.get("nodeAffinity") or {})
    required = dict(of_nodes.get(REQUIRED) or {})
    terms = required.get("nodeSelectorTerms")
    required["nodeSelectorTerms"] = [
        {**term, "matchFields": [*(term.get("matchFields") or ()), *away]} if any(term.values()) else term
        for term in terms or ()
    ] or [{"matchFields": away}]
    spec["affinity"] = {**affinity, "nodeAffinity": {**of_nodes, REQUIRED: required}}
