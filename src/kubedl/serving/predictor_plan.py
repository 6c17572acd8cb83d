"""Plans what each predictor runs, and its traffic weight. Pure.

A predictor runs its stable version and, during a rollout, a canary beside it. A version that is not available, or a
template that the cluster rejects, does not change what is served; a canary that the spec no longer names is removed.
During a rollout the canary never shrinks, and the stable version is never smaller than the canary: each may have to
take over from the other at any time.
"""

from dataclasses import dataclass, replace
from datetime import datetime, timedelta

import msgspec

from kubedl.api.inference import Predictor
from kubedl.api.inference_rollout import Rollout, RolloutStatus
from kubedl.kube.types.apps import Deployment
from kubedl.kube.types.core import Pod
from kubedl.serving.naming import CANDIDATE, HTTP, STABLE, predictor_name
from kubedl.serving.observed import Observed, Problem, model_of
from kubedl.serving.rollout import commands, state_machine
from kubedl.serving.rollout.analysis import PENDING, AnalysisResult, Thresholds
from kubedl.serving.rollout.state_machine import Observations, RolloutStrategy, State
from kubedl.serving.routing import WHOLE, Backend
from kubedl.serving.workload import model_init_container
from kubedl.serving.workload.deployment import MODEL_VERSION, PredictorWorkload

LONG_AGO = timedelta(days=3650)


@dataclass(frozen=True)
class PredictorPlan:
    """The plan of one predictor."""

    predictor: Predictor
    state: State
    plan: RolloutStrategy | None
    stable: PredictorWorkload | None = None  # None: the current workload, if any, is left as it is
    candidate: PredictorWorkload | None = None
    problem: Problem | None = None

    @property
    def is_off(self) -> bool:
        """Whether it has no replicas."""
        return _is_off(self.predictor)


def plan_predictor(observed: Observed, predictor: Predictor) -> PredictorPlan:
    """Plan what the predictor runs."""
    analysis = observed.analyses.get(predictor.name, PENDING)
    return with_rollout(observed, before_rollout(observed, predictor), analysis)


def before_rollout(observed: Observed, predictor: Predictor) -> PredictorPlan:
    """Plan what the predictor runs before its rollout advances."""
    return _with_workloads(observed, taken_up(observed, predictor))


def taken_up(observed: Observed, predictor: Predictor) -> PredictorPlan:
    """Start towards the spec, as far as its version is available; without workloads yet."""
    plan, state = strategy_of(observed.inference.spec.rollout), state_of(observed, predictor)
    wanted, problem = predictor.model_version, None
    found = model_of(observed, wanted) if wanted else None
    if isinstance(found, Problem):
        problem = found
    elif isinstance(observed.gateway, Problem) and plan is not None and _is_tried(predictor, state):
        problem = observed.gateway
    if problem is None:
        state = state_machine.set_target(plan, state, wanted, observed.now, off=_is_off(predictor))
    else:
        state = state_machine.without(state, wanted, problem.message)
    return PredictorPlan(predictor, state, plan, problem=problem)


def with_rollout(observed: Observed, before: PredictorPlan, analysis: AnalysisResult) -> PredictorPlan:
    """Return the next state of the rollout. Commands are acknowledged without a rollout, too."""
    command = commands.addressed(
        commands.pending_command(observed.inference.metadata.annotations), before.predictor.name
    )
    state = before.state
    if isinstance(model_of(observed, state.stable), Problem):
        state = state_machine.reject_abort(state, command)
    state = state_machine.advance(before.plan, state, analysis, observed.now, command, _seen(observed, before))
    return _with_workloads(observed, replace(before, state=state, stable=None, candidate=None))


def backends(observed: Observed, predictor_plan: PredictorPlan) -> list[Backend]:
    """Return the backends of the route. Weights are finer than percent if a predictor has two versions."""
    predictor, inference = predictor_plan.predictor, observed.inference
    weight = 0 if predictor_plan.is_off else predictor.weight
    names = {track: predictor_name(inference, predictor.name, track) for track in (STABLE, CANDIDATE)}
    pods = (observed.endpoints.get(name, 0) for name in names.values())
    part = state_machine.share(predictor_plan.plan, predictor_plan.state, *pods)
    named = ((names[STABLE], weight * (WHOLE - part)), (names[CANDIDATE], weight * part))
    return [
        Backend(name, HTTP, share, ready=not predictor_plan.is_off and observed.endpoints.get(name, 0) > 0)
        for name, share in named
        if name in observed.services
    ]


