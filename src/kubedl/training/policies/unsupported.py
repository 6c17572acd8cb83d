"""What users of the first KubeDL may ask for and this version cannot do: refused, never ignored.

What the API server can refuse, it does; here is what it lets through because it cannot see it, or because a manifest
that was good must not become one that cannot be applied.
"""

from collections.abc import Mapping

NOT_YET = {  # annotation → the value that asks for it, and what it asks for; the first KubeDL ignored other values
    "kubedl.io/network-mode": ("host", "host network"),
    "kubedl.io/enable-elastic-training": ("true", "elastic training"),
}


def unsupported(annotations: Mapping[str, str]) -> str | None:
    """Why a job with these annotations cannot be run as asked."""
    for name, (value, feature) in NOT_YET.items():
        if annotations.get(name) == value:
            return (
                f"annotation {name}: {feature} is not supported by this version; remove the annotation to run without"
            )
    return None
