"""Kubernetes quantities ("500m", "16Gi") as numbers; rounded up as Kubernetes does."""

import math
from decimal import Decimal

from kubedl.kube.bounded_regex import BoundedPattern

Quantity = int | float | str

# Schema pattern: quantities that the API server accepts, with exponents that can be computed.
PATTERN = r"^\+?([0-9]{1,20}(\.[0-9]{0,20})?|\.[0-9]{1,20})([KMGTPE]i|[numkMGTPE]|[eE][+-]?[0-9]{1,2})?$"
_PARTS = BoundedPattern(PATTERN, longest=64)
_DECIMAL = {suffix: Decimal(10) ** (3 * power) for power, suffix in enumerate("num kMGTPE", -3)}
_BINARY = {f"{suffix}i": Decimal(1024) ** power for power, suffix in enumerate("KMGTPE", 1)}
_SUFFIXES = {**_DECIMAL, **_BINARY}


def exact(quantity: Quantity) -> Decimal:
    """Return the quantity. Raises ValueError if it is invalid or negative."""
    parts = _PARTS.fullmatch(str(quantity))
    if parts is None:
        raise ValueError(f"{quantity!r} is not a quantity such as 500m, 2 or 16Gi")
    number, suffix = parts[1], parts[3] or " "
    return Decimal(number) * _SUFFIXES[suffix] if suffix in _SUFFIXES else Decimal(number + suffix)


def whole(quantity: Quantity) -> int:
    """Return the quantity, rounded up. Raises ValueError if it is invalid or negative."""
    return math.ceil(exact(quantity))


def written(number: Decimal) -> str:
    """Return a number as a quantity, rounded up to thousandths."""
    thousandths = math.ceil(number * 1000)
    return f"{thousandths}m" if thousandths % 1000 else str(thousandths // 1000)
