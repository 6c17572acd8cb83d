"""Permissions that the operator needs for models, each with its reason.

The packer has none: its pods get no token of a ServiceAccount.
"""

from kubedl.api.model import GROUP
from kubedl.models.prepull_controller import GROUP as KRUISE
from kubedl.schema.grants import EFS, READ, Grant

GRANTS = (
    Grant(GROUP, ("modelversions",), (*READ, "create"), "Watch ModelVersions, and create those of jobs."),
    Grant(GROUP, ("modelversions/status",), ("patch",), "Write the status of ModelVersions."),
    Grant(
        GROUP,
        ("modelversions/finalizers",),
        ("update",),
        "Set owner references to ModelVersions with blockOwnerDeletion.",
    ),
    Grant("", ("pods",), (*READ, "create", "delete"), "Build model images."),
    Grant("", ("pods/log",), ("get",), "Read the progress of a build from its log."),
    Grant("", ("events",), ("list",), "Report why a build pod does not start."),
    Grant("", ("persistentvolumeclaims",), ("get", "create"), "Create volumes for models in AWS EFS.", feature=EFS),
    Grant(
        "",
        ("persistentvolumes",),
        ("create",),
        "Create volumes for models in AWS EFS.",
        cluster_scoped=True,
        feature=EFS,
    ),
    Grant(GROUP, ("models",), ("list", "watch", "create"), "Watch Models, and create those that only a version names."),
    Grant(GROUP, ("models/status",), ("patch",), "Write the versions of Models to their status."),
    Grant(KRUISE, ("imagepulljobs",), ("get", "create"), "Create OpenKruise ImagePullJobs for model images."),
    Grant(
        "",
        ("persistentvolumes",),
        ("list", "watch", "delete"),
        "Delete volumes of models whose claim is gone.",
        cluster_scoped=True,
        feature=EFS,
    ),
)