def names_of(predictor_plan: PredictorPlan, observed: Observed) -> set[str]:
    """Return the names of objects that must not be deleted."""
    names = {predictor_name(observed.inference, predictor_plan.predictor.name)}
    if predictor_plan.state.candidate:
        names.add(predictor_name(observed.inference, predictor_plan.predictor.name, CANDIDATE))
    return names


def replicas(observed: Observed, predictor_plan: PredictorPlan, track: str) -> int | None:
    """Return the number of replicas; None if an autoscaler decides."""
    predictor = predictor_plan.predictor
    if track == CANDIDATE:
        return _candidates(observed, predictor_plan)
    if predictor.auto_scale is None:
        return predictor.replicas
    if predictor_plan.state.phase != "Promoting" or _is_large_enough(observed, predictor_plan):
        return None
    return _least(observed, predictor_plan)


def scaled(observed: Observed, predictor_plan: PredictorPlan) -> Predictor:
    """Return the predictor for its autoscaler, which must not scale down the version without traffic."""
    predictor, least = predictor_plan.predictor, _least(observed, predictor_plan)
    autoscale = predictor.auto_scale
    if autoscale is None or least <= autoscale.min_replicas:
        return predictor
    return msgspec.structs.replace(predictor, auto_scale=msgspec.structs.replace(autoscale, min_replicas=least))


def strategy_of(rollout: Rollout | None) -> RolloutStrategy | None:
    """Return the strategy of the rollout."""
    if rollout is None:
        return None
    asked = rollout.analysis
    start = timedelta(seconds=rollout.start_seconds)
    if asked is None:
        return RolloutStrategy(rollout.steps, start=start)
    bounds = Thresholds(
        error_rate=asked.error_rate / WHOLE if asked.error_rate is not None else None,
        p99=timedelta(milliseconds=asked.p99) if asked.p99 is not None else None,
        min_requests=asked.min_requests,
    )
    return RolloutStrategy(rollout.steps, bounds, start, timedelta(seconds=asked.deadline_seconds))


def state_of(observed: Observed, predictor: Predictor) -> State:
    """Return the rollout state from the status. Without one, it is recovered from the existing workload."""
    status = observed.before(predictor.name)
    if status is not None and status.rollout is not None:
        kept = status.rollout
        return State(
            phase=kept.phase,
            stable=kept.stable,
            candidate=kept.candidate,
            rejected=kept.rejected,
            step=max(0, kept.step),
            since=_plausible(kept.since, observed.now),
            step_since=_plausible(kept.step_since, observed.now),
            interruptions=max(0, kept.interruptions),
            reason=kept.reason,
            message=kept.message,
            last_command=kept.last_command,
            last_command_number=kept.last_command_number,
        )
    deployment = observed.deployments.get(predictor_name(observed.inference, predictor.name))
    return State(stable=_version(deployment) if deployment is not None else "")


def written(state: State) -> RolloutStatus:
    """Return the rollout state for the status."""
    return RolloutStatus(**{field: getattr(state, field) for field in state.__dataclass_fields__})


def _with_workloads(observed: Observed, predictor_plan: PredictorPlan) -> PredictorPlan:
    predictor, state = predictor_plan.predictor, predictor_plan.state
    stable = _servers(observed, predictor_plan, state_machine.served(state), STABLE)
    candidate = _servers(observed, predictor_plan, state.candidate, CANDIDATE) if state.candidate else None
    nothing_yet = predictor.model_version and not state.stable
    return replace(
        predictor_plan,
        stable=None if nothing_yet or isinstance(stable, Problem) else stable,
        candidate=None if isinstance(candidate, Problem) else candidate,
        problem=predictor_plan.problem or next((one for one in (stable, candidate) if isinstance(one, Problem)), None)
        if not nothing_yet
        else predictor_plan.problem,
    )


def _is_off(predictor: Predictor) -> bool:
    return predictor.replicas == 0 and predictor.auto_scale is None


def _is_tried(predictor: Predictor, state: State) -> bool:
    """Return whether the desired version differs from the stable one and can run beside it."""
    wanted = predictor.model_version
    return bool(wanted and state.stable) and wanted != state.stable and not _is_off(predictor)


def _plausible(moment: datetime | None, now: datetime) -> datetime | None:
    """Return a timestamp with a time zone, whatever the status has."""
    if moment is None or moment.tzinfo is None:
        return None if moment is None else now
    return min(max(moment, now - LONG_AGO), now)


