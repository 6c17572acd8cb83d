"""Checks of a cluster and of the caller's rights, one after the other, each with what to do about it."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Literal

from kubedl.client.errors import Forbidden, KubedlError, NotFound
from kubedl.client.job import parse_time
from kubedl.client.objects import CLUSTER_QUEUES, CRONS, INFERENCES, LEASES, LOCAL_QUEUES, MODELS, NODES, Resource

if TYPE_CHECKING:
    from kubedl.client.training_client import TrainingClient

State = Literal["ok", "off", "broken"]
INSTALL = "install the chart: docs/operations/install.md"
AGAIN = "repeat the command with --debug, which prints each request"
JOBS = "training.kubedl.io"
FRESH = 60.0  # seconds since the operator renewed its Lease
# Rights of a person who trains: verb, group, resource, what does not work without it.
RIGHTS = (
    ("create", JOBS, "pytorchjobs", "submit"),
    ("list", JOBS, "pytorchjobs", "list, get"),
    ("watch", JOBS, "pytorchjobs", "wait, logs -f"),
    ("patch", JOBS, "pytorchjobs", "suspend, resume, scale"),
    ("delete", JOBS, "pytorchjobs", "delete"),
    ("list", "", "pods", "get, logs"),
    ("get", "", "pods/log", "logs"),
    ("list", "", "events", "events"),
)


@dataclass(frozen=True)
class Check:
    """What was found about one part."""

    part: str
    state: State
    words: str
    fix: str = ""


def run_checks(client: "TrainingClient") -> Iterator[Check]:
    """Yield the checks; after a cluster that does not answer, none."""
    first = _cluster(client)
    yield first
    if first.state == "broken":
        return
    for part, check in (("kinds", _kinds), ("operator", _operator), ("rights", _rights)):
        yield _judged(part, check, client)
    yield _part(client, "models", MODELS, "models cannot be built", INSTALL)
    yield _part(client, "serving", INFERENCES, "models cannot be served", INSTALL)
    yield _part(client, "schedules", CRONS, "there are no crons", INSTALL)
    yield _queues(client)
    for part, check in (("gateway", _gateway), ("metrics", _metrics), ("nodes", _nodes), ("history", _history)):
        yield _judged(part, check, client)


def _judged(part: str, check: Callable[["TrainingClient"], Check], client: "TrainingClient") -> Check:
    """Return the result of a check; a question that fails is a result too, and the others go on."""
    try:
        return check(client)
    except KubedlError as error:
        return _failed(part, error)


def _failed(part: str, error: KubedlError) -> Check:
    return Check(part, "broken", f"{error.message}: {error.why}"[:300], "; ".join(error.next) or AGAIN)


def _cluster(client: "TrainingClient") -> Check:
    try:
        user, _ = client.whoami()
        return Check("cluster", "ok", f"{client.server}, Kubernetes {client.server_version()}, as {user}")
    except KubedlError as error:
        return Check("cluster", "broken", f"{error.message}: {error.why}", "; ".join(error.next) or "choose --context")


def _kinds(client: "TrainingClient") -> Check:
    try:
        return Check("kinds", "ok", ", ".join(kind.word for kind in client.kinds()))
    except KubedlError as error:
        return Check("kinds", "broken", error.message, INSTALL)


def _operator(client: "TrainingClient") -> Check:
    """Look for a Lease that is fresh: of an operator for all namespaces, or for this one."""
    names = ("kubedl-operator", f"kubedl-operator-{client.namespace}")
    try:
        leases = [
            one for one in client.objects.list_all(LEASES, all_namespaces=True) if one["metadata"]["name"] in names
        ]
    except Forbidden:
        return Check("operator", "ok", "leases: not allowed, so the operator is not checked")
    renewed = [
        (moment, str(one["metadata"]["namespace"]))
        for one in leases
        if (moment := parse_time(one["spec"].get("renewTime"))) is not None
    ]
    if not renewed:
        return Check("operator", "broken", "there is no Lease of an operator", INSTALL)
    latest, place = max(renewed)
    passed = (datetime.now(UTC) - latest).total_seconds()
    if passed > FRESH:
        return Check("operator", "broken", f"last seen {passed:.0f} s ago", f"kubectl -n {place} get pods")
    return Check("operator", "ok", f"seen {max(0, passed):.0f} s ago in {place}")


def _rights(client: "TrainingClient") -> Check:
    missing = [
        f"{verb} {resource} ({what})" for verb, group, resource, what in RIGHTS if not client.may(verb, group, resource)
    ]
    if missing:
        fix = f"ask for the ClusterRole edit in {client.namespace}"
        return Check("rights", "broken", f"in {client.namespace} you may not {', '.join(missing)}", fix)
    return Check("rights", "ok", f"you may submit, follow and delete jobs in {client.namespace}")


def _part(client: "TrainingClient", part: str, resource: Resource, without: str, fix: str) -> Check:
    try:
        count = len(client.objects.list_all(resource, params={"limit": "500"}))
        return Check(part, "ok", f"{count} {resource.plural} in {client.namespace}")
    except NotFound:
        return Check(part, "off", f"{resource.group} is not served: {without}", fix)
    except Forbidden as error:
        return Check(
            part, "off", f"not allowed: {error.why[:200]}", f"ask for the ClusterRole view in {client.namespace}"
        )
    except KubedlError as error:
        return _failed(part, error)


def _queues(client: "TrainingClient") -> Check:
    try:
        queues = client.objects.list_all(LOCAL_QUEUES)
    except NotFound:
        return Check(
            "queues", "off", "Kueue is not installed: jobs start when there is room", "docs/how-to/queue-jobs.md"
        )
    except KubedlError as error:
        return Check("queues", "off", error.message, f"ask for the right to list {CLUSTER_QUEUES.plural}")
    if not queues:
        return Check("queues", "off", f"{client.namespace} has no queue", "docs/how-to/queue-jobs.md")
    return Check("queues", "ok", ", ".join(one["metadata"]["name"] for one in queues[:10]))


def _gateway(client: "TrainingClient") -> Check:
    served = client.serves("gateway.networking.k8s.io")
    if served:
        return Check("gateway", "ok", "the Gateway API is served")
    words = "the Gateway API is not served: traffic cannot be shared among predictors"
    return Check("gateway", "off", words, "docs/how-to/share-traffic.md")


def _metrics(client: "TrainingClient") -> Check:
    if client.serves("metrics.k8s.io"):
        return Check("metrics", "ok", "the metrics server is there: kubedl top job shows use")
    return Check("metrics", "off", "no metrics server: kubedl top job shows requests only", "install metrics-server")


def _nodes(client: "TrainingClient") -> Check:
    try:
        nodes = client.objects.list_all(NODES)
    except KubedlError:
        return Check("nodes", "off", "nodes: not allowed, so kubedl top node does not work", "ask for list nodes")
    gpus = sum(1 for one in nodes if any(name.endswith("/gpu") for name in _allocatable(one)))
    if not nodes:
        return Check("nodes", "broken", "the cluster has no nodes", "add one")
    return Check("nodes", "ok", f"{len(nodes)} nodes, {gpus} with GPUs")


def _allocatable(node: dict[str, object]) -> dict[str, object]:
    status = node.get("status")
    found = status.get("allocatable") if isinstance(status, dict) else None
    return found if isinstance(found, dict) else {}


def _history(client: "TrainingClient") -> Check:
    if client.history.is_known:
        return Check("history", "ok", "its database is known: kubedl history list")
    return Check("history", "off", "no database is known here", "docs/how-to/keep-history.md")
