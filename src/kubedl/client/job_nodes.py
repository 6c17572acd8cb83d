"""On which nodes the pods of jobs are, from the server's table of pods."""

from kubedl.client import tables
from kubedl.client.job_lookup import Cluster
from kubedl.client.replicas import JOB_UID
from kubedl.kube.errors import ApiError

NOWHERE = ("", "<none>")


async def nodes_of_jobs(cluster: Cluster, namespace: str) -> dict[str, list[str]]:
    """Return the nodes by the uid of the job, sorted; of all namespaces, if none is given."""
    path = f"/api/v1/namespaces/{namespace}/pods" if namespace else "/api/v1/pods"
    params = {"limit": str(tables.PAGE), "labelSelector": JOB_UID}
    found: dict[str, set[str]] = {}
    while True:
        try:
            answer = await cluster.client.call("GET", path, params=params, accept=tables.ACCEPT)
        except ApiError as error:
            raise cluster.failed(error, "list pods") from error
        table = cluster.decode(answer, tables.Table)
        place = tables.places(table).get("Node")
        for row in table.rows or ():
            node = str(row.cells[place] or "") if place is not None else ""
            if node not in NOWHERE:
                found.setdefault(row.object.metadata.labels.get(JOB_UID, ""), set()).add(node)
        if not table.metadata.next_page:
            return {uid: sorted(nodes) for uid, nodes in found.items()}
        params["continue"] = table.metadata.next_page
