"""The writes for an Inference, in an order in which no request is lost.

What is needed comes first, then the route that leads to it, and what is not needed any more goes last, when no gateway
sends requests there. One predictor that is refused costs the others nothing.
"""

from collections.abc import Iterable, Sequence
from dataclasses import replace
from datetime import timedelta
from typing import Any

from kubedl.api.inference import GROUP
from kubedl.api.pod_template import TemplateError
from kubedl.kube.errors import ApiError, ForbiddenError, InvalidError, NotFoundError
from kubedl.runtime.writer import Writer
from kubedl.serving import autoscaling, deployment, keeping, loading, template, traffic
from kubedl.serving.applier import Applier
from kubedl.serving.arrangement import Arrangement, backends, names_of, replicas, scaled
from kubedl.serving.deployment import Servers
from kubedl.serving.explanation import cannot_mount, cannot_pull
from kubedl.serving.objects import (
    CANDIDATE,
    DEPLOYMENTS,
    INFERENCE,
    INFERENCE_UID,
    SCALED_OBJECTS,
    SERVICE_ACCOUNTS,
    STABLE,
    Deployment,
    name_of,
    owner_of,
)
from kubedl.serving.outcome import ENTRANCE, ROUTE, Outcome
from kubedl.serving.sight import Sight, Trouble
from kubedl.serving.status import Place
from kubedl.serving.template import Body
from kubedl.wire import codec
from kubedl.wire.core import PODS, SERVICES
from kubedl.wire.meta import Key, Object, Resource

KEDA_MISSING = "KedaNotInstalled"
ACCOUNT_SECRETS = f"{GROUP}/account-pull-secrets"  # an annotation: names, as its pods were made with them


