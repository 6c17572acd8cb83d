"""Whether a job that nobody has created yet would start: reads nodes, pods, queue and quota."""

from datetime import UTC, datetime
from typing import Any
from urllib.parse import quote

from kubedl.client.job import Job
from kubedl.client.job_lookup import Cluster
from kubedl.client.parallel import run_all
from kubedl.kube import codec
from kubedl.kube.errors import ApiError, ForbiddenError
from kubedl.why.collecting import KUEUE, Collector, holder
from kubedl.why.evidence import DeniedError, Evidence, Part, text_of
from kubedl.why.fitting import Fit, fits
from kubedl.why.fitting_queue import admits, chosen_queue
from kubedl.why.redaction import clean, masked

PAGE, MOST_PAGES = 500, 200
ALIVE = "status.phase!=Succeeded,status.phase!=Failed"


async def check_fit(cluster: Cluster, job: Job) -> Fit:
    """Return whether a job would start now, wait, or never start."""
    evidence = Evidence(datetime.now(UTC), clean(job.manifest), _Source(cluster))
    # As for `explain`: the rules ask while they judge, by calls that block.
    return await cluster.client.in_thread(lambda: admits(evidence) or fits(evidence))


class _Source:
    """Reads parts as `why` does; only that the pods of all nodes are wanted, and the queue may be the default."""

    def __init__(self, cluster: Cluster) -> None:
        self._client = cluster.client.sync
        self._collector = Collector(self._client, run_all)

    def __call__(self, evidence: Evidence, part: Part) -> Any:  # noqa: ANN401 - JSON
        if part == "node_pods":
            return self._pods_by_node()
        if part == "clusterqueue":
            name = quote(text_of(chosen_queue(evidence), "spec", "clusterQueue"), safe="")
            return clean(codec.decode(self._get(f"{KUEUE}/clusterqueues/{name}", {}), dict))
        return self._collector(evidence, part)

    def _pods_by_node(self) -> dict[str, list[Any]]:
        params = {"limit": str(PAGE), "fieldSelector": ALIVE}
        found: dict[str, list[Any]] = {}
        for _ in range(MOST_PAGES):
            page = codec.decode(self._get("/api/v1/pods", params), dict)
            for pod in page.get("items") or ():
                if node := text_of(pod, "spec", "nodeName"):
                    found.setdefault(node, []).append(holder(pod))
            params["continue"] = text_of(page, "metadata", "continue")
            if not params["continue"]:
                break
        return found

    def _get(self, path: str, params: dict[str, str]) -> bytes:
        try:
            return self._client.call("GET", path, params=params)
        except ForbiddenError as error:
            raise DeniedError(f"not allowed ({masked(error.message)[:300]})") from error
        except ApiError as error:
            raise DeniedError(f"no answer ({masked(error.message)[:300]})") from error
