"""Who is told what: every route of the console, asked by seven people: `python -m proofs.console.rights`.

On a real API server one team has an object of every kind; their names, users and messages contain one word. Neighbours
must not get to read that word, nor a uid, from any address, stream or metric. Rights are then taken away while streams
are open. Two minutes. The last line is JSON.
"""

import asyncio
import base64
import json
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from pathlib import Path

from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.asymmetric.utils import decode_dss_signature

from harness.drivers import console_objects
from harness.drivers.api_connection import Connection
from harness.drivers.console_objects import EVERYTHING, Team
from harness.drivers.console_process import Answer, ConsoleProcess, rights_everywhere, token_of
from harness.drivers.databases import create_tables
from harness.drivers.recorded_past import PastJob, record
from kubedl.history.engine import create_engine, parse_url
from kubedl.history.price_book import PriceBook
from proofs.console.revoking import revoked
from proofs.console.routes import NODE, PEOPLE, STRANGERS, TENANTS, Route, routes
from testbed import cluster_lock, namespaces
from testbed.cluster import Cluster
from testbed.errors import TestbedError
from testbed.instance import chosen_index
from testbed.waiting import until

WORD = "hidden-k7q2"
ABSENT = "absent-x3m9"  # as long as the other
CLUSTER = "kubedl"  # in the history, by default
ISSUER = "https://kubernetes.default.svc.cluster.local"
LIST_NODES = {"apiGroups": [""], "resources": ["nodes"], "verbs": ["list"]}
OWN_GROUPS = [
    console_objects.TRAINING,
    console_objects.MODEL,
    console_objects.SERVING,
    console_objects.APPS,
    "kueue.x-k8s.io",
]
READ = (  # not logs, which are subresources
    {"apiGroups": OWN_GROUPS, "resources": ["*"], "verbs": ["get", "list"]},
    {"apiGroups": [""], "resources": ["pods", "events"], "verbs": ["get", "list"]},
)


@dataclass
class Found:
    """What the matrix found."""

    answers: int = 0
    complaints: dict[str, list[str]] = field(default_factory=dict)

    def complain(self, kind: str, text: str) -> None:
        """Note it, and say it."""
        self.complaints.setdefault(kind, []).append(text)
        print(f"{kind}: {text}", file=sys.stderr)

    def figures(self) -> dict[str, int]:
        """For claims."""
        kinds = ("routes without a case", "wrong statuses", "foreign names", "told apart", "effects")
        return {"answers": self.answers, **{kind: len(self.complaints.get(kind, ())) for kind in kinds}}


@dataclass(frozen=True)
class Scene:
    """Two teams, the people, and the words that only the first team may read."""

    cluster: Cluster
    console: ConsoleProcess
    team: Team
    tokens: dict[str, str]
    uid: str  # of its job

    def foreign(self, text: bytes) -> list[str]:
        """Which of the words are in an answer."""
        return [word for word in (WORD, self.uid) if word.encode() in text]

    def versions(self) -> dict[str, str]:
        """Every object of the first team with its version; events come and go by themselves."""
        kinds = "pytorchjobs,pods,models,modelversions,inferences,crons,localqueues,workloads"
        found = self.cluster.kubectl("get", kinds, "-n", self.team.namespace, "-o", "json")
        return {one["metadata"]["uid"]: one["metadata"]["resourceVersion"] for one in json.loads(found)["items"]}


def main() -> int:
    """Print the figures."""
    with cluster_lock.borrowed(Cluster(chosen_index())) as cluster, scene(cluster) as ready:
        found = matrix(ready)
        seconds = revoked(ready.cluster, ready.console, ready.team, WORD, ready.tokens["neighbour"])
    print(json.dumps({"routes": len(list(routes())), **found.figures(), **seconds}))
    return 0


