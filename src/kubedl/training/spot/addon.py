"""The add-on: pods that are made for a pool get its label, node selector and tolerations."""

from kubedl.api.spot import SpotStatus
from kubedl.api.training import TrainingJob
from kubedl.training import labels
from kubedl.training.addons.base import Addon, AddonError, Body
from kubedl.training.job import Job, Replica
from kubedl.training.observed import Settings
from kubedl.training.plan import Gate, PlanBuilder
from kubedl.training.spot import assignment
from kubedl.training.spot.pools import LABEL, Pool, PoolNotFoundError, pools_of
from kubedl.training.spot.refusal import EXCLUDED, excluded, refusal


class SpotPools(Addon):
    """Sends pods to the pools that are in the status."""

    def is_requested(self, resource: TrainingJob) -> bool:
        """By spec.spot."""
        return resource.spec.spot is not None

    def gate(self, builder: PlanBuilder) -> Gate | None:
        """Hold pods back while the operator does not know their pools, or before the pools are chosen."""
        observed = builder.observed
        found = refusal(observed.job, observed.settings)
        return Gate(*found) if found is not None else None

    def mutate_pod(self, pod: Body, job: Job, settings: Settings) -> None:
        """Add what sends the pod to the nodes of its pool. What the pool says of its nodes replaces nothing."""
        try:
            pools = pools_of(job.spec.spot, settings.pools)
        except PoolNotFoundError as error:
            raise AddonError("PoolNotFound", str(error)) from error
        role = next(name for name in job.roles if name.lower() == pod["metadata"]["labels"][labels.REPLICA_TYPE])
        for name, given in job.spec.replica_specs.items():
            if name.lower() == role.lower() and (message := excluded(role, given, (*pools.spot, *pools.on_demand))):
                raise AddonError(EXCLUDED, message)
        rank = job.rank(Replica(role, int(pod["metadata"]["labels"][labels.REPLICA_INDEX])))
        status = job.resource.status.spot or SpotStatus()
        name = assignment.read(status.pools, rank + 1)[rank]
        pool = next((one for one in (*pools.spot, *pools.on_demand) if one.name == name), None)
        if pool is None:
            raise AddonError("PoolNotFound", f"replica {rank} belongs to no pool yet")
        _send(pod, pool)


def _send(pod: Body, pool: Pool) -> None:
    spec = pod["spec"]
    pod["metadata"]["labels"] = {**pod["metadata"]["labels"], LABEL: pool.name}
    spec["nodeSelector"] = {**(spec.get("nodeSelector") or {}), **pool.node_selector}
    known = spec.get("tolerations") or []
    added = [one.unpack() for one in pool.tolerations]
    if added:
        spec["tolerations"] = [*known, *(one for one in added if one not in known)]
