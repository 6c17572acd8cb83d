"""How often a property is tried: little in daily work, and as often as `PROPERTY_EXAMPLES` says in proofs."""

import os

from hypothesis import HealthCheck, settings

VARIABLE = "PROPERTY_EXAMPLES"


def tried(daily: int) -> settings:
    """Settings for a property that is tried `daily` times unless the environment says otherwise."""
    return settings(
        max_examples=int(os.environ.get(VARIABLE, daily)),
        suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large, HealthCheck.filter_too_much],
    )
