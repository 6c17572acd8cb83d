"""`kubedl top`: use of nodes and jobs."""

from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import click

from kubedl.cli.completing import JobName
from kubedl.cli.lazy_group import group
from kubedl.cli.quantities import amount, shown
from kubedl.cli.rows import condition, name_column, print_rows, since
from kubedl.cli.settings import Settings, declare
from kubedl.cli.table import Column

if TYPE_CHECKING:
    from kubedl.cli.outputs import NodeUse

command = group(
    "top",
    "Use of nodes and jobs.",
    __name__,
    {"node": "GPUs, CPUs and memory that pods of each node have reserved", "job": "What replicas of a job use"},
)
JOB_NAME = "training.kubedl.io/job-name"
MODELS = ("nvidia.com/gpu.product", "amd.com/gpu.product-name")  # labels of nodes
ENDED = ("Succeeded", "Failed")
FORMATS = click.Choice(("json", "yaml"))


@declare("node", short_help="Reserved resources of nodes")
@click.argument("names", metavar="[NODE]...", nargs=-1)
@click.option("-o", "--output", type=FORMATS, help="Another format.")
def node_command(settings: Settings, names: tuple[str, ...], output: str | None) -> None:
    """Show what pods have reserved on each node, and which jobs they belong to."""
    from kubedl.client.objects import NODES, PODS

    with settings.client() as client:
        nodes = [one for one in client.objects.list_all(NODES) if not names or one["metadata"]["name"] in names]
        pods = client.objects.list_all(PODS, all_namespaces=True)
    by_node: dict[str, list[dict[str, Any]]] = {}
    for pod in pods:
        if pod.get("status", {}).get("phase") not in ENDED:
            by_node.setdefault(str(pod["spec"].get("nodeName") or ""), []).append(pod)
    if output:
        from kubedl.cli.outputs import NodeUseList, print_output

        print_output(NodeUseList(items=tuple(_node_use(one, by_node) for one in nodes)), output)
        return
    columns = [name_column("NODE"), Column("STATE"), Column("GPU", right=True), Column("MODEL", rank=2)]
    columns += [Column("CPU", right=True), Column("MEMORY", right=True), Column("PODS", right=True, rank=1)]
    rows = [_node_row(one, by_node.get(one["metadata"]["name"], ())) for one in nodes]
    print_rows(settings, [*columns, Column("JOBS")], rows, "no such nodes" if names else "the cluster has no nodes")


def _node_use(node: Mapping[str, Any], by_node: Mapping[str, Sequence[Mapping[str, Any]]]) -> "NodeUse":
    from kubedl.cli.outputs import NodeUse

    name = node["metadata"]["name"]
    pods = by_node.get(name, ())
    ready = "Ready" if condition(node, "Ready").get("status") == "True" else "NotReady"
    return NodeUse(
        name=name,
        state=f"{ready},cordoned" if node["spec"].get("unschedulable") else ready,
        reserved=_requests(pods),
        allocatable=_amounts((node.get("status") or {}).get("allocatable") or {}),
        model=_model(node),
        pods=len(pods),
        jobs=_jobs(pods),
    )


def _jobs(pods: Iterable[Mapping[str, Any]]) -> dict[str, int]:
    found: dict[str, int] = {}
    for pod in pods:
        if name := (pod["metadata"].get("labels") or {}).get(JOB_NAME):
            found[name] = found.get(name, 0) + 1
    return found


def _model(node: Mapping[str, Any]) -> str:
    labels = node["metadata"].get("labels") or {}
    return next((str(labels[name]) for name in MODELS if name in labels), "")


