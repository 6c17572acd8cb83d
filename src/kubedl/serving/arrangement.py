"""What each predictor is to run and which share it gets. Pure.

A predictor runs the version that serves and, while the next one is tried, that one beside it. A version that cannot be
had, or a shape that no cluster takes, changes nothing that serves; a trial of a version that the spec no longer names
ends. While a version is tried it never shrinks, and what serves is never smaller than it: each may have to take over
from the other at any moment.
"""

from dataclasses import dataclass, replace
from datetime import datetime, timedelta

import msgspec

from kubedl.api.inference import Predictor
from kubedl.api.inference_rollout import Rollout, RolloutStatus
from kubedl.serving import loading, rollout
from kubedl.serving.deployment import MODEL_VERSION, Servers
from kubedl.serving.objects import CANDIDATE, HTTP, STABLE, name_of
from kubedl.serving.rollout import Plan, Seen, State
from kubedl.serving.sight import Sight, Trouble, model_of
from kubedl.serving.traffic import WHOLE, Backend
from kubedl.serving.verdict import Bounds, Verdict
from kubedl.wire.core import Pod

LONG_AGO = timedelta(days=3650)


@dataclass(frozen=True)
class Arrangement:
    """One predictor."""

    predictor: Predictor
    state: State
    plan: Plan | None
    stable: Servers | None = None  # None: what runs, if anything does, is left as it is
    candidate: Servers | None = None
    trouble: Trouble | None = None

    @property
    def is_off(self) -> bool:
        """Whether it is to have no pods."""
        return _is_off(self.predictor)


def arrange(sight: Sight, predictor: Predictor) -> Arrangement:
    """Take up what the spec wants, as far as it can be had."""
    plan, state = plan_of(sight.inference.spec.rollout), state_of(sight, predictor)
    wanted, trouble = predictor.model_version, None
    found = model_of(sight, wanted) if wanted else None
    if isinstance(found, Trouble):
        trouble = found
    elif isinstance(sight.gateway, Trouble) and plan is not None and _is_tried(predictor, state):
        trouble = sight.gateway
    if trouble is None:
        state = rollout.aim(plan, state, wanted, sight.now, off=_is_off(predictor))
    else:
        state = rollout.without(state, wanted, trouble.message)
    return _staffed(sight, Arrangement(predictor, state, plan, trouble=trouble))


def advanced(sight: Sight, before: Arrangement, verdict: Verdict) -> Arrangement:
    """The next state of its rollout. A word is heard where nothing is rolled out too, and then it is gone."""
    word = rollout.addressed(rollout.said(sight.inference.metadata.annotations), before.predictor.name)
    state = before.state
    if isinstance(model_of(sight, state.stable), Trouble):
        state = rollout.without_way_back(state, word)
    state = rollout.advance(before.plan, state, verdict, sight.now, word, _seen(sight, before))
    return _staffed(sight, replace(before, state=state, stable=None, candidate=None))


def backends(sight: Sight, arrangement: Arrangement) -> list[Backend]:
    """As the gateway sees them. Shares are finer than percent where a predictor has two versions."""
    predictor, inference = arrangement.predictor, sight.inference
    weight = 0 if arrangement.is_off else predictor.weight
    names = {track: name_of(inference, predictor.name, track) for track in (STABLE, CANDIDATE)}
    pods = (sight.endpoints.get(name, 0) for name in names.values())
    part = rollout.share(arrangement.plan, arrangement.state, *pods)
    named = ((names[STABLE], weight * (WHOLE - part)), (names[CANDIDATE], weight * part))
    return [
        Backend(name, HTTP, share, ready=not arrangement.is_off and sight.endpoints.get(name, 0) > 0)
        for name, share in named
        if name in sight.services
    ]


def names_of(arrangement: Arrangement, sight: Sight) -> set[str]:
    """What must not be taken away."""
    names = {name_of(sight.inference, arrangement.predictor.name)}
    if arrangement.state.candidate:
        names.add(name_of(sight.inference, arrangement.predictor.name, CANDIDATE))
    return names


