"""XGBoostJob: a Master, which runs the tracker and trains too, and Workers; together one collective."""

from collections.abc import Mapping
from typing import Annotated

import msgspec
from msgspec import Meta

from kubedl.api.training import MOST, Dependency, JobSpec, ReplicaSpecs, RestartScope, TrainingJob
from kubedl.training.job import Job, Replica, Role
from kubedl.training.kind import Done, Kind

_TTL = "The job itself is deleted that long after its end; 2147483647 keeps it."


class XGBoostJobSpec(JobSpec, frozen=True, kw_only=True):
    """What an XGBoostJob runs."""

    replica_specs: ReplicaSpecs = msgspec.field(name="xgbReplicaSpecs")
    ttl_seconds_after_finished: Annotated[int, Meta(ge=0, le=MOST, description=_TTL)] = 100


class XGBoostJob(TrainingJob, frozen=True):
    """An XGBoost job."""

    spec: XGBoostJobSpec


class XGBoost(Kind):
    """The first replica is rank 0 and where the tracker listens; a script hands DMLC_* on to the library."""

    kind = "XGBoostJob"
    plural = "xgboostjobs"
    short_names = ("xgb",)
    type = XGBoostJob
    replicas_field = "xgbReplicaSpecs"
    roles = (Role("Master", at_most=1), Role("Worker", after=(Dependency(upstream="Master", phase="Running"),)))
    container = "xgboostjob"
    port_name = "xgboostjob-port"
    port = 9999
    clean_pod_policy = "None"

    def environment(self, job: Job, replica: Replica) -> Mapping[str, str]:
        """What the first KubeDL told, and what trackers have always told their workers."""
        address, port, size = job.host(job.leader), str(job.port(job.leader.role)), str(job.size)
        rank = str(job.rank(replica))
        old = {"MASTER_ADDR": address, "MASTER_PORT": port, "RANK": rank, "WORLD_SIZE": size, "PYTHONUNBUFFERED": "1"}
        tracker = {"DMLC_TRACKER_URI": address, "DMLC_TRACKER_PORT": port, "DMLC_NUM_WORKER": size}
        return {**old, **tracker, "DMLC_TASK_ID": rank, "DMLC_ROLE": "worker"}

    def succeeded(self, job: Job, done: Done) -> bool:
        """The master decides; without one, everybody is needed."""
        deciding = "Master" if "Master" in job else "Worker"
        return len(done.get(deciding, ())) >= job.count(deciding)

    def restart_scope(self, job: Job) -> RestartScope:
        """A collective dies together."""
        return "Job"
