"""Kubeflow's `elasticPolicy`: what it means for the engine, which reads `elastic`, and for torchrun."""

from collections.abc import Mapping

import msgspec

from kubedl.api.elastic_policy import ElasticPolicy, bounds
from kubedl.api.training import TrainingJob

NONE = ElasticPolicy()
# How often torchrun starts its processes again by itself. It does so whenever a member leaves; more than a few times a
# program that always fails should end its pod, so that the failure counts.
RESTARTS_BY_TORCHRUN = 100
# Seconds: a rendezvous waits so long for the smallest size, and then for more members.
RENDEZVOUS = {"join_timeout": "3600", "last_call_timeout": "5"}
# Agents that have a node wait for the first replica, which keeps the store, as long as it may take to get one.
WITHOUT_LEADER = {"read_timeout": "3600"}


def understood(resource: TrainingJob, role: str) -> TrainingJob:
    """Return the job with the policy in the fields that the engine reads."""
    spec = resource.spec
    policy: ElasticPolicy | None = spec.elastic_policy
    if policy is None:
        return resource
    workers = next((one.replicas for name, one in spec.replica_specs.items() if name.lower() == role.lower()), 1)
    processes = policy.n_proc_per_node or spec.nproc_per_node
    spec = msgspec.structs.replace(spec, elastic=bounds(policy, workers), nproc_per_node=processes)
    return msgspec.structs.replace(resource, spec=spec)


def rendezvous(resource: TrainingJob, host: str, port: int, *, is_host: bool) -> Mapping[str, str]:
    """Return what torchrun is told about the rendezvous; the replica at `host` keeps it.

    Without an id of the user's, each attempt of the job has a rendezvous of its own.
    """
    policy: ElasticPolicy = resource.spec.elastic_policy or NONE
    timeouts = RENDEZVOUS if resource.spec.spot is None else {**RENDEZVOUS, **WITHOUT_LEADER}
    settings = {"is_host": str(int(is_host)), **timeouts, **{one.key: one.value for one in policy.rdzv_conf}}
    restarts = RESTARTS_BY_TORCHRUN if policy.max_restarts is None else policy.max_restarts
    return {
        "PET_RDZV_BACKEND": "c10d",
        "PET_RDZV_ENDPOINT": f"{host}:{policy.rdzv_port or port}",
        "PET_RDZV_ID": policy.rdzv_id or f"{resource.metadata.uid[:8]}-{resource.status.attempt}",
        "PET_RDZV_CONF": ",".join(f"{key}={value}" for key, value in settings.items()),
        "PET_MAX_RESTARTS": str(restarts),
        # Else processes would share the store of the rendezvous, with keys of earlier rounds.
        "TORCH_DISABLE_SHARE_RDZV_TCP_STORE": "1",
        **({"PET_STANDALONE": "1"} if policy.standalone else {}),
    }