def replicas(sight: Sight, arrangement: Arrangement, track: str) -> int | None:
    """How many servers there are to be; None if that is not ours to say."""
    predictor = arrangement.predictor
    if track == CANDIDATE:
        return _candidates(sight, arrangement)
    if predictor.auto_scale is None:
        return predictor.replicas
    if arrangement.state.phase != "Promoting" or _is_large_enough(sight, arrangement):
        return None
    return _least(sight, arrangement)


def scaled(sight: Sight, arrangement: Arrangement) -> Predictor:
    """The predictor as its autoscaler is to see it: idle while another version is tried, it would be shrunk."""
    predictor, least = arrangement.predictor, _least(sight, arrangement)
    wish = predictor.auto_scale
    if wish is None or least <= wish.min_replicas:
        return predictor
    return msgspec.structs.replace(predictor, auto_scale=msgspec.structs.replace(wish, min_replicas=least))


def plan_of(wish: Rollout | None) -> Plan | None:
    """As the rollout takes it."""
    if wish is None:
        return None
    asked = wish.analysis
    start = timedelta(seconds=wish.start_seconds)
    if asked is None:
        return Plan(wish.steps, start=start)
    bounds = Bounds(
        error_rate=asked.error_rate / WHOLE if asked.error_rate is not None else None,
        p99=timedelta(milliseconds=asked.p99) if asked.p99 is not None else None,
        min_requests=asked.min_requests,
    )
    return Plan(wish.steps, bounds, start, timedelta(seconds=asked.deadline_seconds))


def state_of(sight: Sight, predictor: Predictor) -> State:
    """As it was written down. What was made before it could be is recognised by what it carries."""
    said = sight.before(predictor.name)
    if said is not None and said.rollout is not None:
        kept = said.rollout
        return State(
            phase=kept.phase,
            stable=kept.stable,
            candidate=kept.candidate,
            rejected=kept.rejected,
            step=max(0, kept.step),
            since=_plausible(kept.since, sight.now),
            step_since=_plausible(kept.step_since, sight.now),
            interruptions=max(0, kept.interruptions),
            reason=kept.reason,
            message=kept.message,
            handled=kept.handled,
            words=kept.words,
        )
    found = sight.deployments.get(name_of(sight.inference, predictor.name))
    return State(stable=found.metadata.annotations.get(MODEL_VERSION, "") if found is not None else "")


def written(state: State) -> RolloutStatus:
    """As it is written down."""
    return RolloutStatus(**{field: getattr(state, field) for field in state.__dataclass_fields__})


def _staffed(sight: Sight, arrangement: Arrangement) -> Arrangement:
    predictor, state = arrangement.predictor, arrangement.state
    stable = _servers(sight, arrangement, rollout.served(state), STABLE)
    candidate = _servers(sight, arrangement, state.candidate, CANDIDATE) if state.candidate else None
    nothing_yet = predictor.model_version and not state.stable
    return replace(
        arrangement,
        stable=None if nothing_yet or isinstance(stable, Trouble) else stable,
        candidate=None if isinstance(candidate, Trouble) else candidate,
        trouble=arrangement.trouble or next((one for one in (stable, candidate) if isinstance(one, Trouble)), None)
        if not nothing_yet
        else arrangement.trouble,
    )


def _is_off(predictor: Predictor) -> bool:
    return predictor.replicas == 0 and predictor.auto_scale is None


def _is_tried(predictor: Predictor, state: State) -> bool:
    """Whether what is wanted is another version than the one that serves, beside which it can be tried."""
    wanted = predictor.model_version
    return bool(wanted and state.stable) and wanted != state.stable and not _is_off(predictor)


def _plausible(moment: datetime | None, now: datetime) -> datetime | None:
    """A moment that can be reckoned with, whoever wrote it."""
    if moment is None or moment.tzinfo is None:
        return None if moment is None else now
    return min(max(moment, now - LONG_AGO), now)


