"""Applies the plan of an Inference, in its order. A predictor that is rejected does not affect the others."""

from typing import Any

from kubedl.api.inference import Inference
from kubedl.kube.errors import ApiError, NotFoundError
from kubedl.kube.types.autoscaling import SCALED_OBJECTS
from kubedl.podspec.template import TemplateError
from kubedl.runtime.server_side_apply import Applier
from kubedl.runtime.writer import Writer
from kubedl.serving import routing
from kubedl.serving.apply_result import ENTRANCE, KEDA_MISSING, ROUTE, ApplyResult
from kubedl.serving.observed import Problem
from kubedl.serving.plan import Apply, Plan, PredictorWrites, Scale


class Applicator:
    """Applies the objects of Inferences, and deletes unused ones."""

    def __init__(self, writer: Writer, applier: Applier) -> None:
        self._writer = writer
        self._applier = applier

    async def apply(self, inference: Inference, decided: Plan) -> ApplyResult:
        """Write everything; rejections are in the result."""
        result = ApplyResult(shares=dict(decided.shares))
        for writes in decided.writes:
            try:
                await self._make(inference, writes)
            except TemplateError as error:
                result.problems[writes.predictor] = Problem("TemplateInvalid", str(error))
            except ApiError as error:
                result.refused(writes.predictor, error)
        for shared, write in ((ROUTE, self._route), (ENTRANCE, self._enter)):
            try:
                await write(inference, decided, result)
            except ApiError as error:
                result.refused(shared, error)
        await self._delete(inference, decided, result)
        for writes in decided.writes:
            try:
                await self._size(inference, writes)
            except NotFoundError:
                missing = f"the cluster does not serve {SCALED_OBJECTS.name}; install KEDA"
                result.problems.setdefault(writes.predictor, Problem(KEDA_MISSING, missing))
            except ApiError as error:
                result.refused(writes.predictor, error)
        return result

    async def _make(self, inference: Inference, writes: PredictorWrites) -> None:
        for step in writes.objects:
            made = await self._apply(inference, step)
            if made is not None and step.replicas is not None and made.spec.replicas != step.replicas:
                await self._applier.scale(inference, made, step.replicas)
        if writes.failure is not None:
            raise writes.failure

    async def _route(self, inference: Inference, decided: Plan, result: ApplyResult) -> None:
        if decided.delete_route is not None:
            await self._writer.delete(inference, routing.HTTP_ROUTES, decided.delete_route)
        if decided.route is not None:
            step = decided.route
            route = await self._applier.apply(inference, routing.HTTP_ROUTES, step.body, step.current)
            result.shares = routing.shares(route)

    async def _enter(self, inference: Inference, decided: Plan, _: ApplyResult) -> None:
        if decided.service is not None:
            await self._apply(inference, decided.service)

    async def _delete(self, inference: Inference, decided: Plan, result: ApplyResult) -> None:
        for resource, unneeded in decided.deletions:
            try:
                await self._writer.delete(inference, resource, unneeded)
            except ApiError as error:  # perhaps by a policy, which must not keep the others from being scaled
                result.refusal = result.refusal or error

    async def _size(self, inference: Inference, writes: PredictorWrites) -> None:
        for step in writes.sizes:
            if isinstance(step, Scale):
                await self._applier.scale(inference, step.deployment, step.replicas)
            else:
                await self._apply(inference, step)

    async def _apply(self, inference: Inference, step: Apply) -> Any:  # noqa: ANN401 - of any kind
        """Return the object, or None if it was already up to date."""
        if self._applier.is_current(step.body, step.current):
            return None
        return await self._applier.apply(inference, step.resource, step.body, step.current)
