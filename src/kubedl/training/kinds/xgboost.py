"""XGBoostJob: a Master, which runs the tracker and also trains, and Workers; together one collective."""

from collections.abc import Mapping
from typing import Annotated

import msgspec

from kubedl.api.replica_spec import Dependency, ReplicaSpecs
from kubedl.api.training import JobSpec, RestartScope, TrainingJob
from kubedl.schema.structural import MAX_INT32
from kubedl.training.job import Job, Replica, Role
from kubedl.training.kind import Done, Kind

_TTL = "Seconds after which a finished job is deleted; 2147483647 keeps it."


class XGBoostJobSpec(JobSpec, frozen=True, kw_only=True):
    """The spec of an XGBoostJob."""

    replica_specs: ReplicaSpecs = msgspec.field(name="xgbReplicaSpecs")
    ttl_seconds_after_finished: Annotated[int, msgspec.Meta(ge=0, le=MAX_INT32, description=_TTL)] = 100


class XGBoostJob(TrainingJob, frozen=True):
    """A distributed XGBoost job."""

    spec: XGBoostJobSpec


class XGBoost(Kind):
    """The first replica has rank 0 and runs the tracker; the script passes DMLC_* to the library."""

    kind = "XGBoostJob"
    plural = "xgboostjobs"
    short_names = ("xgb",)
    type = XGBoostJob
    replicas_field = "xgbReplicaSpecs"
    roles = (Role("Master", at_most=1), Role("Worker", after=(Dependency(upstream="Master", phase="Running"),)))
    container = "xgboostjob"
    port_name = "xgboostjob-port"
    port = 9999
    host_network = True
    clean_pod_policy = "None"

    def environment(self, job: Job, replica: Replica) -> Mapping[str, str]:
        """The variables of KubeDL 0.5, and those that trackers traditionally set."""
        address, number = job.endpoint(job.leader, replica)
        port, size, rank = str(number), str(job.size), str(job.rank(replica))
        old = {"MASTER_ADDR": address, "MASTER_PORT": port, "RANK": rank, "WORLD_SIZE": size, "PYTHONUNBUFFERED": "1"}
        tracker = {"DMLC_TRACKER_URI": address, "DMLC_TRACKER_PORT": port, "DMLC_NUM_WORKER": size}
        return {**old, **tracker, "DMLC_TASK_ID": rank, "DMLC_ROLE": "worker"}

    def succeeded(self, job: Job, done: Done) -> bool:
        """The job succeeds when the master does; without a master, when all replicas have."""
        deciding = "Master" if "Master" in job else "Worker"
        return len(done.get(deciding, ())) >= job.count(deciding)

    def restart_scope(self, job: Job) -> RestartScope:
        """All replicas restart together, as one collective."""
        return "Job"
