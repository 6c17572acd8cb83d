"""Permissions that the operator needs for dataset caches, each with its reason."""

from kubedl.api.cachebackend import GROUP
from kubedl.datasets import fluid_objects
from kubedl.schema.grants import FOLLOW, READ, Grant

GRANTS = (
    Grant(
        GROUP,
        ("cachebackends",),
        (*FOLLOW, "create", "delete"),
        "Watch CacheBackends, create those of jobs, delete idle ones.",
    ),
    Grant(GROUP, ("cachebackends/status",), ("patch",), "Write the status of CacheBackends."),
    Grant(
        GROUP,
        ("cachebackends/finalizers",),
        ("update",),
        "Set owner references to CacheBackends with blockOwnerDeletion.",
    ),
    Grant(
        fluid_objects.GROUP,
        tuple(resource.plural for resource in (fluid_objects.DATASETS, *fluid_objects.RUNTIMES)),
        (*READ, "create"),
        "Create Fluid's Datasets and runtimes.",
    ),
    Grant("", ("persistentvolumeclaims",), FOLLOW, "Check whether the PersistentVolumeClaim of a cache exists."),
)
