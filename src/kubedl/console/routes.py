"""The addresses below /api/v1/ that answer a signed-in person with one value, and what they read from a request."""

from collections.abc import Awaitable, Callable, Mapping

from aiohttp import web

from kubedl.console.pages import Pages
from kubedl.console.people import Caller
from kubedl.console.wire_base import Wire

LONGEST = 253  # characters of a search or a name; no object has a longer one
Answer = Callable[[Pages, Caller, web.Request], Awaitable[Wire]]


def _text(request: web.Request, name: str) -> str:
    return request.query.get(name, "")[:LONGEST]


ROUTES: Mapping[str, Answer] = {
    "capacity": lambda pages, caller, _: pages.of_nodes.capacity(caller),
    "nodes": lambda pages, caller, request: pages.of_nodes.nodes(caller, _text(request, "q"), _text(request, "after")),
    "nodes/{name}": lambda pages, caller, request: pages.of_nodes.node(caller, request.match_info["name"]),
    "queues": lambda pages, caller, _: pages.of_queues.queues(caller),
}
