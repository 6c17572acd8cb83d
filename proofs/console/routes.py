"""Every address of the console, from its own table of routes, and which answer is due to whom.

A route with a parameter that this file does not know, or that is sent something of which it has no example, has no
case: it is counted, and the claim about it falls short until somebody adds one.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, cast

from kubedl.console.server import Console

API = "/api/v1/"
READS = frozenset({"GET", "HEAD"})
NODE = "node-of-all"
# Without a sign-in: the page itself with its files, and what signs people in. In the mode proxy nobody signs in here.
PUBLIC = {
    "GET /api/v1/session": 200,
    "POST /api/v1/session": 405,
    "DELETE /api/v1/session": 204,
    "GET /assets/{name}": 404,
    "GET /{path}": 200,
}
QUESTIONS = ("/api/v1/submit/read",)  # sent by POST, because a text is long; nothing is changed
MANIFEST = """apiVersion: training.kubedl.io/v1alpha1
kind: PyTorchJob
metadata: {{name: of-somebody, namespace: {namespace}}}
spec:
  pytorchReplicaSpecs:
    Master: {{template: {{spec: {{containers: [{{name: pytorch, image: "train:1"}}]}}}}}}
"""


@dataclass(frozen=True)
class Route:
    """A method and a path with its parameters in braces."""

    method: str
    path: str

    @property
    def public(self) -> int:
        """The status for everybody; 0 if it is not public. HEAD is answered as GET."""
        return PUBLIC.get(f"{'GET' if self.method == 'HEAD' else self.method} {self.path}", 0)

    @property
    def changes(self) -> bool:
        """Whether it is there to change something."""
        return self.method not in READS and self.path not in QUESTIONS

    @property
    def known(self) -> bool:
        """Whether there is a case for it."""
        unsent = self.method in {"POST", "PUT", "PATCH"} and self.body("", "") is None
        return _parameters(self.path) <= {"namespace", "kind", "name", "pod", "path", "uid"} and not unsent

    @property
    def of_nodes(self) -> bool:
        """Whether it needs the right to list nodes, which belong to no namespace."""
        return self.path.startswith((f"{API}nodes", f"{API}capacity"))

    @property
    def stream(self) -> bool:
        """Whether its answer does not end."""
        return self.path == f"{API}stream"

    @property
    def log(self) -> bool:
        """Whether the API server decides about it, with the person's own token."""
        return "/logs/" in self.path

    def address(self, namespace: str, name: str, uid: str) -> str:
        """The path with its parameters."""
        known = {"namespace": namespace, "kind": "pytorchjob", "pod": f"{name}-worker-0", "path": "", "uid": uid}
        known["name"] = NODE if self.of_nodes else name
        return self.path.format_map(known)

    def body(self, namespace: str, uid: str) -> object:
        """What is sent, about the job with this uid or about a new one in this namespace; None: nothing is known."""
        if self.method in {"GET", "HEAD", "DELETE"}:
            return None
        examples: dict[str, object] = {
            f"{API}session": {"token": "not-a-token"},
            f"{API}jobs/{{namespace}}": {"uid": uid},
            f"{API}services/{{namespace}}/{{name}}/weights": {"weights": {"main": 100}},
            f"{API}services/{{namespace}}/{{name}}/version": {"predictor": "main", "version": "v2"},
            f"{API}services/{{namespace}}": {"predictor": "main"},
            f"{API}crons/{{namespace}}": {},
            f"{API}submit": {"text": MANIFEST.format(namespace=namespace)},
        }
        return next((body for path, body in examples.items() if self.path.startswith(path)), None)

    def due(self, person: str) -> int:
        """The status that is due to one of `PEOPLE`."""
        if self.public:
            return self.public
        if person in STRANGERS:
            return 401
        if self.of_nodes:
            return 200 if person == "neighbour with nodes" else 403
        if person == "reader":
            return 403 if self.changes or self.log else 200
        return 403 if self.changes or "{namespace}" in self.path else 200


STRANGERS = ("nobody", "garbage", "expired", "gone")
TENANTS = ("neighbour", "neighbour with nodes")
PEOPLE = (*STRANGERS, *TENANTS, "reader")


def routes() -> Iterator[Route]:
    """All routes of the console's application."""
    nothing = cast("Any", None)  # the table is made without its parts
    console = Console(nothing, nothing, nothing, nothing, "", "")
    for one in console.application().router.routes():
        path = (one.resource.canonical if one.resource is not None else "").replace("{path:.*}", "{path}")
        yield Route(one.method, path)


def _parameters(path: str) -> set[str]:
    return {part.partition("}")[0] for part in path.split("{")[1:]}
