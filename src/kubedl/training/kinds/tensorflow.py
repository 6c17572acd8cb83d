"""TFJob: TensorFlow with parameter servers (PS, Chief or Master, Worker, Evaluator) or with workers only."""

from collections.abc import Mapping
from functools import lru_cache

import msgspec

from kubedl.api.replica_spec import Dependency, ReplicaSpecs
from kubedl.api.training import JobSpec, RestartScope, TrainingJob
from kubedl.api.validation.training import cluster_rule
from kubedl.kube import codec
from kubedl.training.job import Job, Replica, Role
from kubedl.training.kind import Done, Kind

_SERVERS_FIRST = (Dependency(upstream="PS", phase="Running"),)


class TFJobSpec(JobSpec, frozen=True, kw_only=True):
    """The spec of a TFJob."""

    replica_specs: ReplicaSpecs = msgspec.field(name="tfReplicaSpecs")


class TFJob(TrainingJob, frozen=True):
    """A distributed TensorFlow job."""

    spec: TFJobSpec


class TensorFlow(Kind):
    """TensorFlow reads the cluster from TF_CONFIG."""

    kind = "TFJob"
    plural = "tfjobs"
    short_names = ("tf",)
    type = TFJob
    replicas_field = "tfReplicaSpecs"
    roles = (
        Role("PS"),
        Role("Chief", after=_SERVERS_FIRST),
        Role("Master", after=_SERVERS_FIRST),
        Role("Worker", after=_SERVERS_FIRST),
        Role("Evaluator"),
    )
    container = "tensorflow"
    port_name = "tfjob-port"
    port = 2222
    host_network = True
    rules = (cluster_rule("tfReplicaSpecs", "TF_CONFIG", left_out="evaluator"),)

    def environment(self, job: Job, replica: Replica) -> Mapping[str, str]:
        """TF_CONFIG. An evaluator gets it but is not part of the cluster. A single replica needs no cluster."""
        if job.size == 1:
            return {}
        task = {"type": replica.role.lower(), "index": replica.index}
        config = {"cluster": _seen_by(replica, job), "task": task, "environment": "cloud"}
        return {"TF_CONFIG": codec.encode(config).decode()}

    def succeeded(self, job: Job, done: Done) -> bool:
        """The job succeeds when the chief does, or the first worker if there is no chief."""
        for chief in ("Chief", "Master"):
            if chief in job:
                return bool(done.get(chief))
        if "Worker" in job:
            return 0 in done.get("Worker", ())
        return all(len(done.get(role, ())) >= job.count(role) for role in job.roles)

    def restart_scope(self, job: Job) -> RestartScope:
        """With parameter servers a failed worker restarts alone; without, all replicas restart together."""
        return "Replica" if "PS" in job else "Job"


def _seen_by(replica: Replica, job: Job) -> dict[str, list[str]]:
    """The cluster with the address of this replica as itself knows it: the server listens at its port."""
    cluster, name, own = _cluster(job), replica.role.lower(), job.address(replica, replica)
    addresses = cluster.get(name)
    if addresses is None or addresses[replica.index] == own:
        return cluster
    return {**cluster, name: [*addresses[: replica.index], own, *addresses[replica.index + 1 :]]}


@lru_cache(maxsize=64)  # the same for every replica of a job, and long if there are thousands
def _cluster(job: Job) -> dict[str, list[str]]:
    cluster: dict[str, list[str]] = {}
    for replica in job.replicas():
        if replica.role != "Evaluator":
            cluster.setdefault(replica.role.lower(), []).append(job.address(replica))
    return cluster
