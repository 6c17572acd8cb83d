"""The pools of tests: two of spot nodes, one of on-demand nodes."""

from kubedl.training.spot.pools import parse_pools

POOLS = parse_pools(
    '[{"name": "spot", "spot": true, "nodeSelector": {"capacity": "spot"}, "tolerations": [{"key": "spot"}]},'
    ' {"name": "cheap", "spot": true, "nodeSelector": {"capacity": "cheap"}},'
    ' {"name": "on-demand", "nodeSelector": {"capacity": "on-demand"}}]'
)
