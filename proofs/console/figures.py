"""The figures of Overview and Nodes beside what kubectl says: `python -m proofs.console.figures`, in Chromium.

Nodes, pods and jobs are objects of a real API server. What nodes have and what is requested of it comes from `kubectl
describe node`; the rest is counted from `kubectl get`. The last line is JSON.
"""

import json
import sys
import tempfile
from collections import Counter
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from fractions import Fraction
from pathlib import Path

from harness.drivers import console_objects
from harness.drivers.api_connection import Connection
from harness.drivers.console_browser import Page, Visit, visit
from harness.drivers.console_objects import EVERYTHING, GPU, Team
from harness.drivers.console_process import ConsoleProcess, rights_everywhere, token_of
from testbed import cluster_lock, namespaces
from testbed.api import Object
from testbed.cluster import Cluster
from testbed.instance import chosen_index
from testbed.waiting import until

NODES = {"fig-a": "8", "fig-b": "8", "fig-c": "4", "fig-d": "0"}  # GPUs
CLOSED = "fig-c"
SUFFIXES: dict[str, Fraction | int] = {"m": Fraction(1, 1000), "": 1, "k": 1000, "Ki": 2**10, "Mi": 2**20, "Gi": 2**30}
NOTHING = "\u2013"  # a dash, in place of 0
Node = tuple[dict[str, Fraction], dict[str, Fraction]]  # what it offers, and what is requested of it
KEYS = {"cpu": "cpu", "memory": "memory", "gpus": GPU}
MILLI = {"cpu": 1000, "memory": 1, "gpus": 1}  # the console counts thousandths of a core


class Book:
    """Figures that were compared."""

    def __init__(self) -> None:
        self.compared, self.wrong = 0, 0

    def same(self, what: str, shown: object, true: object) -> None:
        """Compare one."""
        self.compared += 1
        if shown != true:
            self.wrong += 1
            print(f"{what}: the console has {shown!r}, kubectl {true!r}", file=sys.stderr)


def main() -> int:
    """Print how many figures differ."""
    book = Book()
    with (
        cluster_lock.borrowed(Cluster(chosen_index())) as cluster,
        cluster_lock.turn(cluster, alone=True),  # nodes of others would come and go
        Connection(cluster) as connection,
        namespaces.fresh(cluster.api, "figures") as namespace,
        rights_everywhere(cluster, namespace, "ada", *EVERYTHING),
        prepared(cluster, connection, namespace),
        tempfile.TemporaryDirectory(prefix="kubedl-console-figures-") as directory,
        ConsoleProcess(cluster, Path(directory)) as console,
    ):
        token = token_of(cluster, namespace, "ada")
        until("the pods", lambda: console.get("/api/v1/nodes/fig-a", token).json()["pods"], deadline=60)
        pods = [Visit(f"/nodes/{name}", "Conditions") for name in NODES]
        seen = visit(console, token, [Visit("/", "Running jobs"), Visit("/nodes", "Held by"), *pods])
        described = {name: described_node(cluster, name) for name in names(cluster)}
        capacity = console.get("/api/v1/capacity", token).json()
        compare_capacity(book, capacity, described, cluster)
        rows = {row["name"]: row for row in console.get("/api/v1/nodes", token).json()["rows"]}
        book.same("names of nodes", sorted(rows), sorted(described))
        for name, (offered, requested) in described.items():
            for key, resource in KEYS.items():
                book.same(f"{name} {key}", rows[name][key]["total"], offered.get(resource, 0) * MILLI[key])
                book.same(
                    f"{name} {key} requested", rows[name][key]["requested"], requested.get(resource, 0) * MILLI[key]
                )
        compare_pages(book, seen.pages, cluster, capacity)
    print(json.dumps({"compared": book.compared, "wrong": book.wrong, "errors": len(seen.errors)}))
    return 0


def compare_capacity(
    book: Book,
    capacity: Object,
    described: Mapping[str, Node],
    cluster: Cluster,
) -> None:
    """Free is what is left on nodes that take pods."""
    open_ones = {one["metadata"]["name"] for one in _get(cluster, "nodes") if takes_pods(one)}
    for key, resource in KEYS.items():
        total = sum(offered.get(resource, 0) for offered, _ in described.values())
        free = sum(
            max(0, offered.get(resource, 0) - requested.get(resource, 0))
            for name, (offered, requested) in described.items()
            if name in open_ones
        )
        book.same(f"{key} total", capacity[key]["total"], total * MILLI[key])
        book.same(f"{key} free", capacity[key]["free"], free * MILLI[key])
    book.same("nodes", (capacity["nodes"], capacity["closedNodes"]), (len(described), len(described) - len(open_ones)))


