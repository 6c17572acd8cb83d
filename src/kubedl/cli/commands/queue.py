"""`kubedl queue`: queues of Kueue."""

from collections.abc import Iterable, Mapping
from typing import Any

import click

from kubedl.cli.lazy_group import group
from kubedl.cli.quantities import amount, shown
from kubedl.cli.rows import FORMATS, condition, name_column, print_objects, print_rows, since
from kubedl.cli.settings import Settings, declare
from kubedl.cli.table import Column

command = group(
    "queue",
    "Queues of Kueue: what they have, who uses it, and who waits.",
    __name__,
    {"list": "List the queues of the namespace", "get": "Show who is in a queue, and who is before whom"},
)
QUEUE_LABEL = "kueue.x-k8s.io/queue-name"
GPUS = ("nvidia.com/gpu", "amd.com/gpu")


@declare("list", short_help="List queues")
@click.option("-A", "--all-namespaces", is_flag=True, help="Queues of all namespaces.")
@click.option("-o", "--output", type=FORMATS, help="Another format.")
def list_command(settings: Settings, all_namespaces: bool, output: str | None) -> None:
    """List queues: what is used of their quota, how many jobs run and wait, and the longest wait."""
    from kubedl.client import Forbidden
    from kubedl.client.objects import CLUSTER_QUEUES, LOCAL_QUEUES, WORKLOADS

    with settings.client() as client:
        objects = client.objects
        queues = _served(objects.list_if_served(LOCAL_QUEUES, all_namespaces=all_namespaces))
        if output:
            print_objects(queues, output, "localqueue")
            return
        workloads = objects.list_all(WORKLOADS, all_namespaces=all_namespaces) if queues else []
        try:
            shared = {one["metadata"]["name"]: one for one in objects.list_all(CLUSTER_QUEUES)} if queues else {}
        except Forbidden as error:
            shared = {}
            click.echo(f"cluster queues: not allowed, so quota is not shown ({error.why})", err=True)
    columns = [name_column("QUEUE"), Column("GPU", right=True), Column("CPU", right=True), Column("MEMORY", right=True)]
    columns += [Column("RUNNING", right=True), Column("WAITING", right=True), Column("LONGEST", right=True, rank=1)]
    rows = [_row(one, shared.get(one["spec"]["clusterQueue"]), workloads) for one in queues]
    place = "any namespace" if all_namespaces else client.namespace
    print_rows(settings, [*columns, Column("WHAT")], rows, f"no queues in {place} (Kueue's LocalQueues)")


def _served(queues: list[dict[str, Any]]) -> list[dict[str, Any]]:
    return sorted(queues, key=lambda one: (one["metadata"]["namespace"], one["metadata"]["name"]))


def _row(queue: Mapping[str, Any], shared: Mapping[str, Any] | None, workloads: list[dict[str, Any]]) -> list[str]:
    own = [one for one in workloads if _is_in(one, queue)]
    waiting = [one for one in own if not _admitted(one) and not _finished(one)]
    used, quota = _usage(shared), _quota(shared)
    cells = [_share(used, quota, names) for names in (GPUS, ("cpu",), ("memory",))]
    oldest = min((str(one["metadata"]["creationTimestamp"]) for one in waiting), default=None)
    active = condition(queue, "Active")
    what = str(active.get("message") or "") if active.get("status") == "False" else ""
    running = sum(_admitted(one) and not _finished(one) for one in own)
    return [queue["metadata"]["name"], *cells, str(running), str(len(waiting)), since(oldest), what]


def _is_in(workload: Mapping[str, Any], queue: Mapping[str, Any]) -> bool:
    meta = queue["metadata"]
    same = workload["metadata"]["namespace"] == meta["namespace"]
    return bool(same and workload["spec"].get("queueName") == meta["name"])


def _admitted(workload: Mapping[str, Any]) -> bool:
    return bool(condition(workload, "Admitted").get("status") == "True")


