"""What a pod requests, counted as the scheduler counts it. Pure."""

from collections.abc import Iterable, Mapping
from decimal import Decimal

Amounts = Mapping[str, Decimal]  # by resource
NOTHING: Amounts = {}


def total(
    containers: Iterable[Amounts], init_containers: Iterable[tuple[Amounts, bool]] = (), overhead: Amounts = NOTHING
) -> dict[str, Decimal]:
    """Return the requests of a pod by resource. An init container is given with whether it is a sidecar.

    Init containers run one after the other, before the containers and beside sidecars that were started earlier.
    """
    sidecars: dict[str, Decimal] = {}
    highest: dict[str, Decimal] = {}
    for own, is_sidecar in init_containers:
        beside = _sum((sidecars, own))
        highest = _highest(highest, beside)
        if is_sidecar:
            sidecars = beside
    return _sum((_highest(highest, _sum((sidecars, *containers))), overhead))


def _sum(parts: Iterable[Amounts]) -> dict[str, Decimal]:
    added: dict[str, Decimal] = {}
    for part in parts:
        for name, amount in part.items():
            added[name] = added.get(name, Decimal(0)) + amount
    return added


def _highest(one: Amounts, other: Amounts) -> dict[str, Decimal]:
    return {name: max(one.get(name, Decimal(0)), other.get(name, Decimal(0))) for name in {*one, *other}}