def _node_row(node: Mapping[str, Any], pods: Sequence[Mapping[str, Any]]) -> list[str]:
    ready = condition(node, "Ready")
    state = "Ready" if ready.get("status") == "True" else f"NotReady {since(ready.get('lastTransitionTime'))}"
    state += ",cordoned" if node["spec"].get("unschedulable") else ""
    room, used = (node.get("status") or {}).get("allocatable") or {}, _requests(pods)
    gpus = [name for name in room if name.endswith("/gpu")]
    return [
        node["metadata"]["name"],
        state,
        "/".join(f"{sum(part.get(name, 0.0) for name in gpus):.0f}" for part in (used, _amounts(room)))
        if gpus
        else "-",
        _model(node) or "-",
        shown("cpu", used.get("cpu", 0.0), amount(room.get("cpu", "0"))),
        shown("memory", used.get("memory", 0.0), amount(room.get("memory", "0"))),
        str(len(pods)),
        ", ".join(f"{name} {count}" for name, count in sorted(_jobs(pods).items())) or "-",
    ]


def _amounts(values: Mapping[str, object]) -> dict[str, float]:
    return {name: amount(value) for name, value in values.items()}


def _requests(pods: Iterable[Mapping[str, Any]]) -> dict[str, float]:
    """Return what pods ask for, as the scheduler counts it: sidecars and overhead too."""
    from kubedl.why.quantities import requests_of, summed

    return dict(sorted(summed(map(requests_of, pods)).items()))


@declare("job", short_help="Use of a job's replicas")
@click.argument("name", metavar="JOB", type=JobName())
@click.option("-o", "--output", type=FORMATS, help="Another format.")
def job_command(settings: Settings, name: str, output: str | None) -> None:
    """Show what each replica of a job has reserved and what it uses. Use needs the metrics server."""
    from kubedl.client import KubedlError
    from kubedl.client.log_sources import pods_of
    from kubedl.client.objects import POD_METRICS, PODS

    with settings.client() as client:
        job = client.get_job(name)
        pods = client.objects.list_all(PODS, params=pods_of(job)[1])
        try:
            measured = client.objects.list_all(POD_METRICS, params={"labelSelector": f"{JOB_NAME}={job.name}"})
        except KubedlError:
            measured = []
            click.echo("use is not shown: the cluster has no metrics server that answers", err=True)
    used = {one["metadata"]["name"]: _used(one) for one in measured}
    if output:
        from kubedl.cli.outputs import ReplicaUse, ReplicaUseList, print_output

        items = [
            ReplicaUse(
                name=pod["metadata"]["name"].removeprefix(f"{job.name}-"),
                node=str(pod["spec"].get("nodeName") or ""),
                reserved=_requests([pod]),
                used=used.get(pod["metadata"]["name"]),
            )
            for pod in pods
        ]
        print_output(ReplicaUseList(items=tuple(items)), output)
        return
    columns = [name_column("REPLICA"), Column("NODE", rank=1), Column("GPU", right=True), Column("CPU", right=True)]
    rows = [_replica_row(job.name, pod, used.get(pod["metadata"]["name"])) for pod in pods]
    print_rows(settings, [*columns, Column("MEMORY", right=True)], sorted(rows), f"{job.name} has no pods")


def _used(metrics: Mapping[str, Any]) -> dict[str, float]:
    total: dict[str, float] = {}
    for container in metrics.get("containers") or ():
        for name, value in (container.get("usage") or {}).items():
            total[name] = total.get(name, 0.0) + amount(value)
    return total


def _replica_row(job: str, pod: Mapping[str, Any], used: Mapping[str, float] | None) -> list[str]:
    wanted = _requests([pod])
    gpus = sum(value for name, value in wanted.items() if name.endswith("/gpu"))
    cells = [
        shown(name, used.get(name, 0.0), wanted.get(name)) if used is not None else shown(name, wanted.get(name, 0.0))
        for name in ("cpu", "memory")
    ]
    name = pod["metadata"]["name"].removeprefix(f"{job}-")
    return [name, str(pod["spec"].get("nodeName") or "-"), f"{gpus:.0f}" if gpus else "-", *cells]
