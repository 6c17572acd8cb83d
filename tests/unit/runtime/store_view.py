"""What to look at when a store is compared with its server."""

from collections.abc import Iterable

from kubedl.kube.types.core import Pod
from tests.unit.runtime.fake_server import Server


def held(pods: Iterable[Pod]) -> dict[str, tuple[str, str]]:
    """Name to uid and version, as the server tells what is readable."""
    return {pod.metadata.name: (pod.metadata.uid, pod.metadata.resource_version) for pod in pods}


def starts(server: Server) -> list[float]:
    """When a whole list was asked for, in either way."""
    return [
        call.at
        for call in server.calls
        if "sendInitialEvents" in call.detail or (call.verb == "list" and "continue" not in call.detail)
    ]


def lose_history(server: Server) -> None:
    """Change everything while nobody hears it, and make it impossible to catch up."""
    for connection in server.connections:
        connection.held = True
    server.remove("a")
    server.remove("b")
    server.put("b")
    server.put("c")
    server.put("d")
    server.compact()
    for connection in server.connections:
        connection.drop()
