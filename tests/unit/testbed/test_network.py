"""What `ip` lists is the instance's own only if its name or range says so; nothing here touches the network."""

import json
from collections.abc import Callable

import pytest

from testbed import network
from testbed.instance import Instance

INSTANCE = Instance(1)

Answer = Callable[[str, str], None]


@pytest.fixture
def ip(monkeypatch: pytest.MonkeyPatch) -> Answer:
    """Stands in for the program: `ip("netns list", output)` sets an answer, other commands fail."""
    answers: dict[str, str] = {}

    def run(*command: str) -> str:
        assert command[0] == "ip"
        return answers[" ".join(command[1:])]

    monkeypatch.setattr(network, "run", run)
    return answers.__setitem__


def test_namespaces_are_those_with_the_instance_s_prefix(ip: Answer) -> None:
    """`ip` appends an id to some of them; instance 1 is not the beginning of another's name."""
    ip("netns list", "kdl1-node1 (id: 0)\nkdl1-node2\nkdl2-node1 (id: 3)\nkdl1\nkdl10-node1\ncni-1234\n\n")
    assert network.namespaces(INSTANCE) == ["kdl1-node1", "kdl1-node2"]


def test_machine_without_namespaces_has_none(ip: Answer) -> None:
    ip("netns list", "")
    assert network.namespaces(INSTANCE) == []


def test_links_are_the_instance_s_with_the_bridge_last(ip: Answer) -> None:
    """The bridge goes last, because its removal would leave the links without a master but alive."""
    names = ["lo", "eth0", "kdl1br", "kdl1n1", "kdl1n15", "kdl2n1", "kdl2br", "kdl1node", "kdl1", "akdl1n1", "kdl1n1x"]
    ip("-json link show", json.dumps([{"ifname": name} for name in names]))
    assert network.links(INSTANCE) == ["kdl1n1", "kdl1n15", "kdl1br"]


def test_every_link_of_an_instance_is_recognised(ip: Answer) -> None:
    """What is created under one name and looked for under another would never be removed."""
    created = [*(INSTANCE.node(number).link for number in range(1, 16)), INSTANCE.bridge]
    ip("-json link show", json.dumps([{"ifname": name} for name in created]))
    assert network.links(INSTANCE) == created


def test_routes_are_words_for_their_removal(ip: Answer) -> None:
    """A blackhole can only be removed as one; `ip` answers nothing at all where there is no route."""
    nodes = [{"type": "blackhole", "dst": "198.18.32.0/19"}, {"dst": "198.18.32.0/24"}, {"dst": "198.18.49.0/24"}]
    ip("-json route show root 198.18.32.0/19", json.dumps(nodes))
    ip("-json route show root 198.19.32.0/19", "")
    assert network.routes(INSTANCE) == ["blackhole 198.18.32.0/19", "198.18.32.0/24", "198.18.49.0/24"]


def test_command_inside_a_namespace_keeps_the_machine_s_mounts() -> None:
    """`ip netns exec` would remount /sys without the cgroups that a kubelet needs."""
    assert network.inside("kdl1-node1") == ["nsenter", "--net=/run/netns/kdl1-node1"]
