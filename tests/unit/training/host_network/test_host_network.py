"""Jobs on the host network: which pods and Services are created, what each replica is told, and what a move changes."""

import asyncio
import json
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import pytest

from harness.fakes.api_server import with_metadata
from kubedl.api.conditions import find
from kubedl.kube.types.core import PODS, SERVICES, ServicePort, ServiceSpec
from kubedl.kube.types.meta import ObjectKey
from kubedl.training.host_network.ports import HOST_PORT, HostPorts, PortRange
from kubedl.training.kinds.jax import JAX
from kubedl.training.kinds.xgboost import XGBoost
from tests.training_builders import NAMESPACE, NOW, JobBuilder, decide, pod, tf_job, torch_job
from tests.unit.training.api_model import Crash, Harm
from tests.unit.training.test_controller import Stage

HOST = {"networkMode": "Host"}
ANNOTATION = {"kubedl.io/network-mode": "host"}
TORCH = torch_job().master().workers(1, dependsOn=[]).with_spec(**HOST)
TF = tf_job().ps(1).workers(2, dependsOn=[]).with_spec(**HOST)
Object = dict[str, Any]


@pytest.fixture
def runner() -> Iterator[asyncio.Runner]:
    with asyncio.Runner() as made:
        yield made


class HostStage(Stage):
    """With a look at what was created."""

    def pods(self) -> dict[str, Object]:
        """As they were sent, by name."""
        return {pod.metadata.name: dict(self.world.api.bodies[pod.metadata.uid]) for pod in self.world.api.all(PODS)}

    def ports(self) -> dict[str, int]:
        """Of the pods, by name; each is declared in the same way everywhere."""
        found = {}
        for name, body in self.pods().items():
            (container,) = body["spec"]["containers"]
            (declared,) = container["ports"]
            assert declared["hostPort"] == declared["containerPort"]
            assert declared["name"] == self.world.kind.port_name
            assert variables(body)["KUBEDL_HOST_PORT"] == str(declared["hostPort"])
            assert body["metadata"]["annotations"][HOST_PORT] == str(declared["hostPort"])
            found[name] = declared["hostPort"]
        return found

    def targets(self) -> dict[str, int | str]:
        """Where the Services of replicas lead to."""
        found = {service.metadata.name: service.spec.ports for service in self.world.api.all(SERVICES)}
        return {name: ports[0].target_port for name, ports in found.items() if name != self.job.metadata.name}

    def settle(self) -> list[str]:
        """All writes until there are no more."""
        written: list[str] = []
        while more := self.look():
            written += more
        return written

    def replace_pod(self, name: str) -> None:
        """Somebody deletes a pod by force, and a new one comes."""
        self.world.api.drop(PODS, ObjectKey(NAMESPACE, name))
        self.wait(30)
        self.settle()


def variables(body: Object) -> dict[str, str]:
    (container,) = body["spec"]["containers"]
    return {variable["name"]: variable.get("value", "") for variable in container["env"]}


def test_services_come_before_the_pods_and_lead_to_their_ports(runner: asyncio.Runner) -> None:
    stage = HostStage(TORCH, runner)
    assert stage.look() == [
        "create services resnet-master-0",
        "create services resnet-worker-0",
        "create services resnet",
        "create pods resnet-master-0",
        "create pods resnet-worker-0",
        "patch",
    ]
    assert stage.targets() == stage.ports()
    assert len(set(stage.ports().values())) == 2
    assert stage.job.status.network_mode == "Host"
    assert stage.look() == []


def test_a_pod_is_on_the_host_network_and_finds_names_of_the_cluster(runner: asyncio.Runner) -> None:
    """A resolver that the user chose is kept; the default one would be the node's."""
    given = TORCH.template()
    given["spec"] |= {"dnsPolicy": "None", "hostNetwork": False}
    stage = HostStage(TORCH.workers(1, dependsOn=[], template=given), runner)
    stage.look()
    specs = {name: body["spec"] for name, body in stage.pods().items()}
    assert {spec["hostNetwork"] for spec in specs.values()} == {True}
    assert specs["resnet-master-0"]["dnsPolicy"] == "ClusterFirstWithHostNet"
    assert specs["resnet-worker-0"]["dnsPolicy"] == "None"