def _servers(sight: Sight, arrangement: Arrangement, version: str, track: str) -> Servers | Trouble:
    model = model_of(sight, version) if version else None
    if isinstance(model, Trouble):
        return model
    plan = arrangement.plan
    return Servers(
        sight.inference,
        arrangement.predictor,
        model,
        track,
        carried=rollout.carried(plan),
        is_crowded=track == STABLE and plan is not None and _is_crowded(arrangement.state),
        start=plan.start if plan is not None else rollout.STARTING,
    )


def _is_crowded(state: State) -> bool:
    """Whether a promotion must do without a pod beyond those that there are."""
    return state.phase == "Promoting" and state.reason == rollout.NO_ROOM


def _seen(sight: Sight, arrangement: Arrangement) -> Seen:
    """What the pods of the track that is waited for are doing."""
    state, name = arrangement.state, name_of(sight.inference, arrangement.predictor.name)
    track = STABLE if state.phase == "Promoting" else CANDIDATE
    pods = sight.pods_of(arrangement.predictor.name, track)
    is_loading, loaded = loading.progress(pods)
    found = sight.deployments.get(name)
    stuck = found is not None and found.is_stuck and not isinstance(model_of(sight, state.stable), Trouble)
    return Seen(
        ready=_candidate_is_ready(sight, arrangement),
        replaced=_replaced(sight, arrangement),
        stuck=stuck,
        unschedulable=any(_is_unschedulable(pod) for pod in pods),
        loading=is_loading,
        loaded=loaded,
    )


def _is_unschedulable(pod: Pod) -> bool:
    said = pod.condition("PodScheduled")
    return said is not None and (said.status, said.reason) == ("False", "Unschedulable")


def _candidate_is_ready(sight: Sight, arrangement: Arrangement) -> bool:
    """Whether the version that is tried, and no other, answers: to begin with all its pods, later any."""
    name, state = name_of(sight.inference, arrangement.predictor.name, CANDIDATE), arrangement.state
    if state.phase == "Starting":
        return _runs(sight, name, state.candidate)
    return name in sight.deployments and sight.endpoints.get(name, 0) > 0


def _replaced(sight: Sight, arrangement: Arrangement) -> bool:
    """Whether the predictor itself can do without the candidate. Somebody else may keep it small, but not for ever."""
    state = arrangement.state
    start = arrangement.plan.start if arrangement.plan is not None else rollout.STARTING
    patient = state.since is None or sight.now - state.since < start
    if patient and not _is_large_enough(sight, arrangement):
        return False
    name = name_of(sight.inference, arrangement.predictor.name)
    found = sight.deployments.get(name)
    # One without pods has nothing to replace.
    return _runs(sight, name, state.candidate, least=min(1, found.spec.replicas if found is not None else 1))


def _candidates(sight: Sight, arrangement: Arrangement) -> int | None:
    if arrangement.plan is None:
        return None
    serving, tried = (
        sight.deployments.get(name_of(sight.inference, arrangement.predictor.name, track))
        for track in (STABLE, CANDIDATE)
    )
    wanted = rollout.candidate_replicas(arrangement.plan, serving.spec.replicas if serving is not None else 1)
    return max(wanted, tried.spec.replicas) if tried is not None else wanted


def _least(sight: Sight, arrangement: Arrangement) -> int:
    """How many pods an autoscaled predictor needs to take over what the candidate does."""
    wish = arrangement.predictor.auto_scale
    if wish is None or not arrangement.state.candidate:
        return 0
    return min(_candidates(sight, arrangement) or 0, wish.max_replicas)


def _is_large_enough(sight: Sight, arrangement: Arrangement) -> bool:
    found = sight.deployments.get(name_of(sight.inference, arrangement.predictor.name))
    return found is None or found.spec.replicas >= _least(sight, arrangement)


def _runs(sight: Sight, name: str, version: str, least: int = 1) -> bool:
    found = sight.deployments.get(name)
    if found is None or found.metadata.annotations.get(MODEL_VERSION, "") != version:
        return False
    return found.is_settled and sight.endpoints.get(name, 0) >= least