@contextmanager
def scene(cluster: Cluster) -> Iterator[Scene]:
    """Everything that the matrix needs."""
    console_objects.define(cluster)
    with (
        tempfile.TemporaryDirectory(prefix="kubedl-console-proof-") as directory,
        Connection(cluster) as connection,
        namespaces.fresh(cluster.api, "first") as first,
        namespaces.fresh(cluster.api, "second") as second,
        console_objects.nodes(connection, {NODE: {"cpu": "8", "memory": "64Gi", "gpu": "8"}}),
        # With a Prometheus that does not answer: what it is asked about is named all the same.
        ConsoleProcess(
            cluster,
            Path(directory),
            "--prometheus=http://127.0.0.1:1",
            history=(history := f"sqlite:///{directory}/history.db"),
        ) as console,
    ):
        team = Team(connection, first)
        job = fill(team)
        create_tables(history)
        asyncio.run(recorded(history, first, job["metadata"]["uid"]))
        Team(connection, second).job("own", status={"state": "Running"})
        tokens = {
            "nobody": "",
            "garbage": "garbage",
            "reader": token_of(cluster, first, "reader", *READ),
            "expired": signed_token(cluster, first, "reader", lasts=-60),
            "neighbour": token_of(cluster, second, "neighbour", *EVERYTHING),
            "neighbour with nodes": token_of(cluster, second, "neighbour-with-nodes", *EVERYTHING),
            "gone": token_of(cluster, second, "gone", *EVERYTHING),
        }
        cluster.api.delete(f"/api/v1/namespaces/{second}/serviceaccounts/gone")
        ready = Scene(cluster, console, team, tokens, job["metadata"]["uid"])
        insist(ready, signed_token(cluster, first, "reader", lasts=600))
        with rights_everywhere(cluster, second, "neighbour-with-nodes", LIST_NODES):
            yield ready


def fill(team: Team) -> dict[str, dict[str, str]]:
    """An object of every kind, with the word wherever a person can write one."""
    job = team.job(WORD, user=WORD, status={"state": "Failed", "message": WORD}, cpu="1")
    team.pod(f"{WORD}-worker-0", job, NODE, cpu="1", memory="1Gi", gpu="1")
    team.event(WORD, job, "PyTorchJob", WORD, WORD)
    team.model(WORD, WORD, f"{WORD}-v1", 1)
    origin = {"jobKind": "PyTorchJob", "jobName": WORD, "codeRevision": WORD}
    team.version(f"{WORD}-v1", WORD, {"message": WORD}, createdBy=WORD, origin=origin)
    # One that can be changed in every way.
    rollout = {"phase": "Stepping", "candidate": f"{WORD}-v1", "rejected": f"{WORD}-v0"}
    predictors = [{"name": "main", "modelVersion": f"{WORD}-v1", "message": WORD, "rollout": rollout}]
    team.service(WORD, {"main": (f"{WORD}-v1", 100)}, {"predictorStatuses": predictors})
    team.cron(WORD, {"conditions": [{"type": "Ready", "status": "False", "reason": "Refused", "message": WORD}]})
    team.local_queue(WORD, "queue-of-all", {"pendingWorkloads": 1})
    team.workload(WORD, WORD, WORD, cpu="1")
    return job


async def recorded(history: str, namespace: str, uid: str) -> None:
    """Let the history say that the first team's job was deleted, with the word wherever it has a text."""
    engine, began = create_engine(parse_url(history)), datetime.now(UTC) - timedelta(days=1)
    job = PastJob(namespace, WORD, began, user=WORD, queue=WORD, message=WORD, log=WORD, event=WORD, uid=uid)
    await record(engine, CLUSTER, [job], PriceBook(WORD[:16]), {"node-1": WORD})
    await engine.dispose()


def insist(ready: Scene, valid: str) -> None:
    """The reader must see everything, else nothing is shown by others who do not; so must the token that is expired."""

    def filled() -> bool:
        lists = ("jobs", "models", "services", "service-metrics", "crons", "queues", "history/jobs", "cost")
        own = f"{ready.team.namespace}/{WORD}"
        pages = [f"/api/v1/{one}" for one in (*lists, f"models/{own}/lineage", f"services/{own}/metrics")]
        return all(WORD.encode() in ready.console.get(page, ready.tokens["reader"]).body for page in pages)

    until("the reader to see an object of every kind", filled, deadline=60)
    if (status := ready.console.get("/api/v1/jobs", valid).status) != 200:
        raise TestbedError(f"the expired token is refused for another reason: while it is valid too, with {status}")


