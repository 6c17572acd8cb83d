"""What PodSecurity *restricted* asks of a container, for those that we add to pods.

Where the cluster assigns users (OpenShift), a pod that names one outside its namespace's range is refused: there the
user is left out.
"""

from typing import Any

NOBODY = 65532  # a user of no image
AS_NOBODY: dict[str, Any] = {"runAsUser": NOBODY, "runAsGroup": NOBODY}
RESTRICTED: dict[str, Any] = {
    "runAsNonRoot": True,
    "allowPrivilegeEscalation": False,
    "capabilities": {"drop": ["ALL"]},
    "seccompProfile": {"type": "RuntimeDefault"},
}
