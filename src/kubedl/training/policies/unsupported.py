"""What users of the first KubeDL may ask for and this version cannot do: refused, never ignored.

What the API server can refuse, it does; here is what it lets through because it cannot see it, or because a manifest
that was good must not become one that cannot be applied.
"""

from collections.abc import Mapping

NOT_YET = {
    "kubedl.io/network-mode": "host network",
    "kubedl.io/enable-elastic-training": "elastic training",
}


def unsupported(annotations: Mapping[str, str]) -> str | None:
    """Why a job with these annotations cannot be run as asked."""
    for name, feature in NOT_YET.items():
        if name in annotations:
            return (
                f"annotation {name}: {feature} is not supported by this version; remove the annotation to run without"
            )
    return None
