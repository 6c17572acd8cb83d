"""Wiring of the controller of ScaleIns and ScaleOuts."""

from collections.abc import Mapping

from kubedl.api.scaling import GROUP, SCALE_INS, SCALE_OUTS
from kubedl.api.training import GROUP as TRAINING
from kubedl.api.training import TrainingJob
from kubedl.kube.types.core import Pod
from kubedl.kube.types.meta import Resource
from kubedl.runtime.context import Context
from kubedl.runtime.reflector import Reflector
from kubedl.schema.grants import FOLLOW, Grant
from kubedl.training.kinds import all_kinds
from kubedl.training.scaling.controller import BY_JOB, ScalerController, job_key, job_keys

WORKERS = 4

_ELASTIC = tuple(kind for kind in all_kinds() if kind.elastic_role and kind.scale is not None)
GRANTS = (
    Grant(GROUP, ("scaleins", "scaleouts"), FOLLOW, "Watch ScaleIns and ScaleOuts."),
    Grant(GROUP, ("scaleins/status", "scaleouts/status"), ("patch",), "Write the status of ScaleIns and ScaleOuts."),
    Grant(
        TRAINING,
        tuple(kind.plural for kind in _ELASTIC),
        ("get",),
        "Look up the job of a ScaleIn or ScaleOut that is not in the cache.",
    ),
    Grant(
        TRAINING,
        tuple(f"{kind.plural}/scale" for kind in _ELASTIC),
        ("patch",),
        "Resize elastic jobs for ScaleIns and ScaleOuts.",
    ),
)


def setup(context: Context, jobs: Mapping[Resource[TrainingJob], Reflector[TrainingJob]], pods: Reflector[Pod]) -> None:
    """Run the controller. It waits for no kind of job that the cluster may not serve."""
    indexes = {BY_JOB: job_key}
    ins = context.manager.informer(SCALE_INS, context.scope(), indexes)
    outs = context.manager.informer(SCALE_OUTS, context.scope(), indexes)
    elastic = {kind: jobs[kind.resource] for kind in _ELASTIC}
    builder = context.controller("Scaler").for_(ins, job_keys).owns(outs, keys=job_keys)
    handler = ScalerController((ins, outs), elastic, pods, builder.writer, context.recorder, clock=context.clock)
    builder.owns(*elastic.values(), keys=handler.scaled_job, optional=True)
    builder.complete(handler.reconcile, workers=WORKERS)
