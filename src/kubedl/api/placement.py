"""Where the pods of a job are placed: apart or close together, and on which nodes first."""

from collections.abc import Mapping
from typing import Annotated, ClassVar, Literal

from msgspec import Meta

from kubedl.kube.codec import RawObject
from kubedl.kube.types.meta import Record
from kubedl.schema.structural import Rule, list_map

HOSTNAME = "kubernetes.io/hostname"
MOST_POOLS = 4  # more would leave too small a difference between the scores of two pools
MOST_LABELS = 16
LONGEST_KEY = 63  # Kueue accepts no longer level of a topology
KEY = r"^([a-z0-9]([-a-z0-9.]*[a-z0-9])?/)?[A-Za-z0-9]([-A-Za-z0-9_.]*[A-Za-z0-9])?$"
NAME = r"^[a-z0-9]([-a-z0-9]*[a-z0-9])?$"

Strategy = Literal["Spread", "Pack"]
WhenUnsatisfiable = Literal["ScheduleAnyway", "DoNotSchedule"]


class NodePool(Record, frozen=True):
    """Nodes that the pods may use."""

    name: Annotated[str, Meta(min_length=1, max_length=63, description="The name of the pool, for messages.")]
    node_selector: Annotated[
        Mapping[str, Annotated[str, Meta(max_length=63)]],
        Meta(min_length=1, max_length=MOST_LABELS, description="The labels of the nodes of the pool."),
    ]
    tolerations: Annotated[
        tuple[RawObject, ...],
        Meta(
            max_length=MOST_LABELS,
            description="Tolerations (Toleration) of the taints of these nodes. Every pod of the job gets those of all "
            "pools.",
        ),
    ] = ()

    __rules__: ClassVar[tuple[Rule, ...]] = (
        Rule(f"self.name.matches(r'{NAME}')", "lower-case letters, digits and '-'", ".name"),
    )


class Placement(Record, frozen=True):
    """The nodes on which pods are placed. What no node can satisfy is reported, never ignored."""

    strategy: Annotated[
        Strategy | None,
        Meta(
            description="Spread distributes the pods evenly over the values of topologyKey. Pack places them on nodes "
            "with the same value."
        ),
    ] = None
    topology_key: Annotated[
        str,
        Meta(
            max_length=LONGEST_KEY,
            description="The node label whose values are the places to spread over or to share: hosts, racks, zones. "
            f"Defaults to {HOSTNAME}.",
        ),
    ] = ""
    when_unsatisfiable: Annotated[
        WhenUnsatisfiable | None,
        Meta(
            description="ScheduleAnyway, the default, places pods elsewhere if the strategy cannot be satisfied; "
            "DoNotSchedule lets them wait."
        ),
    ] = None
    node_pools: Annotated[
        tuple[NodePool, ...],
        Meta(
            max_length=MOST_POOLS,
            description="The pools of nodes that the pods may use, the preferred one first. Pods use no other nodes.",
            extra_json_schema=list_map("name"),
        ),
    ] = ()

    __rules__: ClassVar[tuple[Rule, ...]] = (
        Rule(
            "has(self.strategy) || has(self.nodePools) && size(self.nodePools) > 0",
            "set strategy, nodePools or both",
            reason="FieldValueRequired",
        ),
        Rule(
            "has(self.strategy) || !has(self.topologyKey) && !has(self.whenUnsatisfiable)",
            "topologyKey and whenUnsatisfiable need a strategy: Spread or Pack",
            ".strategy",
            reason="FieldValueRequired",
        ),
        Rule(
            f"!has(self.topologyKey) || self.topologyKey == '' || self.topologyKey.matches(r'{KEY}')",
            f"the key of a node label, for example {HOSTNAME} or topology.kubernetes.io/zone",
            ".topologyKey",
        ),
    )

    @property
    def key(self) -> str:
        """The node label of the strategy."""
        return self.topology_key or HOSTNAME

    @property
    def is_required(self) -> bool:
        """Whether pods wait rather than be placed against the strategy."""
        return self.when_unsatisfiable == "DoNotSchedule"
