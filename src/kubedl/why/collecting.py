"""Collects evidence from the API server, with the rights of the caller: a part at a time, each with a bound."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Protocol
from urllib.parse import quote

from kubedl.kube import codec
from kubedl.kube.errors import ApiError, ForbiddenError, NotFoundError, UnauthorizedError
from kubedl.why.evidence import DeniedError, Evidence, Object, Part, items_of, part_of, text_of
from kubedl.why.facts import containers, is_ready, name_of, phase_of
from kubedl.why.quantities import requests_of
from kubedl.why.redaction import clean, masked
from kubedl.why.rules.fit import unplaced
from kubedl.why.rules.queue import queue_of
from kubedl.why.rules.serve import VERSION

MOST_PODS, MOST_EVENTS, MOST_OBJECTS = 500, 200, 500
PAGE, MOST_NODES = 500, 10_000  # with some of the nodes only, nothing can be said about all of them
ASKED_PODS = 4  # whose events and logs are read
ASKED_NODES = 8  # whose pods are read
LINES, MOST_BYTES = 200, 256 * 1024
LONGEST_LINE = 500
KUEUE = "/apis/kueue.x-k8s.io/v1beta2"
MODELS = "/apis/model.kubedl.io/v1alpha1"
LEASES = "/apis/coordination.k8s.io/v1/leases"
OPERATOR = "kubedl-operator"
LABELS = {
    "job": "training.kubedl.io/job-uid={uid}",
    "model": "model.kubedl.io/version-uid={uid}",
    "inference": "serving.kubedl.io/inference={name}",
}
Together = Callable[[Sequence[Callable[[], Any]]], list[Any]]


class Reader(Protocol):
    """Whoever sends requests for the caller; threads may share it."""

    def call(self, method: str, path: str, *, params: Mapping[str, str]) -> bytes:
        """Send a request and return the body of a successful response; raises ApiError otherwise."""


class Collector:
    """Reads the parts of the evidence about one object."""

    def __init__(self, client: Reader, together: Together) -> None:
        """`together` makes several calls at once, and returns their results in order."""
        self._client = client
        self._together = together

    def __call__(self, evidence: Evidence, part: Part) -> Any:  # noqa: ANN401 - JSON
        """Return a part. Raises DeniedError if it may not be read, or is not there to be read."""
        return _READERS[part](self, evidence)

    def _get(self, path: str, **params: str) -> Any:  # noqa: ANN401 - JSON
        try:
            answer = self._client.call("GET", path, params=params)
            return codec.decode(answer, dict)
        except (ForbiddenError, UnauthorizedError) as error:
            raise DeniedError(f"not allowed ({masked(error.message)[:300]})") from error
        except NotFoundError as error:
            raise DeniedError("not there") from error
        except ApiError as error:
            raise DeniedError(f"no answer ({masked(error.message)[:300]})") from error
        except codec.UNREADABLE as error:
            raise DeniedError("the answer cannot be read") from error

    def _list(self, path: str, most: int, **params: str) -> list[Any]:
        found = self._get(path, limit=str(most), **params).get("items")
        return [clean(one) for one in found[:most]] if isinstance(found, list) else []

    def pods(self, evidence: Evidence) -> list[Any]:
        if evidence.subject not in LABELS:
            return []
        selector = LABELS[evidence.subject].format(uid=text_of(evidence.metadata, "uid"), name=evidence.name)
        return self._list(_in(evidence, "pods"), MOST_PODS, labelSelector=selector)

    def events(self, evidence: Evidence) -> list[Any]:
        """Events of the object, and of the first pods that are not ready: each a request by uid."""
        waiting = [pod for pod in evidence.pods if not is_ready(pod) and phase_of(pod) != "Succeeded"]
        uids = [text_of(one, "metadata", "uid") for one in (evidence.manifest, *waiting[:ASKED_PODS])]
        return self._events(evidence, [uid for uid in uids if uid])

    def _events(self, evidence: Evidence, uids: Sequence[str]) -> list[Any]:
        path = _in(evidence, "events")

        def ask(uid: str) -> list[Any]:
            return self._list(path, MOST_EVENTS, fieldSelector=f"involvedObject.uid={uid}")

        found = self._together([lambda uid=uid: ask(uid) for uid in uids])  # type: ignore[misc]
        return sorted((one for page in found for one in page), key=_time)

    def workload(self, evidence: Evidence) -> Any:  # noqa: ANN401
        uid = text_of(evidence.metadata, "uid")
        path = f"{KUEUE}/namespaces/{evidence.namespace}/workloads"
        found = self._list(path, 2, labelSelector=f"kueue.x-k8s.io/job-uid={uid}")
        return found[0] if found else {}

    def localqueues(self, evidence: Evidence) -> list[Any]:
        return self._list(f"{KUEUE}/namespaces/{evidence.namespace}/localqueues", MOST_OBJECTS)

    def clusterqueue(self, evidence: Evidence) -> Any:  # noqa: ANN401
        name = quote(queue_of(evidence), safe="")
        local = self._get(f"{KUEUE}/namespaces/{evidence.namespace}/localqueues/{name}")
        cluster = quote(text_of(local, "spec", "clusterQueue"), safe="")
        return clean(self._get(f"{KUEUE}/clusterqueues/{cluster}"))

    def quotas(self, evidence: Evidence) -> list[Any]:
        return self._list(_in(evidence, "resourcequotas"), MOST_OBJECTS)

    def nodes(self, _: Evidence) -> list[Any]:
        found: list[Any] = []
        after: dict[str, str] = {}
        while len(found) < MOST_NODES:
            page = self._get("/api/v1/nodes", limit=str(PAGE), **after)
            found += [_node(clean(one)) for one in items_of(page, "items")]
            after = {"continue": text_of(page, "metadata", "continue")}
            if not after["continue"]:
                return found
        raise DeniedError(f"there are more than {MOST_NODES}")

    def node_pods(self, evidence: Evidence) -> dict[str, list[Any]]:
        """Pods on the nodes that have most of what the first waiting pod lacks."""
        lacking = unplaced(evidence)
        if lacking is None or not lacking.short_of:
            return {}
        resource = lacking.short_of[0]
        have = [one for one in evidence.listed("nodes") if resource in part_of(one, "allocatable")]
        have.sort(key=lambda one: (-_amount(one, resource), text_of(one, "name")))
        names = [text_of(one, "name") for one in have[:ASKED_NODES]]

        def ask(name: str) -> list[Any]:
            selection = f"spec.nodeName={name},status.phase!=Succeeded,status.phase!=Failed"
            return [holder(pod) for pod in self._list("/api/v1/pods", MOST_PODS, fieldSelector=selection)]

        found = self._together([lambda name=name: ask(name) for name in names])  # type: ignore[misc]
        return dict(zip(names, found, strict=True))

    def claims(self, evidence: Evidence) -> list[Any]:
        return self._list(_in(evidence, "persistentvolumeclaims"), MOST_OBJECTS)

    def claim_events(self, evidence: Evidence) -> list[Any]:
        pending = [one for one in evidence.listed("claims") if text_of(one, "status", "phase") == "Pending"]
        return self._events(evidence, [text_of(one, "metadata", "uid") for one in pending[:ASKED_PODS]])

    def lease(self, evidence: Evidence) -> list[Any]:
        """Leases of operators for all namespaces, and for this one."""
        found = []
        for name in (OPERATOR, f"{OPERATOR}-{evidence.namespace}"):
            found += self._list(LEASES, MOST_OBJECTS, fieldSelector=f"metadata.name={name}")
        return found

    def logs(self, evidence: Evidence) -> dict[str, Any]:
        """The last lines of the pods that say most: those that failed, then those that run."""
        spoken = [
            pod
            for pod in evidence.pods
            if any(part_of(one.status, "state", "running") or one.ended for one in containers(pod))
        ]
        chosen = sorted(spoken, key=lambda pod: (phase_of(pod) != "Failed", is_ready(pod), name_of(pod)))[:ASKED_PODS]
        read = self._together([lambda pod=pod: self._log(evidence, pod) for pod in chosen])  # type: ignore[misc]
        found: dict[str, Any] = {name_of(pod): lines for pod, (lines, _) in zip(chosen, read, strict=True)}
        found["_last"] = {name_of(pod): last for pod, (_, last) in zip(chosen, read, strict=True) if last}
        return found

    def _log(self, evidence: Evidence, pod: Object) -> tuple[list[str], str]:
        """Return the last lines, and the time of the last one."""
        main = items_of(pod, "spec", "containers")
        name = text_of(main[0], "name") if main else ""
        crashed = any(one.waiting == "CrashLoopBackOff" and one.name in (name, "") for one in containers(pod))
        params = {"tailLines": str(LINES), "limitBytes": str(MOST_BYTES), "timestamps": "true"}
        params |= {"container": name} if main else {}
        params |= {"previous": "true"} if crashed else {}
        path = f"{_in(evidence, 'pods')}/{quote(name_of(pod), safe='')}/log"
        try:
            answer = self._client.call("GET", path, params=params)
        except ForbiddenError as error:
            raise DeniedError(f"not allowed ({masked(error.message)[:300]})") from error
        except ApiError:
            return [], ""  # the node has no such log any more
        lines = [line.partition(" ") for line in answer.decode(errors="replace").splitlines()[-LINES:]]
        return [masked(text[:LONGEST_LINE]) for _, _, text in lines], lines[-1][0] if lines else ""

    def version(self, evidence: Evidence) -> Any:  # noqa: ANN401
        """The ModelVersion of a job, or the one that a predictor waits for."""
        name = text_of(evidence.status, "modelVersionName")
        for one in items_of(evidence.status, "predictorStatuses"):
            if one.get("reason") in VERSION:
                name = name or text_of(one, "modelVersion")
        if not name:
            raise DeniedError("no version is named")
        return clean(self._get(f"{MODELS}/namespaces/{evidence.namespace}/modelversions/{quote(name, safe='')}"))


def _in(evidence: Evidence, plural: str) -> str:
    return f"/api/v1/namespaces/{evidence.namespace}/{plural}"


def _time(event: Object) -> str:
    return text_of(event, "lastTimestamp") or text_of(event, "eventTime") or text_of(event, "firstTimestamp")


def _amount(node: Object, resource: str) -> float:
    return requests_of({"spec": {"containers": [{"resources": {"limits": part_of(node, "allocatable")}}]}})[resource]


def _node(node: Object) -> dict[str, Any]:
    """Return what rules read of a node."""
    conditions = items_of(node, "status", "conditions")
    ready: Mapping[str, Any] = next((one for one in conditions if one.get("type") == "Ready"), {})
    return {
        "name": text_of(node, "metadata", "name"),
        "labels": dict(part_of(node, "metadata", "labels")),
        "taints": items_of(node, "spec", "taints"),
        "unschedulable": part_of(node, "spec").get("unschedulable") is True,
        "allocatable": dict(part_of(node, "status", "allocatable")),
        "ready": text_of(ready, "status"),
        "since": text_of(ready, "lastTransitionTime"),
    }


def holder(pod: Object) -> dict[str, Any]:
    """Return who a pod is and what it asks for."""
    owners = items_of(pod, "metadata", "ownerReferences")
    wants = [{"resources": part_of(one, "resources")} for one in items_of(pod, "spec", "containers")]
    first = [
        {"resources": part_of(one, "resources"), "restartPolicy": text_of(one, "restartPolicy")}
        for one in items_of(pod, "spec", "initContainers")
    ]
    others = {"initContainers": first, "overhead": part_of(pod, "spec", "overhead")}
    return {
        "name": name_of(pod),
        "namespace": text_of(pod, "metadata", "namespace"),
        "owner": text_of(owners[0], "name") if owners else "",
        "spec": {"containers": wants, **{name: value for name, value in others.items() if value}},
    }


_READERS: Mapping[str, Callable[[Collector, Evidence], Any]] = {
    "pods": Collector.pods,
    "events": Collector.events,
    "workload": Collector.workload,
    "localqueues": Collector.localqueues,
    "clusterqueue": Collector.clusterqueue,
    "quotas": Collector.quotas,
    "nodes": Collector.nodes,
    "node_pods": Collector.node_pods,
    "claims": Collector.claims,
    "claim_events": Collector.claim_events,
    "lease": Collector.lease,
    "logs": Collector.logs,
    "version": Collector.version,
}