def test_the_port_of_the_kind_is_replaced_and_others_are_kept(runner: asyncio.Runner) -> None:
    """With the user's name for it or by its number."""
    given = TORCH.template()
    given["spec"]["containers"][0]["ports"] = [
        {"name": "rendezvous", "containerPort": 23456},
        {"name": "metrics", "containerPort": 9100},
    ]
    stage = HostStage(torch_job().role("Master", 1, template=given).with_spec(**HOST), runner)
    stage.look()
    (body,) = stage.pods().values()
    named = {port["name"]: port["containerPort"] for port in body["spec"]["containers"][0]["ports"]}
    assert named.keys() == {"metrics", "pytorchjob-port"}
    assert named["pytorchjob-port"] != 23456


def test_torch_is_told_where_to_listen_and_its_peers_where_to_connect(runner: asyncio.Runner) -> None:
    stage = HostStage(TORCH, runner)
    stage.look()
    master, worker = (variables(stage.pods()[f"resnet-{name}-0"]) for name in ("master", "worker"))
    assert (master["MASTER_ADDR"], master["MASTER_PORT"]) == (
        "$(KUBEDL_HOST_IP)",
        str(stage.ports()["resnet-master-0"]),
    )
    assert (worker["MASTER_ADDR"], worker["MASTER_PORT"]) == ("resnet-master-0.team.svc", "23456")
    assert {found[name] for found in (master, worker) for name in ("PET_MASTER_PORT",)} == {
        master["MASTER_PORT"],
        worker["MASTER_PORT"],
    }


def test_the_address_of_the_node_is_known_before_it_is_referred_to(runner: asyncio.Runner) -> None:
    stage = HostStage(TORCH, runner)
    stage.look()
    (container,) = stage.pods()["resnet-master-0"]["spec"]["containers"]
    names = [variable["name"] for variable in container["env"]]
    assert names.index("KUBEDL_HOST_IP") < names.index("MASTER_ADDR")
    assert container["env"][0]["valueFrom"] == {"fieldRef": {"fieldPath": "status.hostIP"}}


def test_tensorflow_listens_at_its_own_entry_of_the_cluster(runner: asyncio.Runner) -> None:
    stage = HostStage(TF, runner)
    stage.look()
    ports = stage.ports()
    peers = {"ps": ["mnist-ps-0.team.svc:2222"], "worker": [f"mnist-worker-{i}.team.svc:2222" for i in range(2)]}
    for index in range(2):
        config = json.loads(variables(stage.pods()[f"mnist-worker-{index}"])["TF_CONFIG"])
        own = f"mnist-worker-{index}.mnist.team.svc:{ports[f'mnist-worker-{index}']}"
        wanted = [own if number == index else peers["worker"][number] for number in range(2)]
        assert config["cluster"] == {**peers, "worker": wanted}


@pytest.mark.parametrize(
    ("job", "own", "peer"),
    [
        (
            JobBuilder(JAX(), "sum").workers(2),
            {"JAX_COORDINATOR_ADDRESS": "sum-worker-0.sum.team.svc:{port}"},
            {"JAX_COORDINATOR_ADDRESS": "sum-worker-0.team.svc:1234"},
        ),
        (
            JobBuilder(XGBoost(), "sum").workers(2, dependsOn=[]),
            {"DMLC_TRACKER_URI": "$(KUBEDL_HOST_IP)", "DMLC_TRACKER_PORT": "{port}"},
            {"DMLC_TRACKER_URI": "sum-worker-0.team.svc", "DMLC_TRACKER_PORT": "9999"},
        ),
    ],
    ids=["jax", "xgboost"],
)
def test_other_frameworks(runner: asyncio.Runner, job: JobBuilder, own: Object, peer: Object) -> None:
    stage = HostStage(job.with_spec(**HOST), runner)
    stage.look()
    port = stage.ports()["sum-worker-0"]
    first, second = (variables(stage.pods()[f"sum-worker-{index}"]) for index in range(2))
    assert {name: value.format(port=port) for name, value in own.items()}.items() <= first.items()
    assert peer.items() <= second.items()


