"""Two real nodes do what a real cluster does: names, addresses, logs, volumes, limits, collectives."""

from pathlib import Path

from testbed.http import answers
from testbed.waiting import until
from tests.builders import headless_service, pod, service
from tests.e2e.workspace import Workspace

SERVER = ("python3", "-m", "http.server", "8000", "--directory", "/etc")
# A container runs before its server listens, and a Service exists before kube-proxy knows it.
FETCH = """
import sys, time, urllib.request
end = time.monotonic() + 120
while True:
    try:
        sys.exit(print(urllib.request.urlopen(sys.argv[1], timeout=5).read().decode(), end=""))
    except OSError:
        if time.monotonic() > end:
            raise
        time.sleep(0.1)
"""
ALL_REDUCE = """
import torch, torch.distributed as group
group.init_process_group("gloo")
rank = group.get_rank()
tensor = torch.full((1000,), float(rank + 1))
group.all_reduce(tensor)
print("sum", tensor[0].item(), "of", group.get_world_size(), flush=True)
group.destroy_process_group()
"""


def test_pods_reach_each_other_across_nodes_by_name(workspace: Workspace, base_image: str) -> None:
    """hostname + subdomain + headless Service is how replicas of a job will find each other."""
    workspace.create("services", headless_service("peers"))
    workspace.start(
        pod("a", base_image).on("node1").named_in("peers").running(*SERVER),
        pod("b", base_image).on("node2").named_in("peers").running("sleep", "600"),
    )
    workspace.running("a", "b")
    address = f"http://a.peers.{workspace.namespace}.svc.cluster.local:8000/hostname"
    assert workspace.execute("b", "python3", "-c", FETCH, "http://a.peers:8000/hostname").strip() == "a"
    assert workspace.execute("b", "python3", "-c", FETCH, address).strip() == "a"


def test_a_service_address_leads_to_its_pod(workspace: Workspace, base_image: str) -> None:
    """kube-proxy carries a ClusterIP from another node, from the pod itself and from the root namespace."""
    address = workspace.create("services", service("web", 80, 8000))["spec"]["clusterIP"]
    workspace.start(
        pod("server", base_image).on("node1").labelled(service="web").running(*SERVER),
        pod("client", base_image).on("node2").running("sleep", "600"),
    )
    workspace.running("server", "client")
    for caller in ("client", "server"):
        assert workspace.execute(caller, "python3", "-c", FETCH, f"http://{address}/hostname").strip() == "server"
    assert until("the address from outside the nodes", lambda: answers(f"http://{address}/hostname"), deadline=120)


def test_logs_and_exec(workspace: Workspace, base_image: str) -> None:
    """The API server reaches the kubelets and their containers."""
    workspace.start(pod("talker", base_image).running("sh", "-c", "echo said to the log; sleep 600"))
    workspace.running("talker")
    until("its words", lambda: workspace.heard("talker") == "said to the log\n", deadline=120)
    assert workspace.execute("talker", "id", "-u") == "1000\n"


def test_an_image_volume_is_pulled_and_read_only(workspace: Workspace, base_image: str, tmp_path: Path) -> None:
    """An OCI image from the test registry becomes a directory: how model images will be served."""
    (tmp_path / "weights.txt").write_text("0.25 0.75\n")
    cluster = workspace.cluster
    reference = cluster.images.push_directory(tmp_path, "data", workspace.namespace, cluster.instance.registry)
    read = "cat /model/weights.txt; touch /model/new 2>&1 || true"
    workspace.start(pod("reader", base_image).mounting_image(reference, "/model").running("sh", "-c", read))
    workspace.succeeded("reader")
    said = workspace.logs("reader")
    assert said.startswith("0.25 0.75\n")
    assert "Read-only file system" in said


def test_a_memory_limit_kills(workspace: Workspace, base_image: str) -> None:
    """The kernel ends a container at its limit and the kubelet says why."""
    greedy = ("python3", "-c", "block = bytearray(256 << 20); print(sum(block[::4096]))")
    workspace.start(pod("greedy", base_image).limited(memory="64Mi").running(*greedy))
    state = workspace.ended("greedy")
    assert (state["reason"], state["exitCode"]) == ("OOMKilled", 137)


def test_torch_sums_across_two_nodes(workspace: Workspace, torch_image: str) -> None:
    """A real collective over gloo: 1 + 2 on two nodes is 3 on both."""
    workspace.create("services", headless_service("ranks"))
    for rank, node in enumerate(("node1", "node2")):
        variables = {"RANK": str(rank), "WORLD_SIZE": "2", "MASTER_ADDR": "rank-0.ranks", "MASTER_PORT": "29500"}
        replica = pod(f"rank-{rank}", torch_image).on(node).named_in("ranks").environment(**variables)
        workspace.start(replica.running("python3", "-c", ALL_REDUCE))
    workspace.succeeded("rank-0", "rank-1", deadline=240)
    for rank in (0, 1):
        assert "sum 3.0 of 2" in workspace.logs(f"rank-{rank}")
        assert workspace.pod(f"rank-{rank}")["spec"]["nodeName"] == f"node{rank + 1}"
