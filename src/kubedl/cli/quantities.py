"""Amounts of resources as people read them: 42/48, 310/800, 1.9/4Ti."""

_UNITS = (("Ti", 2.0**40), ("Gi", 2.0**30), ("Mi", 2.0**20), ("Ki", 2.0**10))
BYTES = ("memory", "ephemeral-storage")


def amount(value: object) -> float:
    """Return a quantity of Kubernetes as a number; 0 if it is none."""
    from kubedl.kube.quantity import exact  # noqa: PLC0415 - help needs none

    try:
        return float(exact(str(value)))
    except ValueError:
        return 0.0


def shown(name: str, used: float, total: float | None = None) -> str:
    """Return an amount, or a part and the whole in the unit of the whole."""
    unit, size = _unit(total if total is not None else used) if name in BYTES else ("", 1.0)
    parts = [used] if total is None else [used, total]
    return "/".join(_number(part / size) for part in parts) + unit


def _unit(number: float) -> tuple[str, float]:
    for unit, size in _UNITS:
        if number >= size:
            return unit, size
    return "", 1.0


def _number(value: float) -> str:
    return f"{value:.0f}" if value >= 100 or value == int(value) else f"{value:.1f}"
