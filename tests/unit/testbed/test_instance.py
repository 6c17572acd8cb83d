"""Test beds side by side share nothing; there are few enough of them to compare all."""

import itertools
from collections import Counter
from ipaddress import IPv4Address, IPv4Network
from pathlib import Path

import pytest

from testbed.errors import TestbedError
from testbed.instance import INSTANCES, NODES, Instance, NodePlace

ALL = [Instance(index) for index in range(INSTANCES)]
RESERVED = IPv4Network("198.18.0.0/15")
LINK_NAME_LIMIT = 15  # the kernel's IFNAMSIZ without its final zero


def nodes(instance: Instance) -> list[NodePlace]:
    return [instance.node(number) for number in range(1, NODES + 1)]


def ranges(instance: Instance) -> list[IPv4Network]:
    return [IPv4Network(network) for network in instance.networks]


def addresses(instance: Instance) -> list[str]:
    single = [instance.gateway, instance.kubernetes_service, instance.dns_service]
    return [*single, *(node.address for node in nodes(instance))]


def owned(instance: Instance, address: str) -> bool:
    return any(IPv4Address(address) in network for network in ranges(instance))


def repeated(names: list[str]) -> list[str]:
    return [name for name, times in Counter(names).items() if times > 1]


def test_no_two_instances_share_an_address() -> None:
    """A packet for one test bed must never have a way into another."""
    every = [network for instance in ALL for network in ranges(instance)]
    assert [pair for pair in itertools.combinations(every, 2) if pair[0].overlaps(pair[1])] == []


def test_every_range_is_reserved_for_benchmarks() -> None:
    """Outside 198.18.0.0/15 an address could belong to somebody's real network."""
    every = [network for instance in ALL for network in ranges(instance)]
    assert [network for network in every if not network.subnet_of(RESERVED)] == []


@pytest.mark.parametrize("instance", ALL)
def test_everything_with_an_address_lies_in_the_instance_s_ranges(instance: Instance) -> None:
    """What lay outside would miss the blackhole route that keeps packets on this machine."""
    assert [address for address in addresses(instance) if not owned(instance, address)] == []
    networks = [instance.node_network, instance.pod_network, instance.service_network]
    parts = [IPv4Network(network) for network in networks]
    assert [part for part in parts if not any(part.subnet_of(network) for network in ranges(instance))] == []


@pytest.mark.parametrize("instance", ALL)
def test_nodes_pods_and_services_of_an_instance_have_ranges_of_their_own(instance: Instance) -> None:
    """An address that is a pod's and a node's would be routed to either."""
    networks = [instance.node_network, instance.pod_network, instance.service_network]
    parts = [IPv4Network(network) for network in networks]
    assert [pair for pair in itertools.combinations(parts, 2) if pair[0].overlaps(pair[1])] == []


@pytest.mark.parametrize("instance", ALL)
def test_addresses_of_an_instance_differ_and_lie_where_they_are_routed(instance: Instance) -> None:
    """A node is reached over the bridge, so its address must be in the bridge's own network."""
    assert repeated(addresses(instance)) == []
    on_bridge = [instance.gateway, *(node.address for node in nodes(instance))]
    assert [address for address in on_bridge if IPv4Address(address) not in IPv4Network(instance.node_network)] == []
    services = [instance.kubernetes_service, instance.dns_service]
    assert [address for address in services if IPv4Address(address) not in IPv4Network(instance.service_network)] == []


def test_kubernetes_service_is_the_first_of_its_range() -> None:
    """The API server gives itself that address; the certificate has to name the same one."""
    first = [str(IPv4Network(instance.service_network)[1]) for instance in ALL]
    assert first == [instance.kubernetes_service for instance in ALL]


@pytest.mark.parametrize("instance", ALL)
def test_pods_of_two_nodes_never_share_an_address(instance: Instance) -> None:
    """Each node hands out addresses of its subnet without asking anybody."""
    subnets = [IPv4Network(node.pod_subnet) for node in nodes(instance)]
    assert [pair for pair in itertools.combinations(subnets, 2) if pair[0].overlaps(pair[1])] == []
    assert [subnet for subnet in subnets if not subnet.subnet_of(IPv4Network(instance.pod_network))] == []


def test_no_two_instances_share_a_port_of_the_loopback_address() -> None:
    """127.0.0.1 is common to all, so only the port keeps two etcds apart."""
    ports = [instance.loopback_port(offset) for instance in ALL for offset in range(100)]
    assert len(set(ports)) == 100 * INSTANCES
    # Above lie the ports that the kernel gives to outgoing connections: one of those may be taken.
    assert [port for port in ports if not 1024 <= port < 32768] == []


def test_links_of_all_instances_differ_and_fit_the_kernel_s_limit() -> None:
    """A longer name is refused by `ip link add`, and the bridge must not be called like a node's link."""
    links = [name for instance in ALL for name in (instance.bridge, *(node.link for node in nodes(instance)))]
    assert repeated(links) == []
    assert [link for link in links if len(link) > LINK_NAME_LIMIT] == []


def test_cgroups_and_network_namespaces_of_all_instances_differ() -> None:
    """Removal goes by these names: a shared one would end somebody else's node."""
    places = [node for instance in ALL for node in nodes(instance)]
    assert repeated([place.cgroup for place in places]) == []
    assert repeated([place.network_namespace for place in places]) == []


def test_machine_wide_names_begin_with_a_prefix_that_is_nobody_else_s() -> None:
    """Leftovers are found by prefix, so none may be the beginning of another."""
    prefixes = [f"{instance.prefix}-" for instance in ALL]
    pairs = itertools.permutations(prefixes, 2)
    assert [pair for pair in pairs if pair[0].startswith(pair[1])] == []
    for instance, prefix in zip(ALL, prefixes, strict=True):
        names = [name for node in nodes(instance) for name in (node.cgroup, node.network_namespace)]
        assert [name for name in names if not name.startswith(prefix)] == []


def test_state_directories_and_locks_of_all_instances_differ() -> None:
    """One instance's removal deletes its whole state directory."""
    assert repeated([str(instance.state) for instance in ALL]) == []
    assert repeated([str(instance.lock(name)) for instance in ALL for name in ("lock", "gate", "turn", "users")]) == []


def test_state_follows_the_chosen_home_and_locks_do_not(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Bridges are machine-wide: two homes with the same index must meet at the same lock."""
    before = Instance(7).lock("lock")
    monkeypatch.setenv("KUBEDL_TESTBED_HOME", str(tmp_path))
    assert tmp_path / "instances/7" == Instance(7).state
    assert before == Instance(7).lock("lock")


@pytest.mark.parametrize("index", [-1, INSTANCES, 4096])
def test_index_out_of_range_is_refused(index: int) -> None:
    """The next index would lie outside the reserved addresses."""
    with pytest.raises(TestbedError, match=rf"instance index {index} is not in 0\.\.7"):
        Instance(index)


@pytest.mark.parametrize("number", [-1, 0, NODES + 1])
def test_node_number_out_of_range_is_refused(number: int) -> None:
    """The next node's pods would lie in the next instance's range."""
    with pytest.raises(TestbedError, match=rf"node number {number} is not in 1\.\.15"):
        Instance(0).node(number)
