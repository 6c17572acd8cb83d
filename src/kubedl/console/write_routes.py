"""The addresses below /api/v1/ that change something: POST, and only from a page of this console (`safety`)."""

from collections.abc import Mapping
from functools import partial
from typing import TypeVar

import msgspec
from aiohttp import web

from kubedl.console.actions import (
    CRON_ACTIONS,
    JOB_ACTIONS,
    ROLLOUT_ACTIONS,
    Actions,
    CronAction,
    JobAction,
    RolloutAction,
)
from kubedl.console.pages import Pages
from kubedl.console.people import Caller
from kubedl.console.problems import RefusalError
from kubedl.console.routes import Answer, key_of
from kubedl.console.submitting import Submitting
from kubedl.console.wire_actions import Done, JobChange, RolloutChange, VersionChange, WeightsChange

BodyT = TypeVar("BodyT")


async def body_of(request: web.Request, kind: type[BodyT]) -> BodyT:
    """Return what a request has sent; refuses what is not of the type."""
    try:
        return msgspec.json.decode(await request.read(), type=kind)
    except msgspec.MsgspecError as error:
        raise RefusalError(400, "request refused", f"its body is wrong: {error}", "Load the page again.") from None


async def _job(action: JobAction, pages: Pages, caller: Caller, request: web.Request) -> Done:
    change = await body_of(request, JobChange)
    return await Actions(pages).job(caller, request.match_info["kind"], key_of(request), action, change)


async def _rollout(action: RolloutAction, pages: Pages, caller: Caller, request: web.Request) -> Done:
    return await Actions(pages).rollout(caller, key_of(request), action, await body_of(request, RolloutChange))


async def _weights(pages: Pages, caller: Caller, request: web.Request) -> Done:
    return await Actions(pages).weights(caller, key_of(request), await body_of(request, WeightsChange))


async def _version(pages: Pages, caller: Caller, request: web.Request) -> Done:
    return await Actions(pages).version(caller, key_of(request), await body_of(request, VersionChange))


async def _cron(action: CronAction, pages: Pages, caller: Caller, request: web.Request) -> Done:
    return await Actions(pages).cron(caller, key_of(request), action)


_JOB, _SERVICE, _CRON = "jobs/{namespace}/{kind}/{name}", "services/{namespace}/{name}", "crons/{namespace}/{name}"
# What could be done, to be read like any other answer.
ACTIONS: Mapping[str, Answer] = {
    f"{_JOB}/actions": lambda pages, caller, request: Actions(pages).of_job(
        caller, request.match_info["kind"], key_of(request)
    ),
    f"{_SERVICE}/actions": lambda pages, caller, request: Actions(pages).of_service(caller, key_of(request)),
    f"{_CRON}/actions": lambda pages, caller, request: Actions(pages).of_cron(caller, key_of(request)),
    f"{_JOB}/copy": lambda pages, caller, request: Submitting(pages).copy(
        caller, request.match_info["kind"], key_of(request)
    ),
}
WRITES: Mapping[str, Answer] = {
    **{f"{_JOB}/{action}": partial(_job, action) for action in JOB_ACTIONS},
    **{f"{_SERVICE}/{action}": partial(_rollout, action) for action in ROLLOUT_ACTIONS},
    f"{_SERVICE}/weights": _weights,
    f"{_SERVICE}/version": _version,
    **{f"{_CRON}/{action}": partial(_cron, action) for action in CRON_ACTIONS},
}
