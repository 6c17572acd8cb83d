"""Permissions that the operator needs to serve models, each with its reason."""

from kubedl.api.inference import GROUP
from kubedl.schema.grants import FOLLOW, READ, Grant
from kubedl.serving.routing import GROUP as GATEWAY_API

GRANTS = (
    Grant(GROUP, ("inferences",), FOLLOW, "Watch Inferences."),
    Grant(GROUP, ("inferences",), ("patch",), "Remove the annotation that promotes or aborts a rollout."),
    Grant(GROUP, ("inferences/status",), ("patch",), "Write the status of Inferences."),
    Grant(
        GROUP, ("inferences/finalizers",), ("update",), "Set owner references to Inferences with blockOwnerDeletion."
    ),
    Grant("apps", ("deployments",), (*READ, "create", "patch", "delete"), "Create the Deployments of predictors."),
    Grant("", ("services",), (*READ, "create", "patch", "delete"), "Create the Services of predictors."),
    Grant("", ("pods",), (*READ, "create"), "Report why a server is not ready; dry-run a pod with an image volume."),
    Grant("", ("serviceaccounts",), ("get",), "Read the pull secrets of a ServiceAccount, to add that of the model."),
    Grant("discovery.k8s.io", ("endpointslices",), FOLLOW, "Watch which predictors are ready."),
    Grant(
        "autoscaling",
        ("horizontalpodautoscalers",),
        (*READ, "create", "patch", "delete"),
        "Create HorizontalPodAutoscalers.",
    ),
    Grant("keda.sh", ("scaledobjects",), (*READ, "create", "patch", "delete"), "Create KEDA ScaledObjects."),
    Grant(GATEWAY_API, ("httproutes",), (*READ, "create", "patch", "delete"), "Create HTTPRoutes."),
)
