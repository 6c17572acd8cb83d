"""Annotations of KubeDL 0.5 that this version does not support: rejected, never ignored.

CEL rules reject unsupported fields. They cannot see annotations, and a manifest that was valid must remain applicable,
so these are checked here.
"""

from collections.abc import Mapping

NOT_YET = {  # annotation → the value that enables it, and its feature; KubeDL 0.5 ignored other values
    "kubedl.io/network-mode": ("host", "host network"),
    "kubedl.io/enable-elastic-training": ("true", "elastic training"),
}


def unsupported(annotations: Mapping[str, str]) -> str | None:
    """Return why a job with these annotations cannot run."""
    for name, (value, feature) in NOT_YET.items():
        if annotations.get(name) == value:
            return (
                f"annotation {name}: {feature} is not supported by this version; remove the annotation to run "
                "without it"
            )
    return None