def matrix(ready: Scene) -> Found:
    """Ask everything as everybody."""
    found, before = Found(), ready.versions()
    for route in routes():
        if not route.known:
            found.complain("routes without a case", f"{route.method} {route.path}")
            continue
        for person in PEOPLE:
            answer = _ask(ready, route, person, WORD)
            found.answers += 1
            _judge(found, ready, route, person, answer)
        if "{namespace}" in route.path:
            _compare(found, ready, route)
    if leaked := ready.foreign(ready.console.metrics.encode()):
        found.complain("foreign names", f"/metrics has {leaked}")
    if ready.versions() != before:
        found.complain("effects", "objects of the first team were changed")
    return found


def _ask(ready: Scene, route: Route, person: str, name: str) -> Answer:
    token = ready.tokens[person]
    if route.stream and person not in STRANGERS:
        return Answer(200, b"")  # what streams say is judged while rights are taken away
    body = route.body(ready.team.namespace, ready.uid)
    uid = ready.uid if name == WORD else ready.uid[::-1]  # of the job, or of one that is not there
    return ready.console.ask(route.method, route.address(ready.team.namespace, name, uid), token, body)


def _judge(found: Found, ready: Scene, route: Route, person: str, answer: Answer) -> None:
    what = f"{route.method} {route.path} as {person}"
    if answer.status != route.due(person):
        found.complain(
            "wrong statuses", f"{what}: {answer.status} instead of {route.due(person)}: {answer.body[:200]!r}"
        )
    if person == "reader":
        return
    if leaked := ready.foreign(answer.body):
        found.complain("foreign names", f"{what}: {leaked}")
    asked_there = "{namespace}" in route.path or route.body("", "") is not None
    if not asked_there and ready.team.namespace.encode() in answer.body:
        found.complain("foreign names", f"{what}: the namespace")


def _compare(found: Found, ready: Scene, route: Route) -> None:
    """What is hidden and what is not there must look the same; only the id of the request differs."""
    for person in TENANTS:
        hidden, absent = (_ask(ready, route, person, name) for name in (WORD, ABSENT))
        if (hidden.status, _words(hidden)) != (absent.status, _words(absent)):
            found.complain("told apart", f"{route.method} {route.path}: {hidden} and {absent}")


def _words(answer: Answer) -> object:
    if not answer.body:
        return b""
    words = answer.json()
    words.pop("request", None)
    return json.dumps(words).replace(WORD, ABSENT)


def signed_token(cluster: Cluster, namespace: str, account: str, lasts: float) -> str:
    """A token as the API server signs them, that ends in so many seconds. Those that it gives out last ten minutes."""
    key = serialization.load_pem_private_key(cluster.authority.service_account_key.read_bytes(), None)
    if not isinstance(key, ec.EllipticCurvePrivateKey):
        raise TestbedError("tokens are signed by another kind of key")
    now = int(time.time())
    uid = cluster.api.get(f"/api/v1/namespaces/{namespace}/serviceaccounts/{account}")["metadata"]["uid"]
    claims = {
        "iss": ISSUER,
        "aud": [ISSUER],
        "sub": f"system:serviceaccount:{namespace}:{account}",
        "iat": now - 3600,
        "nbf": now - 3600,
        "exp": int(now + lasts),
        "kubernetes.io": {"namespace": namespace, "serviceaccount": {"name": account, "uid": uid}},
    }
    text = ".".join(_encoded(json.dumps(part).encode()) for part in ({"alg": "ES256", "typ": "JWT"}, claims))
    numbers = decode_dss_signature(key.sign(text.encode(), ec.ECDSA(hashes.SHA256())))
    return f"{text}.{_encoded(b''.join(one.to_bytes(32, 'big') for one in numbers))}"


def _encoded(part: bytes) -> str:
    return base64.urlsafe_b64encode(part).decode().rstrip("=")


if __name__ == "__main__":
    sys.exit(main())
