"""What a package imports that adds a framework or a gang scheduler.

It may rely on all of it; other modules change without notice.
"""

from kubedl.api.replica_spec import Dependency, ReplicaSpec, ReplicaSpecs
from kubedl.api.training import CleanPodPolicy, JobSpec, RestartScope, TrainingJob
from kubedl.kube.types.meta import Record, Resource
from kubedl.podspec.template import TemplateError
from kubedl.schema.crd import Rule, Scale
from kubedl.schema.grants import Grant
from kubedl.training.gang.pod_group import Members, PodGroup
from kubedl.training.gang.scheduler import GangScheduler
from kubedl.training.job import Job, Replica, Role
from kubedl.training.kind import AuxiliaryObject, Done, Kind

__all__ = [
    "AuxiliaryObject",
    "CleanPodPolicy",
    "Dependency",
    "Done",
    "GangScheduler",
    "Grant",
    "Job",
    "JobSpec",
    "Kind",
    "Members",
    "PodGroup",
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
