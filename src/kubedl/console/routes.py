"""The addresses below /api/v1/ that answer a signed-in person with one value, and what they read from a request."""

from collections.abc import Awaitable, Callable, Mapping

from aiohttp import web

from kubedl.console.pages import Pages
from kubedl.console.people import Caller
from kubedl.console.wire_base import Wire
from kubedl.kube.types.meta import ObjectKey

LONGEST = 253  # characters of a search or a name; no object has a longer one
Answer = Callable[[Pages, Caller, web.Request], Awaitable[Wire]]


def _text(request: web.Request, name: str) -> str:
    return request.query.get(name, "")[:LONGEST]


def key_of(request: web.Request) -> ObjectKey:
    """Return namespace and name in an address."""
    return ObjectKey(request.match_info["namespace"], request.match_info["name"])


ROUTES: Mapping[str, Answer] = {
    "capacity": lambda pages, caller, _: pages.of_nodes.capacity(caller),
    "nodes": lambda pages, caller, request: pages.of_nodes.nodes(caller, _text(request, "q"), _text(request, "after")),
    "nodes/{name}": lambda pages, caller, request: pages.of_nodes.node(caller, request.match_info["name"]),
    "queues": lambda pages, caller, _: pages.of_queues.queues(caller),
    "models": lambda pages, caller, request: pages.of_models.models(caller, _text(request, "q")),
    "models/{namespace}/{name}": lambda pages, caller, request: pages.of_models.model(caller, key_of(request)),
    "services": lambda pages, caller, request: pages.of_services.services(caller, _text(request, "q")),
    "services/{namespace}/{name}": lambda pages, caller, request: pages.of_services.service(caller, key_of(request)),
    "crons": lambda pages, caller, request: pages.of_crons.crons(caller, _text(request, "q")),
    "crons/{namespace}/{name}": lambda pages, caller, request: pages.of_crons.cron(caller, key_of(request)),
}