def test_the_service_of_a_replica_that_moves_follows_it(runner: asyncio.Runner) -> None:
    """Its peers are left alone: what they were told still holds."""
    stage = HostStage(TF, runner)
    stage.settle()
    stage.run_pods()
    before = stage.ports()
    stage.replace_pod("mnist-worker-1")
    after = stage.ports()
    assert after["mnist-worker-1"] != before["mnist-worker-1"]
    assert {**before, "mnist-worker-1": after["mnist-worker-1"]} == after == stage.targets()
    assert stage.look() == []


def test_a_service_that_somebody_changed_or_deleted_is_put_right(runner: asyncio.Runner) -> None:
    stage = HostStage(TORCH, runner)
    stage.settle()
    first, second = (ObjectKey(NAMESPACE, f"resnet-{role}-0") for role in ("master", "worker"))
    found = stage.world.api.find(SERVICES, first)
    spoiled = with_metadata(found)
    spoiled = type(found)(metadata=spoiled.metadata, spec=ServiceSpec(ports=(ServicePort(target_port=80),)))
    stage.world.api.put(SERVICES, spoiled)
    stage.world.api.drop(SERVICES, second)
    assert sorted(stage.look()) == ["create services resnet-worker-0", "patch services resnet-master-0"]
    assert stage.targets() == stage.ports()
    assert stage.look() == []


@pytest.mark.parametrize("number", range(6))
@pytest.mark.parametrize("harm", ["crash before", "crash after", "lost after"])
def test_a_crash_at_any_write_leaves_services_that_lead_to_pods(
    runner: asyncio.Runner, number: int, harm: Harm
) -> None:
    stage = HostStage(TORCH, runner)
    try:
        stage.look((number, harm))
    except Crash:
        stage.restart()
    stage.settle()
    assert stage.targets() == stage.ports()
    assert len(set(stage.ports().values())) == 2


def test_without_services_every_replica_is_told_nodes_and_ports(runner: asyncio.Runner) -> None:
    """The names lead to nodes, since a pod on the host network has the address of its node."""
    stage = HostStage(TF.with_spec(networkMode="HostDirect"), runner)
    assert "create services mnist-ps-0" not in stage.settle()
    ports = stage.ports()
    cluster = {
        "ps": [f"mnist-ps-0.mnist.team.svc:{ports['mnist-ps-0']}"],
        "worker": [f"mnist-worker-{i}.mnist.team.svc:{ports[f'mnist-worker-{i}']}" for i in range(2)],
    }
    told = [json.loads(variables(body)["TF_CONFIG"])["cluster"] for body in stage.pods().values()]
    assert told == [cluster] * 3
    assert len(set(ports.values())) == 3


def test_without_services_a_replica_that_moves_keeps_its_port(runner: asyncio.Runner) -> None:
    """Its peers know it from their start; an operator that was restarted reads it from them."""
    stage = HostStage(TF.with_spec(networkMode="HostDirect"), runner)
    stage.settle()
    stage.run_pods()
    before = stage.ports()
    stage.restart()
    stage.replace_pod("mnist-worker-0")
    assert stage.ports() == before


def test_without_services_a_job_that_needs_more_ports_than_there_are_is_blocked(runner: asyncio.Runner) -> None:
    stage = HostStage(TF.with_spec(networkMode="HostDirect"), runner)
    stage.operator.host_ports.range = PortRange(20_000, 20_001)
    stage.look()
    blocked = find(stage.job.status.conditions, "Blocked")
    assert blocked is not None
    assert "3 replicas, and the operator has 2 (--hostnetwork-port-range=20000-20001)" in blocked.message
    stage.operator.host_ports.range = HostPorts().range
    stage.wait(600)
    stage.settle()
    assert len(stage.pods()) == 3


