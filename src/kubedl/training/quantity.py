"""Kubernetes quantities ("500m", "16Gi") as whole numbers, rounded up as Kubernetes does."""

import math
from decimal import Decimal

from kubedl.wire.pattern import Pattern

Quantity = int | float | str

# For a schema: what the API server takes for a quantity, with exponents that can be computed.
PATTERN = r"^\+?([0-9]{1,20}(\.[0-9]{0,20})?|\.[0-9]{1,20})([KMGTPE]i|[numkMGTPE]|[eE][+-]?[0-9]{1,2})?$"
_PARTS = Pattern(PATTERN, longest=64)
_DECIMAL = {suffix: Decimal(10) ** (3 * power) for power, suffix in enumerate("num kMGTPE", -3)}
_BINARY = {f"{suffix}i": Decimal(1024) ** power for power, suffix in enumerate("KMGTPE", 1)}
_SUFFIXES = {**_DECIMAL, **_BINARY}


def whole(quantity: Quantity) -> int:
    """The least whole number that is not below it. Raises ValueError if it is none, or negative."""
    parts = _PARTS.fullmatch(str(quantity))
    if parts is None:
        raise ValueError(f"{quantity!r} is no quantity such as 500m, 2 or 16Gi")
    number, suffix = parts[1], parts[3] or " "
    if suffix in _SUFFIXES:
        return math.ceil(Decimal(number) * _SUFFIXES[suffix])
    return math.ceil(Decimal(number + suffix))
