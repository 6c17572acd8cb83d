"""XDLJob: parameter servers, a scheduler, workers and an extended role, which find each other in ZooKeeper."""

from collections.abc import Mapping
from functools import lru_cache
from typing import Annotated, Any

import msgspec
from msgspec import Meta

from kubedl.api.replica_spec import MAX_REPLICAS, ReplicaSpecs
from kubedl.api.training import JobSpec, TrainingJob
from kubedl.api.validation.training import cluster_rule
from kubedl.kube import codec
from kubedl.schema.structural import MAX_INT32
from kubedl.training.job import Job, Replica, Role
from kubedl.training.kind import Done, Kind

DEFAULT_RATE = 90
_WORKING = ("Worker", "ExtendRole")  # roles that count for success
_ZOOKEEPER = "ZK_ADDR"


class XDLJobSpec(JobSpec, frozen=True, kw_only=True):
    """The spec of an XDLJob."""

    replica_specs: ReplicaSpecs = msgspec.field(name="xdlReplicaSpecs")
    backoff_limit: Annotated[
        int, Meta(ge=0, le=MAX_INT32, description="The number of retries of failed replicas before the job fails.")
    ] = 20
    min_finish_work_num: (
        Annotated[
            int,
            Meta(
                ge=1,
                le=2 * MAX_REPLICAS,
                description="The number of replicas of Worker and ExtendRole that must succeed; at most their total "
                "number.",
            ),
        ]
        | None
    ) = None
    min_finish_work_rate: (
        Annotated[
            int,
            Meta(
                ge=1,
                le=100,
                description="The percentage of replicas of Worker and ExtendRole that must succeed; has precedence "
                "over minFinishWorkNum. Defaults to 90 if neither is set.",
            ),
        ]
        | None
    ) = None


class XDLJob(TrainingJob, frozen=True):
    """An XDL job."""

    spec: XDLJobSpec


class XDL(Kind):
    """XDL reads the cluster from XDL_CONFIG, and its role and index from TASK_NAME and TASK_INDEX."""

    kind = "XDLJob"
    plural = "xdljobs"
    short_names = ("xdl",)
    type = XDLJob
    replicas_field = "xdlReplicaSpecs"
    roles = tuple(Role(name, restart_policy="Never") for name in ("PS", "Scheduler", *_WORKING))
    container = "xdl"
    port_name = "xdljob-port"
    port = 2222
    rules = (cluster_rule("xdlReplicaSpecs", "XDL_CONFIG"),)

    def environment(self, job: Job, replica: Replica) -> Mapping[str, str]:
        """The cluster is the same for all replicas; the user sets ZooKeeper's address, see `adapt`."""
        name, index = replica.role.lower(), replica.index
        config = {"cluster": _cluster(job), "task": {"type": name, "index": index}}
        return {"XDL_CONFIG": codec.encode(config).decode(), "TASK_NAME": name, "TASK_INDEX": str(index)}

    def adapt(self, job: Job, replica: Replica, template: dict[str, Any]) -> None:
        """Add a path per job to ZooKeeper's address: two jobs with the same address must not collide."""
        for container in template["spec"]["containers"]:
            for variable in container.get("env") or ():
                value = variable.get("value")
                if variable.get("name") == _ZOOKEEPER and isinstance(value, str):
                    variable["value"] = f"{value.removesuffix('/')}/{job.uid}"

    def succeeded(self, job: Job, done: Done) -> bool:
        """Enough workers decide, including the extended role; without workers, all replicas must succeed."""
        workers = sum(map(job.count, _WORKING))
        if workers == 0:
            return all(len(done.get(role, ())) >= job.count(role) for role in job.roles)
        return sum(len(done.get(role, ())) for role in _WORKING) >= _enough(job.spec, workers)


def _enough(spec: XDLJobSpec, workers: int) -> int:
    if spec.min_finish_work_rate is None and spec.min_finish_work_num is not None:
        return min(spec.min_finish_work_num, workers)
    rate = DEFAULT_RATE if spec.min_finish_work_rate is None else spec.min_finish_work_rate
    return -(-workers * rate // 100)  # rounded up


@lru_cache(maxsize=64)  # the same for every replica of a job, and long if there are thousands
def _cluster(job: Job) -> dict[str, list[str]]:
    cluster: dict[str, list[str]] = {}
    for replica in job.replicas():
        cluster.setdefault(replica.role.lower(), []).append(f"{job.host(replica)}:{job.port(replica.role)}")
    return cluster