def test_the_annotation_of_the_first_kubedl_means_host(runner: asyncio.Runner) -> None:
    job = torch_job().master().with_metadata(annotations=ANNOTATION)
    stage = HostStage(job, runner)
    stage.look()
    assert stage.job.status.network_mode == "Host"
    assert stage.targets() == stage.ports()


@pytest.mark.parametrize("mode", ["Host", "HostDirect"])
def test_the_field_may_say_more_than_the_annotation(runner: asyncio.Runner, mode: str) -> None:
    stage = HostStage(TORCH.with_spec(networkMode=mode).with_metadata(annotations=ANNOTATION), runner)
    stage.look()
    assert stage.job.status.network_mode == mode


def test_a_field_that_contradicts_the_annotation_fails_the_job() -> None:
    decided = decide(TORCH.with_spec(networkMode="Pod").with_metadata(annotations=ANNOTATION))
    assert (decided.status.state, decided.status.reason) == ("Failed", "NetworkModeInvalid")


@pytest.mark.parametrize("job", [TORCH.with_spec(networkMode="Pod"), torch_job().master()], ids=["pod", "unset"])
def test_a_job_on_the_network_of_pods_has_none_of_it(runner: asyncio.Runner, job: JobBuilder) -> None:
    stage = HostStage(job, runner)
    stage.look()
    body = stage.pods()["resnet-master-0"]
    assert "hostNetwork" not in body["spec"]
    assert HOST_PORT not in body["metadata"]["annotations"]
    assert stage.job.status.network_mode is None
    assert stage.targets() == {}


@pytest.mark.parametrize("starts_on_host", [True, False])
def test_an_annotation_that_changes_while_the_job_runs_is_ignored_until_it_is_resumed(
    runner: asyncio.Runner, starts_on_host: bool
) -> None:
    """All its pods are on one network, also those that come later."""
    job = tf_job().ps(1).workers(1, dependsOn=[])
    stage = HostStage(job.with_metadata(annotations=ANNOTATION if starts_on_host else {}), runner)
    stage.settle()
    stage.run_pods()
    resource, now = stage.world.kind.resource, {} if starts_on_host else ANNOTATION
    stage.world.api.put(resource, with_metadata(stage.job, annotations=now))
    stage.settle()
    ignored = find(stage.job.status.conditions, "EditIgnored")
    assert ignored is not None
    assert (ignored.status, ignored.reason) == ("True", "NetworkModeChangedLate")
    stage.replace_pod("mnist-worker-0")
    assert ["hostNetwork" in body["spec"] for body in stage.pods().values()] == [starts_on_host] * 2


def test_an_annotation_beside_a_field_that_says_otherwise_is_ignored_while_the_job_runs() -> None:
    running = TORCH.with_spec(networkMode="Pod").with_metadata(annotations=ANNOTATION).with_status(start_time=NOW)
    ignored = find(decide(running).status.conditions, "EditIgnored")
    assert ignored is not None
    assert ignored.message.startswith("annotation kubedl.io/network-mode is ignored: it was set after")


def test_a_suspended_job_is_resumed_in_the_mode_that_it_asks_for_then() -> None:
    ended = TORCH.with_spec(networkMode=None).with_status(network_mode="Host", start_time=None).said("Suspended")
    resumed = decide(ended)
    assert find(resumed.status.conditions, "Suspended").status == "False"  # type: ignore[union-attr]
    job = TORCH.with_spec(networkMode=None).with_status(network_mode="Host")
    assert decide(job).status.network_mode is None


def test_a_pod_that_is_going_is_not_followed() -> None:
    """Its successor has another port, and its Service already leads there."""
    there = replace(pod(TORCH, "Master"), metadata={"annotations": {HOST_PORT: "20000"}})
    assert decide(TORCH, there).prepare
    assert not decide(TORCH, there.going(5)).prepare