def compare_pages(book: Book, pages: tuple[Page, ...], cluster: Cluster, capacity: Object) -> None:
    """What the browser shows."""
    overview, nodes, *single = pages
    jobs = _get(cluster, "pytorchjobs")
    gpus = capacity["gpus"]
    book.same("GPUs on the page", f"{gpus['free']} free of {gpus['total']}" in _line(overview.sections["GPUs"]), True)
    users = Counter(one["metadata"]["annotations"]["kubedl.io/user"] for one in jobs)
    shown = {row[0]: int(row[1]) for row in overview.table("Jobs by user")}
    book.same("jobs by user", shown, dict(users))
    running = {one["metadata"]["name"]: asked_gpus(one) for one in jobs if one["status"]["state"] == "Running"}
    found = {
        row[0].split("/")[-1].strip(): (int(row[2].replace(NOTHING, "0")), row[3])
        for row in overview.table("Running jobs")
    }
    true = {name: (count, f"{100 * count / gpus['total']:.1f} %") for name, count in running.items()}
    book.same("running jobs with their share", found, true)
    alive = [one for one in _get(cluster, "pods") if one["status"]["phase"] not in ("Succeeded", "Failed")]
    on = Counter(one["spec"].get("nodeName", "") for one in alive)
    shown = {row[0].split()[0]: int(row[-1]) for row in nodes.table("Nodes")}
    book.same("pods of nodes", shown, {name: on[name] for name in shown})
    for page, name in zip(single, NODES, strict=True):
        listed = sorted(row[0].split("/")[-1].strip() for row in page.table("Pods"))
        book.same(
            f"pods on {name}",
            listed,
            sorted(pod["metadata"]["name"] for pod in alive if pod["spec"].get("nodeName") == name),
        )


def asked_gpus(job: Object) -> int:
    """GPUs of all replicas."""
    roles = job["spec"]["pytorchReplicaSpecs"].values()
    return sum(
        role.get("replicas", 1) * int(container.get("resources", {}).get("requests", {}).get(GPU, 0))
        for role in roles
        for container in role["template"]["spec"]["containers"]
    )


def described_node(cluster: Cluster, name: str) -> Node:
    """What a node offers and what is requested of it, as `kubectl describe` says."""
    sections: dict[str, list[str]] = {}
    title = ""
    for line in cluster.kubectl("describe", "node", name).splitlines():
        if line and not line.startswith(" "):
            title = line.partition(":")[0]
        else:
            sections.setdefault(title, []).append(line)
    offered = {
        key.strip(): number(value) for key, _, value in (line.partition(":") for line in sections["Allocatable"])
    }
    requested = {
        words[0]: number(words[1])
        for line in sections["Allocated resources"]
        if len(words := line.split()) > 2 and words[1][0].isdigit()
    }
    return offered, requested


def takes_pods(node: Object) -> bool:
    """Whether a node is ready and not cordoned."""
    ready = any(one["type"] == "Ready" and one["status"] == "True" for one in node["status"].get("conditions", ()))
    return ready and not node["spec"].get("unschedulable", False)


def names(cluster: Cluster) -> list[str]:
    """Of all nodes."""
    return [one["metadata"]["name"] for one in _get(cluster, "nodes")]


def _get(cluster: Cluster, kind: str) -> list[Object]:
    scope = () if kind == "nodes" else ("--all-namespaces",)
    found: list[Object] = json.loads(cluster.kubectl("get", kind, *scope, "-o", "json"))["items"]
    return found


def number(text: str) -> Fraction:
    """A quantity as kubectl writes it."""
    digits = text.strip().rstrip("kKMGim")
    return Fraction(digits) * SUFFIXES[text.strip()[len(digits) :]]


def _line(text: str) -> str:
    return " ".join(text.split())


@contextmanager
def prepared(cluster: Cluster, connection: Connection, namespace: str) -> Iterator[None]:
    """Nodes with pods of jobs and of others, of which some have ended or wait."""
    console_objects.define(cluster)
    team = Team(connection, namespace)
    offers = {name: {"cpu": "32", "memory": "256Gi", "gpu": gpus} for name, gpus in NODES.items()}
    with console_objects.nodes(connection, offers, (CLOSED,)):
        bert = team.job(
            "bert", user="mei.lin", replicas=2, status={"state": "Running"}, cpu="4", memory="32Gi", gpu="4"
        )
        for index, name in enumerate(("fig-a", "fig-b")):
            team.pod(f"bert-worker-{index}", bert, name, cpu="4", memory="32Gi", gpu="4")
        vit = team.job("vit", user="tomas.k", status={"state": "Running"}, cpu="1500m", memory="3Gi", gpu="1")
        team.pod("vit-worker-0", vit, "fig-c", cpu="1500m", memory="3Gi", gpu="1")
        done = team.job("sweep", user="mei.lin", status={"state": "Succeeded"}, cpu="2", gpu="2")
        team.pod("sweep-worker-0", done, "fig-a", "Succeeded", cpu="2", memory="1Gi", gpu="2")
        team.job("waits", user="priya.n", status={"state": "Queuing"}, gpu="8")
        team.pod("waits-worker-0", None, "", "Pending", gpu="8")
        team.pod("of-nobody", None, "fig-d", cpu="250m", memory="500Mi")
        team.pod("too-early", None, "fig-d", "Pending", cpu="1", memory="1Gi")
        yield


if __name__ == "__main__":
    sys.exit(main())
