"""What a package that adds a framework imports, and all that it may rely on: other modules change without notice."""

from kubedl.api.training import (
    CleanPodPolicy,
    Dependency,
    JobSpec,
    ReplicaSpec,
    ReplicaSpecs,
    RestartScope,
    TrainingJob,
)
from kubedl.kube.types.meta import Record, Resource
from kubedl.podspec.template import TemplateError
from kubedl.schema.crd import Rule, Scale
from kubedl.schema.grants import Grant
from kubedl.training.job import Job, Replica, Role
from kubedl.training.kind import AuxiliaryObject, Done, Kind

__all__ = [
    "AuxiliaryObject",
    "CleanPodPolicy",
    "Dependency",
    "Done",
    "Grant",
    "Job",
    "JobSpec",
    "Kind",
    "Record",
    "Replica",
    "ReplicaSpec",
    "ReplicaSpecs",
    "Resource",
    "RestartScope",
    "Role",
    "Rule",
    "Scale",
    "TemplateError",
    "TrainingJob",
]
