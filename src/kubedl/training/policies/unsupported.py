"""What users of the first KubeDL may ask for by annotation and this version cannot do: refused, never ignored."""

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
