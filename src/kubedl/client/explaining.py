"""Why an object does not do what it should: finds it by name, and asks the rules of `kubedl.why`."""

from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Any
from urllib.parse import quote

from kubedl.client.errors import Forbidden, NotFound
from kubedl.client.history_operations import HistoryOperations
from kubedl.client.job_lookup import Cluster
from kubedl.client.parallel import run_all
from kubedl.kube.errors import ApiError, NotFoundError
from kubedl.why.collecting import Collector
from kubedl.why.evidence import Evidence
from kubedl.why.judging import Diagnosis, judge
from kubedl.why.redaction import clean
from kubedl.why.rules import ALL

# Objects that are no jobs: words for them, and where they are.
OTHERS: Mapping[str, tuple[tuple[str, ...], str, str]] = {
    "Inference": (("inference", "inferences", "inf", "serve"), "/apis/serving.kubedl.io/v1alpha1", "inferences"),
    "ModelVersion": (
        ("modelversion", "modelversions", "mv", "model"),
        "/apis/model.kubedl.io/v1alpha1",
        "modelversions",
    ),
    "Cron": (("cron", "crons"), "/apis/apps.kubedl.io/v1alpha1", "crons"),
}


async def explain(
    cluster: Cluster, name: str, namespace: str, *, ask_all: bool = False, history: HistoryOperations | None = None
) -> tuple[Evidence, Diagnosis]:
    """Return why an object waits, failed or is slow, with the evidence for it. Raises NotFound.

    A job that was deleted is looked up in the history, if there is one.
    """
    try:
        found = await find(cluster, name, namespace)
    except NotFound:
        gone = await _of_the_past(cluster, name, namespace, history) if history is not None else None
        if gone is None:
            raise
        return gone, judge(gone, ALL, ask_all=ask_all)
    evidence = Evidence(datetime.now(UTC), clean(found), Collector(cluster.client.sync, run_all))
    # Rules ask for evidence while they judge, by calls that block: in an event loop all of it is one thread's work.
    return evidence, await cluster.client.in_thread(lambda: judge(evidence, ALL, ask_all=ask_all))


async def _of_the_past(cluster: Cluster, name: str, namespace: str, history: HistoryOperations) -> Evidence | None:
    from kubedl.client.gone_evidence import find_evidence  # noqa: PLC0415 - jobs are seldom gone

    word, slash, plain = name.rpartition("/")
    if not history.is_known or any(word.lower() in words for words, _, _ in OTHERS.values()):
        return None
    kind = (await cluster.kind(word)).kind if slash else ""
    return await find_evidence(history, plain, namespace, kind)


async def find(cluster: Cluster, name: str, namespace: str) -> Mapping[str, Any]:
    """Return the object that a name means: a job, or else an Inference, a ModelVersion or a Cron."""
    word, slash, rest = name.partition("/")
    kinds = [kind for kind, (words, _, _) in OTHERS.items() if word.lower() in words] if slash else []
    if kinds:
        manifest = await _get(cluster, kinds[0], namespace, rest)
        if manifest is None:
            raise NotFound(f"there is no {kinds[0]} called {rest} in {namespace}", next=("kubedl why KIND/NAME",))
        return manifest
    try:
        return (await cluster.find(name, namespace))[1].manifest
    except (NotFound, Forbidden):
        if slash:
            raise
        for kind in OTHERS:
            try:
                manifest = await _get(cluster, kind, namespace, name)
            except Forbidden:  # whoever may not read them does not mean one
                continue
            if manifest is not None:
                return manifest
        raise


async def _get(cluster: Cluster, kind: str, namespace: str, name: str) -> Mapping[str, Any] | None:
    _, group, plural = OTHERS[kind]
    path = f"{group}/namespaces/{namespace}/{plural}/{quote(name, safe='')}"
    try:
        found: Mapping[str, Any] = cluster.decode(await cluster.client.call("GET", path), dict)
    except NotFoundError:
        return None
    except ApiError as error:
        raise cluster.failed(error, f"get {kind.lower()}/{name}") from error
    return {**found, "kind": kind}
