"""The addresses below /api/v1/ that answer a signed-in person with one value, and what they read from a request."""

from collections.abc import Awaitable, Callable, Mapping

from aiohttp import web

from kubedl.console.history_source import Wanted
from kubedl.console.log_pages import ArchivedRun
from kubedl.console.pages import Pages
from kubedl.console.people import Caller
from kubedl.console.wire_base import Wire
from kubedl.kube.types.meta import ObjectKey

LONGEST = 253  # characters of a search or a name; no object has a longer one
Answer = Callable[[Pages, Caller, web.Request], Awaitable[Wire]]


def _plain(text: str) -> str:
    """Return what a name can be compared with: PostgreSQL takes no NUL."""
    return text[:LONGEST].replace("\0", "")


def _text(request: web.Request, name: str) -> str:
    return _plain(request.query.get(name, ""))


def key_of(request: web.Request) -> ObjectKey:
    """Return namespace and name in an address."""
    return ObjectKey(request.match_info["namespace"], request.match_info["name"])


def _wanted(request: web.Request) -> Wanted:
    return Wanted(
        namespace=_text(request, "ns"),
        kind=_text(request, "kind"),
        user=_text(request, "user"),
        queue=_text(request, "queue"),
        state=_text(request, "state").capitalize(),
        text=_text(request, "q"),
    )


def _past_job(pages: Pages, caller: Caller, request: web.Request) -> Awaitable[Wire]:
    return pages.of_past.job(caller, request.match_info["kind"], key_of(request), _plain(request.match_info["uid"]))


def _run(request: web.Request) -> ArchivedRun:
    uid, pod = _plain(request.match_info["uid"]), _plain(request.match_info["pod"])
    return ArchivedRun(request.match_info["kind"], key_of(request), uid, pod)


def _number(request: web.Request, name: str, default: int) -> int:
    text = request.query.get(name, "")
    return max(1, int(text)) if text.isdecimal() and len(text) < 10 else default


def _log_lines(pages: Pages, caller: Caller, request: web.Request) -> Awaitable[Wire]:
    first, count = _number(request, "first", 1), _number(request, "count", 500)
    return pages.of_logs.lines(caller, _run(request), first, count, _text(request, "at"))


ROUTES: Mapping[str, Answer] = {
    "jobs/{namespace}/{kind}/{name}/why": lambda pages, caller, request: pages.why(
        caller, request.match_info["kind"], key_of(request)
    ),
    "jobs/{namespace}/{kind}/{name}/start": lambda pages, caller, request: pages.start(
        caller, request.match_info["kind"], key_of(request)
    ),
    "jobs/{namespace}/{kind}/{name}/changes": lambda pages, caller, request: pages.changes(
        caller, request.match_info["kind"], key_of(request)
    ),
    "capacity/holders": lambda pages, caller, request: pages.of_holders.holders(
        caller, _text(request, "by") or "workload"
    ),
    "capacity": lambda pages, caller, _: pages.of_nodes.capacity(caller),
    "nodes": lambda pages, caller, request: pages.of_nodes.nodes(caller, _text(request, "q"), _text(request, "after")),
    "nodes/{name}": lambda pages, caller, request: pages.of_nodes.node(caller, request.match_info["name"]),
    "queues": lambda pages, caller, _: pages.of_queues.queues(caller),
    "models": lambda pages, caller, request: pages.of_models.models(caller, _text(request, "q")),
    "models/{namespace}/{name}": lambda pages, caller, request: pages.of_models.model(caller, key_of(request)),
    "models/{namespace}/{name}/lineage": lambda pages, caller, request: pages.of_lineage.lineage(
        caller, key_of(request), _text(request, "v"), whole=_text(request, "all") == "1"
    ),
    "services": lambda pages, caller, request: pages.of_services.services(caller, _text(request, "q")),
    "services/{namespace}/{name}": lambda pages, caller, request: pages.of_services.service(caller, key_of(request)),
    "services/{namespace}/{name}/metrics": lambda pages, caller, request: pages.of_metrics.service(
        caller, key_of(request)
    ),
    "service-metrics": lambda pages, caller, request: pages.of_metrics.services(caller, _text(request, "q")),
    "crons": lambda pages, caller, request: pages.of_crons.crons(caller, _text(request, "q")),
    "crons/{namespace}/{name}": lambda pages, caller, request: pages.of_crons.cron(caller, key_of(request)),
    "cost/idle": lambda pages, caller, request: pages.of_costs.idle(
        caller, _text(request, "days"), _text(request, "ns")
    ),
    "cost": lambda pages, caller, request: pages.of_costs.cost(caller, _text(request, "days"), _text(request, "ns")),
    "history/jobs": lambda pages, caller, request: pages.of_past.deleted_jobs(
        caller, _wanted(request), _text(request, "after")
    ),
    "history/jobs/{namespace}/{kind}/{name}/{uid}": _past_job,
    "history/jobs/{namespace}/{kind}/{name}/{uid}/logs/{pod}": _log_lines,
    "history/jobs/{namespace}/{kind}/{name}/{uid}/logs/{pod}/search": lambda pages, caller, request: (
        pages.of_logs.search(caller, _run(request), _text(request, "q"))
    ),
}
