"""A lower bound on cost for whoever knows the market's future: no policy can pay less.

The work constraint is moved into the objective with a price per second of progress (a Lagrangian); for each such price
the best use of every node is a shortest path over the market's spells, and the best price gives the bound. It pays cold
starts, no checkpoints and no changeovers, and may use any number of nodes.
"""

from collections.abc import Sequence

from harness.spot_replay.traces import Trace

Spell = tuple[int, bool]  # seconds, whether the node can be had
ROUNDS = 20
IDLE, SPOT, ON_DEMAND = 0, 1, 2
FORBIDDEN = (1e18, 0.0)

Path = tuple[float, float]  # cost, progress


def least_cost(trace: Trace, start: int, *, work: int, deadline: int, cold_start: int, price: float) -> float:
    """The bound, in node-seconds of on-demand; `price` is that of spot, on-demand costs 1."""
    nodes: dict[tuple[Spell, ...], int] = {}
    for node in range(1, trace.nodes + 1):
        spells = _spells(trace, start, deadline, node)
        nodes[spells] = nodes.get(spells, 0) + 1
    low, high = 0.0, 4.0
    best = 0.0
    for _ in range(ROUNDS):
        value = (low + high) / 2
        cost = progress = 0.0
        for spells, count in nodes.items():
            path = _cheapest(spells, value, price, cold_start)
            cost, progress = cost + count * path[0], progress + count * path[1]
        best = max(best, cost + value * (trace.nodes * work - progress))
        if progress < trace.nodes * work:
            low = value
        else:
            high = value
    return best


def _spells(trace: Trace, start: int, deadline: int, node: int) -> tuple[Spell, ...]:
    """When the n-th node can be had: while there are at least n."""
    spells: list[Spell] = []
    began, available = 0, None
    for at, capacity in trace.from_second(start):
        now = capacity >= node
        if available is None:
            available = now
        if now is not available or at >= deadline:
            spells.append((min(at, deadline) - began, available))
            began, available = at, now
        if at >= deadline:
            break
    return tuple(spells)


def _cheapest(spells: Sequence[Spell], value: float, price: float, cold: int) -> Path:
    """The path with the least cost minus the value of its progress."""
    states: list[Path] = [(0.0, 0.0), FORBIDDEN, FORBIDDEN]
    first = True
    for length, available in spells:
        idle, spot, on_demand = states
        trained = max(length - cold, 0)
        fresh = (length, trained) if first else (length + cold, length)  # an oracle starts nodes ahead of need
        begun = min(idle, spot, key=lambda path: path[0] - value * path[1])
        options = [_plus(begun, fresh), _plus(on_demand, (length, length))]
        used = FORBIDDEN
        if available:
            overlap = min(cold, length)
            ways = [
                _plus(begun, (price * length, trained)),
                _plus(on_demand, (price * length, trained)),
                _plus(on_demand, (price * length + overlap, length)),
            ]
            used = min(ways, key=lambda path: path[0] - value * path[1])
        states = [
            min(idle, spot, on_demand, key=lambda path: path[0] - value * path[1]),
            used,
            min(options, key=lambda path: path[0] - value * path[1]),
        ]
        first = False
    return min(states, key=lambda path: path[0] - value * path[1])


def _plus(path: Path, more: Path) -> Path:
    return path[0] + more[0], path[1] + more[1]