def _servers(
    observed: Observed, predictor_plan: PredictorPlan, version: str, track: str
) -> PredictorWorkload | Problem:
    model = model_of(observed, version) if version else None
    if isinstance(model, Problem):
        return model
    plan = predictor_plan.plan
    return PredictorWorkload(
        observed.inference,
        predictor_plan.predictor,
        model,
        track,
        carried=state_machine.carried(plan),
        is_crowded=track == STABLE and plan is not None and _is_crowded(predictor_plan.state),
        start=plan.start if plan is not None else state_machine.STARTING,
    )


def _is_crowded(state: State) -> bool:
    """Return whether a promotion must not create additional pods."""
    return state.phase == "Promoting" and state.reason == state_machine.NO_ROOM


def _seen(observed: Observed, predictor_plan: PredictorPlan) -> Observations:
    """Return the state of the pods that the rollout waits for."""
    state, name = predictor_plan.state, predictor_name(observed.inference, predictor_plan.predictor.name)
    track = STABLE if state.phase == "Promoting" else CANDIDATE
    pods = observed.pods_of(predictor_plan.predictor.name, track)
    is_loading, loaded = model_init_container.progress(pods)
    deployment = observed.deployments.get(name)
    # A Deployment that the cluster refuses to change, for example by a quota, makes no progress either.
    is_stuck = deployment is not None and (deployment.is_stuck or _version(deployment) != state.candidate)
    return Observations(
        ready=_candidate_is_ready(observed, predictor_plan),
        replaced=_replaced(observed, predictor_plan),
        stuck=is_stuck and not isinstance(model_of(observed, state.stable), Problem),
        unschedulable=any(_is_unschedulable(pod) for pod in pods),
        loading=is_loading,
        loaded=loaded,
    )


def _is_unschedulable(pod: Pod) -> bool:
    condition = pod.condition("PodScheduled")
    return condition is not None and (condition.status, condition.reason) == ("False", "Unschedulable")


def _candidate_is_ready(observed: Observed, predictor_plan: PredictorPlan) -> bool:
    """Return whether the canary, and no other version, is ready: at first all its pods, later any."""
    name, state = predictor_name(observed.inference, predictor_plan.predictor.name, CANDIDATE), predictor_plan.state
    if state.phase == "Starting":
        return _runs(observed, name, state.candidate)
    return name in observed.deployments and observed.endpoints.get(name, 0) > 0


def _replaced(observed: Observed, predictor_plan: PredictorPlan) -> bool:
    """Return whether the predictor is ready without the canary. An autoscaler may keep it small, but not forever."""
    state = predictor_plan.state
    start = predictor_plan.plan.start if predictor_plan.plan is not None else state_machine.STARTING
    patient = state.since is None or observed.now - state.since < start
    if patient and not _is_large_enough(observed, predictor_plan):
        return False
    name = predictor_name(observed.inference, predictor_plan.predictor.name)
    deployment = observed.deployments.get(name)
    # One without pods has nothing to replace.
    return _runs(
        observed, name, state.candidate, least=min(1, deployment.spec.replicas if deployment is not None else 1)
    )


def _candidates(observed: Observed, predictor_plan: PredictorPlan) -> int | None:
    if predictor_plan.plan is None:
        return None
    serving, tried = (
        observed.deployments.get(predictor_name(observed.inference, predictor_plan.predictor.name, track))
        for track in (STABLE, CANDIDATE)
    )
    wanted = state_machine.candidate_replicas(predictor_plan.plan, serving.spec.replicas if serving is not None else 1)
    return max(wanted, tried.spec.replicas) if tried is not None else wanted


def _least(observed: Observed, predictor_plan: PredictorPlan) -> int:
    """Return how many pods an autoscaled predictor needs to take over from the canary."""
    autoscale = predictor_plan.predictor.auto_scale
    if autoscale is None or not predictor_plan.state.candidate:
        return 0
    return min(_candidates(observed, predictor_plan) or 0, autoscale.max_replicas)


def _is_large_enough(observed: Observed, predictor_plan: PredictorPlan) -> bool:
    deployment = observed.deployments.get(predictor_name(observed.inference, predictor_plan.predictor.name))
    return deployment is None or deployment.spec.replicas >= _least(observed, predictor_plan)


def _version(deployment: Deployment) -> str:
    return deployment.metadata.annotations.get(MODEL_VERSION, "")


def _runs(observed: Observed, name: str, version: str, least: int = 1) -> bool:
    deployment = observed.deployments.get(name)
    if deployment is None or _version(deployment) != version:
        return False
    return deployment.is_settled and observed.endpoints.get(name, 0) >= least