def _finished(workload: Mapping[str, Any]) -> bool:
    return bool(condition(workload, "Finished").get("status") == "True")


def _usage(shared: Mapping[str, Any] | None) -> dict[str, float]:
    found: dict[str, float] = {}
    for flavor in ((shared or {}).get("status") or {}).get("flavorsUsage") or ():
        for one in flavor.get("resources") or ():
            found[one["name"]] = found.get(one["name"], 0.0) + amount(one.get("total", "0"))
    return found


def _quota(shared: Mapping[str, Any] | None) -> dict[str, float]:
    found: dict[str, float] = {}
    for part in ((shared or {}).get("spec") or {}).get("resourceGroups") or ():
        for flavor in part.get("flavors") or ():
            for one in flavor.get("resources") or ():
                found[one["name"]] = found.get(one["name"], 0.0) + amount(one.get("nominalQuota", "0"))
    return found


def _share(used: Mapping[str, float], quota: Mapping[str, float], names: Iterable[str]) -> str:
    known = [name for name in names if name in quota]
    if not known:
        return "-"
    total, taken = sum(quota[name] for name in known), sum(used.get(name, 0.0) for name in known)
    return shown(known[0], taken, total)


@declare("get", short_help="Show who is in a queue")
@click.argument("name", metavar="QUEUE")
@click.option("-o", "--output", type=FORMATS, help="Its Workloads, for programs.")
def get_command(settings: Settings, name: str, output: str | None) -> None:
    """Show the line of a queue: who runs, then who waits, in the order in which Kueue tries them.

    The order is priority, then time; with several namespaces in one ClusterQueue, others may be between.
    """
    from kubedl.client.objects import LOCAL_QUEUES, WORKLOADS

    with settings.client() as client:
        queue = client.objects.get(LOCAL_QUEUES, name)
        found = [one for one in client.objects.list_all(WORKLOADS) if _is_in(one, queue) and not _finished(one)]
    found.sort(key=lambda one: (not _admitted(one), -int(one["spec"].get("priority") or 0), _since(one)))
    if output:
        print_objects(found, output, "workload")
        return
    columns = [
        Column("#", right=True),
        name_column("JOB"),
        Column("STATE"),
        Column("WANTS"),
        Column("PRIORITY", rank=1),
    ]
    columns += [Column("SINCE", right=True), Column("WHAT")]
    rows, place = [], 0
    for one in found:
        place += not _admitted(one)
        rows.append(_line(one, place))
    print_rows(settings, columns, rows, f"nobody is in {name}")


def _since(workload: Mapping[str, Any]) -> str:
    return str(workload["metadata"]["creationTimestamp"])


def _line(workload: Mapping[str, Any], place: int) -> list[str]:
    owner = next(iter(workload["metadata"].get("ownerReferences") or ()), None)
    job = f"{owner['kind'].lower()}/{owner['name']}" if owner else workload["metadata"]["name"]
    admitted, reserved = _admitted(workload), condition(workload, "QuotaReserved")
    what = "" if admitted else str(reserved.get("message") or "")
    priority = str(workload["spec"].get("priorityClassRef", {}).get("name") or workload["spec"].get("priority") or "-")
    state = "Running" if admitted else "Waiting"
    return ["-" if admitted else str(place), job, state, _wants(workload), priority, since(_since(workload)), what]


def _wants(workload: Mapping[str, Any]) -> str:
    total: dict[str, float] = {}
    for part in workload["spec"].get("podSets") or ():
        for container in part["template"]["spec"].get("containers") or ():
            resources = container.get("resources") or {}
            wanted = {**(resources.get("limits") or {}), **(resources.get("requests") or {})}
            for name, value in wanted.items():
                total[name] = total.get(name, 0.0) + amount(value) * int(part.get("count", 1))
    names = sorted(total, key=lambda one: (one not in GPUS, one))
    return ", ".join(f"{shown(name, total[name])} {'GPU' if name in GPUS else name}" for name in names) or "-"
