"""Security context for Pod Security *restricted*, for containers that KubeDL adds to pods.

Where the cluster assigns users (OpenShift), a pod with a user outside the range of its namespace is rejected, so
runAsUser is left out.
"""

from typing import Any

NOBODY = 65532  # a user that no image uses
AS_NOBODY: dict[str, Any] = {"runAsUser": NOBODY, "runAsGroup": NOBODY}
RESTRICTED: dict[str, Any] = {
    "runAsNonRoot": True,
    "allowPrivilegeEscalation": False,
    "capabilities": {"drop": ["ALL"]},
    "seccompProfile": {"type": "RuntimeDefault"},
}
