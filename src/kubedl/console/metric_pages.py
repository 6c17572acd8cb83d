"""What the API answers about the requests of services: rate, failures, latency, and how a canary is judged."""

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta

from kubedl.api.inference import PredictorStatus
from kubedl.console.listing import Listing
from kubedl.console.measuring import Answer, Measured, Measuring, Question
from kubedl.console.object_kinds import INFERENCES, ShownInference
from kubedl.console.people import Caller
from kubedl.console.served import Run, runs
from kubedl.console.service_pages import ServicePages
from kubedl.console.wire_metrics import Figures, JudgedRow, MetricsList, MetricsRow, ServiceMetrics
from kubedl.kube.types.meta import ObjectKey
from kubedl.serving.naming import CANDIDATE, HTTP, STABLE, name_of
from kubedl.serving.predictor_plan import strategy_of
from kubedl.serving.rollout.analysis import WINDOW, AnalysisResult, Thresholds, evaluate
from kubedl.serving.rollout.promql import Target

MOST_SERVICES = 50  # of a list
NOTHING_COUNTED = "the gateway has counted no request of it"
NOT_ALONE = "the gateway has the same name for this Service and for another one"
Answers = Mapping[Question, Answer]


@dataclass(frozen=True)
class MetricPages:
    """Answers for one caller at a time."""

    listing: Listing
    measuring: Measuring

    async def services(self, caller: Caller, search: str) -> MetricsList:
        """Return the last minutes of the first services of a list."""
        listed = await self.listing.visible(caller, INFERENCES, self.listing.stores.inferences)
        found, more = listed.named(search)
        few = found[:MOST_SERVICES]
        return await self._answer(few, left_out=len(found) - len(few) + more, judging=False)

    async def service(self, caller: Caller, key: ObjectKey) -> MetricsList:
        """Return the last minutes of one service, and how its canaries are judged."""
        return await self._answer([await ServicePages(self.listing).visible(caller, key)], left_out=0, judging=True)

    async def _answer(self, services: Sequence[ShownInference], *, left_out: int, judging: bool) -> MetricsList:
        if self.measuring.source is None:
            return MetricsList(problem=self.measuring.problem, services=(), left_out=0)
        shared = _shared(self.listing.stores.inferences) if self.measuring.by_backend else frozenset()
        now = self.measuring.now()
        questions = [one for service in services for one in _questions(service, now, judging=judging)]
        answers: dict[Question, Answer] = dict.fromkeys(questions, NOT_ALONE)
        alone = [one for one in questions if one.target.backend not in shared]
        answers |= await self.measuring.about(alone)
        return MetricsList(
            problem="",
            services=[self._service(one, now, answers, judging=judging) for one in services],
            left_out=left_out,
        )

    def _service(self, service: ShownInference, now: datetime, answers: Answers, *, judging: bool) -> ServiceMetrics:
        rows = [_row(one.name, run, question, answers[question]) for one, run, question in _recent(service, now)]
        judged = [self._judged(service, one, answers) for one in _tried(service)] if judging else []
        namespace, name = service.metadata.key
        return ServiceMetrics(
            namespace=namespace, name=name, rows=rows, judged=[one for one in judged if one is not None]
        )

    def _judged(self, service: ShownInference, one: PredictorStatus, answers: Answers) -> JudgedRow | None:
        bounds, question = _bounds(service), _judging(service, one)
        if bounds is None or question is None or question.since is None:
            return None
        answer = answers[question]
        result = (
            AnalysisResult("Unknown", "NoMetrics", answer)
            if isinstance(answer, str)
            else evaluate(bounds, answer.metrics)
        )
        return JudgedRow(
            predictor=one.name,
            version=one.rollout.candidate if one.rollout is not None else "",
            figures=_figures(answer, question),
            outcome=result.outcome,
            reason=result.reason,
            message=result.message,
            most_error_rate=bounds.error_rate,
            most_p99_seconds=bounds.p99.total_seconds() if bounds.p99 is not None else None,
            least_requests=bounds.min_requests,
        )


def _row(predictor: str, run: Run, question: Question, answer: Answer) -> MetricsRow:
    figures = _figures(answer, question)
    why = answer if isinstance(answer, str) else "" if figures is not None else NOTHING_COUNTED
    return MetricsRow(predictor=predictor, version=run.version, canary=run.canary, figures=figures, reason=why)


def _figures(answer: Answer, question: Question) -> Figures | None:
    """Return what was counted, in the time that was asked about."""
    if not isinstance(answer, Measured) or not answer.metrics.counted:
        return None
    metrics, p99 = answer.metrics, answer.metrics.p99
    length = answer.until - question.since if question.since is not None else WINDOW
    return Figures(
        requests=metrics.requests,
        failures=metrics.failures,
        seconds=max(1, round(length.total_seconds())),
        p99_seconds=p99.total_seconds() if p99 is not None and p99 != timedelta.max else None,
    )


def _predictors(service: ShownInference) -> list[PredictorStatus]:
    """Return the statuses of predictors in the spec.

    Whoever may write the status may name any predictor there: only the names in the spec are checked by the API server,
    and only those are compared with the Services of other namespaces.
    """
    names = {one.name for one in service.spec.predictors}
    return [one for one in service.status.predictor_statuses if one.name in names]


def _questions(service: ShownInference, now: datetime, *, judging: bool) -> Iterator[Question]:
    yield from (question for _, _, question in _recent(service, now))
    for one in _tried(service) if judging else ():
        question = _judging(service, one)
        if question is not None:
            yield question


def _recent(service: ShownInference, now: datetime) -> Iterator[tuple[PredictorStatus, Run, Question]]:
    """Yield what is asked about each version that a predictor runs: its last minutes.

    Of a canary, since its step began if that is later: before, it had another share of the requests, or none.
    """
    for one in _predictors(service):
        began = _began(one)
        young = began is not None and now - began < WINDOW
        for run in runs(one, service.spec.rollout):
            target = _target(service, one.name, canary=run.canary)
            yield one, run, Question(target, began if run.canary and young else None)


def _tried(service: ShownInference) -> Iterable[PredictorStatus]:
    """Return the predictors whose canary is in a step."""
    return [one for one in _predictors(service) if one.rollout is not None and one.rollout.phase == "Stepping"]


def _judging(service: ShownInference, one: PredictorStatus) -> Question | None:
    """Return what the operator asks about a canary: since its step began."""
    since = _began(one)
    if since is None or _bounds(service) is None:
        return None
    return Question(_target(service, one.name, canary=True), since)


def _began(one: PredictorStatus) -> datetime | None:
    """Return since when the requests of a canary count for its step."""
    return (one.rollout.step_since or one.rollout.since) if one.rollout is not None else None


def _bounds(service: ShownInference) -> Thresholds | None:
    strategy = strategy_of(service.spec.rollout)
    return strategy.bounds if strategy is not None else None


def _target(service: ShownInference, predictor: str, *, canary: bool) -> Target:
    namespace, name = service.metadata.key
    return Target(namespace, name_of(name, predictor, CANDIDATE if canary else STABLE), HTTP)


def _shared(services: Iterable[ShownInference]) -> frozenset[str]:
    """Return Traefik's names that belong to more than one Service: their figures would be those of others too."""
    targets = {
        _target(service, one.name, canary=canary)
        for service in services
        for one in service.spec.predictors
        for canary in (False, True)
    }
    counted = Counter(target.backend for target in targets)
    return frozenset(name for name, count in counted.items() if count > 1)
