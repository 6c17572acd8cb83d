"""What PodSecurity *restricted* asks of a container, for those that we add to pods."""

from typing import Any

NOBODY = 65532  # a user of no image
RESTRICTED: dict[str, Any] = {
    "runAsNonRoot": True,
    "allowPrivilegeEscalation": False,
    "capabilities": {"drop": ["ALL"]},
    "seccompProfile": {"type": "RuntimeDefault"},
}