class Provisioner:
    """Makes what Inferences need, and takes away what they do not."""

    def __init__(self, writer: Writer, applier: Applier, *, program: loading.Program, place: Place) -> None:
        self._writer = writer
        self._applier = applier
        self._program = program
        self._place = place

    async def provide(self, sight: Sight, arrangements: Sequence[Arrangement]) -> Outcome:
        """Go as far towards what is wanted as is safe now."""
        outcome, held = Outcome(), _held(sight, arrangements)
        for one in arrangements:
            try:
                await self._staff(sight, one)
            except TemplateError as error:
                outcome.troubles[one.predictor.name] = Trouble("TemplateInvalid", str(error))
            except ApiError as error:
                outcome.refused(one.predictor.name, error)
        try:
            await self._route(sight, arrangements, outcome, held=held)
        except ApiError as error:
            outcome.refused(ROUTE, error)
        try:
            await self._enter(sight, arrangements, held=held)
        except TemplateError:
            pass  # told of the predictor
        except ApiError as error:
            outcome.refused(ENTRANCE, error)
        await self._remove(sight, arrangements, outcome, held=held)
        for one in arrangements:
            try:
                await self._size(sight, one, outcome)
            except NotFoundError:
                missing = f"the cluster does not know {SCALED_OBJECTS.name}; install KEDA"
                outcome.troubles.setdefault(one.predictor.name, Trouble(KEDA_MISSING, missing))
            except ApiError as error:
                outcome.refused(one.predictor.name, error)
        return outcome

    async def _staff(self, sight: Sight, arrangement: Arrangement) -> None:
        for servers in (arrangement.stable, arrangement.candidate):
            if servers is None:
                continue
            await self._apply(sight, SERVICES, deployment.service(servers), sight.services.get(servers.name))
            found = sight.deployments.get(servers.name)
            body = await self._rendered(sight, servers, found)
            made = await self._apply(sight, DEPLOYMENTS, body, found)
            if found is None and made is not None:
                await self._first_size(sight, arrangement, servers, made)

    async def _enter(self, sight: Sight, arrangements: Sequence[Arrangement], *, held: bool) -> None:
        only = arrangements[0].stable if len(arrangements) == 1 else None
        if only is not None and not held:
            name = sight.inference.metadata.name
            await self._apply(sight, SERVICES, deployment.entrance(only), sight.services.get(name))

    async def _route(self, sight: Sight, arrangements: Sequence[Arrangement], outcome: Outcome, *, held: bool) -> None:
        ends = [end for one in arrangements for end in backends(sight, one)]
        if isinstance(sight.gateway, Trouble):
            if sight.route is not None:
                await self._writer.delete(sight.inference, traffic.HTTP_ROUTES, sight.route)
            return
        outcome.shares = traffic.shares(sight.route)
        if (not ends and sight.route is None) or (sight.route is not None and held):
            return
        meta = sight.inference.metadata
        body = traffic.route(
            meta.name,
            meta.namespace,
            self._place.host(sight),
            sight.gateway,
            ends,
            owner_of(sight.inference),
            timeouts=sight.inference.spec.timeouts,
            found=sight.route,
            now=sight.now,
        )
        body["metadata"]["labels"] = {INFERENCE: meta.name, INFERENCE_UID: meta.uid}
        if sight.route is None or not traffic.says(sight.route, body):
            made = await self._applier.apply(sight.inference, traffic.HTTP_ROUTES, body, sight.route)
            outcome.shares = traffic.shares(made)

    async def _remove(self, sight: Sight, arrangements: Sequence[Arrangement], outcome: Outcome, *, held: bool) -> None:
        wanted = {
            (made[0], made[1]["metadata"]["name"])
            for one in arrangements
            if (made := autoscaling.scaler(sight.inference, one.predictor)) is not None
        }
        for resource, scaler in sight.scalers:
            if (resource, scaler.metadata.name) not in wanted and scaler.metadata.deletion_timestamp is None:
                await self._writer.delete(sight.inference, resource, scaler)
        if held:
            return
        kept = _kept(sight, arrangements)
        unneeded: list[tuple[Resource[Any], Object]] = [
            (resource, found)
            for resource, there in ((DEPLOYMENTS, sight.deployments), (SERVICES, sight.services))
            for name, found in there.items()
            if name not in kept and found.metadata.deletion_timestamp is None
        ]
        for resource, found in unneeded:
            if self._has_left(sight, found.metadata.name, outcome):
                await self._writer.delete(sight.inference, resource, found)

    async def _size(self, sight: Sight, arrangement: Arrangement, outcome: Outcome) -> None:
        """Who scales, and where that is us, how many."""
        if arrangement.stable is not None:
            await self._scaler(sight, arrangement)
        for track in (STABLE, CANDIDATE):
            wanted = replicas(sight, arrangement, track)
            found = sight.deployments.get(name_of(sight.inference, arrangement.predictor.name, track))
            if found is None or wanted is None or found.spec.replicas == wanted:
                continue
            if track == CANDIDATE and not arrangement.state.candidate:
                continue  # it leaves as it is
            if wanted or self._has_left(sight, found.metadata.name, outcome):
                await self._applier.scale(sight.inference, found, wanted)

    async def _scaler(self, sight: Sight, arrangement: Arrangement) -> None:
        wish = autoscaling.scaler(sight.inference, scaled(sight, arrangement))
        if wish is None:
            return
        resource, body = wish
        name = body["metadata"]["name"]
        there = (one for kind, one in sight.scalers if kind is resource and one.metadata.name == name)
        await self._apply(sight, resource, body, next(there, None))

    async def _first_size(self, sight: Sight, arrangement: Arrangement, servers: Servers, made: Deployment) -> None:
        wanted = replicas(sight, arrangement, servers.track)
        if wanted is None:
            wanted = autoscaling.first_replicas(arrangement.predictor)
        if wanted is not None and wanted != made.spec.replicas:
            await self._applier.scale(sight.inference, made, wanted)

    async def _apply(self, sight: Sight, resource: Resource[Any], body: Body, found: Any) -> Any:  # noqa: ANN401
        if self._applier.is_current(body, found):
            return None
        return await self._applier.apply(sight.inference, resource, body, found)

    async def _rendered(self, sight: Sight, servers: Servers, found: Deployment | None) -> Body:
        """The Deployment. Its pods stay as they are until something else is asked for, or somebody edits them."""
        if found is not None and keeping.is_asked_for(sight, servers, found):
            return await self._kept(sight, servers, found)
        wish = servers.predictor.loader
        if servers.model is None or wish != "Auto":
            return await self._made(servers, loading.way_of(wish))
        return await self._probed(servers)

    async def _kept(self, sight: Sight, servers: Servers, found: Deployment) -> Body:
        notes, pods = found.metadata.annotations, sight.pods_of(servers.predictor.name, servers.track)
        way = loading.way_of(notes.get(deployment.LOADER, ""))
        if way == "ImageVolume" and servers.predictor.loader == "Auto" and cannot_mount(pods):
            return await self._made(servers, "InitCopy")
        pod, account = found.spec.template, notes.get(ACCOUNT_SECRETS, "")
        if pod is None or self._applier.is_edited(found):
            return await self._made(servers, way)
        if cannot_pull(pods) and pod.unpack()["spec"].get("imagePullSecrets"):
            # What the account gives, of which such a pod gets nothing by itself, may have been put right meanwhile.
            made = await self._made(servers, way)
            if made["metadata"]["annotations"].get(ACCOUNT_SECRETS, "") != account:
                return made
        body = deployment.deployment(servers, way, pod, keeping.asked(servers))
        if account:
            body["metadata"]["annotations"][ACCOUNT_SECRETS] = account
        return body

    async def _probed(self, servers: Servers) -> Body:
        """Ask the API server what would become of a pod with an image volume."""
        mounted, copied = await self._made(servers, "ImageVolume"), await self._made(servers, "InitCopy")
        try:
            answer = await self._dry_run(mounted)
        except (ForbiddenError, InvalidError) as refusal:
            try:
                await self._dry_run(copied)
            except (ForbiddenError, InvalidError):
                raise refusal from None
            return copied
        image = servers.model.image if servers.model is not None else ""
        return mounted if loading.survived(answer, image) else copied

    async def _dry_run(self, made: Body) -> dict[str, Any]:
        body, namespace = deployment.pod(made), made["metadata"]["namespace"]
        path, params = PODS.path(namespace), {"dryRun": "All"}
        answer = await self._writer.client.call("create", PODS, path, params=params, body=body)
        return codec.decode(answer, dict[str, Any])

    async def _made(self, servers: Servers, way: loading.Way) -> Body:
        """With pods as this operator renders them."""
        mounts = way == "ImageVolume" and servers.model is not None
        account = await self._account_secrets(servers) if mounts else ()
        program = replace(self._program, account_secrets=account)
        body = deployment.deployment(servers, way, program, keeping.asked(servers))
        if account:
            body["metadata"]["annotations"][ACCOUNT_SECRETS] = ",".join(account)
        return body

    async def _account_secrets(self, servers: Servers) -> tuple[str, ...]:
        """The pull secrets that a pod gets from its ServiceAccount, which are those of a pod that names none."""
        spec = template.read(servers.predictor.name, servers.predictor.template)["spec"]
        if spec.get("imagePullSecrets"):
            return ()
        name = spec.get("serviceAccountName") or spec.get("serviceAccount") or "default"
        key = Key(servers.inference.metadata.namespace, str(name))
        try:
            account = await self._writer.client.get(SERVICE_ACCOUNTS, key)
        except NotFoundError:
            return ()  # the API server will say so of the pod
        return tuple(one.name for one in account.image_pull_secrets or () if one.name)

    def _has_left(self, sight: Sight, name: str, outcome: Outcome) -> bool:
        """Whether no gateway sends it requests any more; if not, when to look again."""
        left = traffic.until_left(sight.route, name, sight.now)
        if left:
            outcome.again.append(left)
        return left == timedelta()


def _kept(sight: Sight, arrangements: Sequence[Arrangement]) -> set[str]:
    """The names of what must not be taken away."""
    kept = {name for one in arrangements for name in names_of(one, sight)}
    return kept | {sight.inference.metadata.name} if len(arrangements) == 1 else kept


def _held(sight: Sight, arrangements: Sequence[Arrangement]) -> bool:
    """Whether what is to go answers still, and nobody of those who are to stay does yet: then nothing goes."""
    ends = [end for one in arrangements for end in backends(sight, one) if end.weight]
    if any(end.ready for end in ends) or all(one.is_off for one in arrangements):
        return False
    # A version that was tried and is not to serve goes, whoever answers.
    tried = {name_of(sight.inference, one.predictor.name, CANDIDATE) for one in arrangements}
    staying = _kept(sight, arrangements) | tried | {sight.inference.metadata.name}
    return any(sight.endpoints.get(name, 0) > 0 for name in sight.services if name not in staying)


def soonest(times: Iterable[timedelta | None]) -> float | None:
    """The first of several moments, in seconds."""
    known = [one.total_seconds() for one in times if one is not None]
    return min(known, default=None)
