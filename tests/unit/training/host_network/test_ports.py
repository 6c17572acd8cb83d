"""Ports are chosen from what is observed: no two pods get the same one while there is another, whoever restarts."""

import random
from collections.abc import Callable
from itertools import pairwise

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from harness.fakes.api_server import with_metadata
from kubedl.entrypoints.operator import parser
from kubedl.kube.types.core import Pod, PodStatus
from kubedl.kube.types.meta import ObjectMeta
from kubedl.runtime.store import Store
from kubedl.training.host_network.ports import (
    DEFAULT_RANGE,
    HOST_PORT,
    JOB_PORTS,
    UNSEEN_SECONDS,
    HostPorts,
    PortRange,
    choose,
    host_port,
    is_within,
    merged,
    ports_in_use,
)

FEW = PortRange(20_000, 20_003)


def pod(name: str, port: int | str, phase: str = "Running") -> Pod:
    meta = ObjectMeta(name=name, namespace="team", uid=name, resource_version="1", annotations={HOST_PORT: str(port)})
    return Pod(metadata=meta, status=PodStatus(phase=phase))


class Cluster:
    """Pods as the API server has them, and an operator whose cache shows them when it is told to."""

    def __init__(self, ports: PortRange = DEFAULT_RANGE) -> None:
        self.pods: dict[str, Pod] = {}
        self.now = 0.0
        self._range = ports
        self.restart()

    def restart(self) -> None:
        """Another process, which knows only what it lists."""
        self._cache: Store[Pod] = Store()
        self._operator = HostPorts(self._range, lambda: self.now)
        self._cache.subscribe(self._operator.pod_changed)
        self.show()

    def show(self) -> None:
        """The watch brings all changes."""
        self._cache.replace(self.pods.values())

    def create(self, name: str) -> int:
        port = self._operator.take(name, name)
        self.pods[name] = pod(name, port)
        return port


def taken(*ports: int) -> Callable[[int], bool]:
    return lambda port: port in ports


def test_a_retry_asks_for_the_same_port() -> None:
    """It may have been committed, and its Service leads there."""
    ports = HostPorts(FEW)
    assert len({ports.take("uid/a", "uid/a/0") for _ in range(3)}) == 1
    assert ports.take("uid/a", "uid/a/0") == HostPorts(FEW).take("uid/a", "uid/a/0")


def test_a_retry_asks_for_the_same_port_although_a_better_one_became_free() -> None:
    """The first try may have been committed, and its answer lost."""
    ports, before = HostPorts(FEW), pod("b", HostPorts(FEW).take("a", "a"))
    ports.pod_changed(None, before)
    first = ports.take("a", "a")
    ports.pod_changed(before, None)
    assert first == ports.take("a", "a") != host_port(before)


def test_another_attempt_begins_elsewhere() -> None:
    """The port may be in use by a program that no pod declares."""
    assert len({choose(f"uid/a/{attempt}", 1, DEFAULT_RANGE, taken()) for attempt in range(20)}) > 15


def test_ports_in_use_are_passed_over() -> None:
    chosen = choose("key", 1, FEW, taken())
    others = [port for port in range(FEW.first, FEW.last + 1) if port != chosen]
    assert choose("key", 1, FEW, taken(chosen)) in others
    assert choose("key", 1, FEW, taken(*others)) == chosen
    assert choose("key", 1, FEW, taken(chosen, *others)) == chosen  # the scheduler will find another node for it


@given(st.integers(1, 40), st.integers(1, 40), st.sets(st.integers(0, 39)), st.text(max_size=5))
def test_consecutive_ports_are_free_if_there_are_any(size: int, total: int, used: set[int], key: str) -> None:
    """And always within the range."""
    size, ports = min(size, total), PortRange(100, 99 + total)
    first = choose(key, size, ports, taken(*(100 + offset for offset in used)))
    assert ports.first <= first <= first + size - 1 <= ports.last
    free = [place for place in range(total - size + 1) if not used & set(range(place, place + size))]
    assert not free or first - 100 in free


def test_pods_that_have_ended_leave_their_ports() -> None:
    ended, alive = pod("a", 20_000, "Succeeded"), pod("b", 20_001)
    assert (ports_in_use(ended), host_port(ended)) == (None, 20_000)
    assert ports_in_use(alive) == PortRange(20_001, 20_001)
    ports = HostPorts(PortRange(20_001, 20_001))
    ports.pod_changed(None, alive)
    ports.pod_changed(alive, pod("b", 20_001, "Failed"))
    ports.pod_changed(pod("b", 20_001, "Failed"), None)
    assert not ports._of_pods  # noqa: SLF001 - nothing is kept of pods that are gone
    assert not ports._in_use  # noqa: SLF001


def test_a_pod_that_lost_its_annotation_keeps_its_port_until_it_is_gone() -> None:
    ports, one = HostPorts(PortRange(20_000, 20_001)), pod("a", 20_000)
    bare = with_metadata(one, annotations={}, resource_version="2")
    ports.pod_changed(None, one)
    ports.pod_changed(one, bare)
    assert ports.take("b", "b") == 20_001
    ports.pod_changed(bare, None)
    assert not ports._of_pods  # noqa: SLF001


@pytest.mark.parametrize(("text", "left"), [("20000-20002", [20_003]), ("spoiled", [20_000, 20_001, 20_003])])
def test_ports_of_replicas_that_have_no_pod_now_are_in_use_too(text: str, left: list[int]) -> None:
    """Their peers know them, and expect them there when they come back."""
    ports, one = HostPorts(FEW), pod("a", 20_002)
    one = with_metadata(one, annotations={**one.metadata.annotations, JOB_PORTS: text})
    ports.pod_changed(None, one)
    assert sorted(ports.take(name, name) for name in "bcd"[: len(left)]) == left


@given(st.sets(st.tuples(st.integers(1, 30), st.integers(1, 5)), max_size=8))
def test_ranges_that_overlap_become_few_with_the_same_ports(found: set[tuple[int, int]]) -> None:
    """The annotation is the user's, and each of thousands of pods may name other ports."""
    blocks = [PortRange(first, first + more) for first, more in found]
    ranges = merged(blocks)
    assert all(one.last < other.first for one, other in pairwise(ranges))
    for port in range(40):
        assert is_within(port, ranges) == any(first <= port <= last for first, last in blocks)


@pytest.mark.parametrize("text", ["", "x", "-1", "1" * 400, "²"])
def test_an_annotation_that_somebody_spoiled_is_no_port(text: str) -> None:
    assert host_port(pod("a", text)) is None


def test_what_the_cache_does_not_show_yet_is_kept_for_a_while() -> None:
    """Jobs are planned one after another while the first pods are still being created."""
    cluster = Cluster(FEW)
    assert len({cluster.create(name) for name in "abcd"}) == 4
    cluster.pods.clear()  # none was created after all
    assert cluster.create("e") in range(FEW.first, FEW.last + 1)
    cluster.now += UNSEEN_SECONDS
    assert len({cluster.create(name) for name in "fghi"}) == 4


def test_what_the_cache_has_shown_is_not_kept_longer_than_the_pod() -> None:
    """A job that restarts would else use up the range."""
    cluster = Cluster(FEW)
    for attempt in range(5):
        assert len({cluster.create(f"{name}-{attempt}") for name in "abcd"}) == 4
        cluster.show()
        cluster.pods.clear()
        cluster.show()


@settings(max_examples=4)
@given(st.integers(0, 2**32))
def test_500_allocations_with_20_restarts_and_no_two_pods_with_one_port(seed: int) -> None:
    """Pods come and go, the cache lags, and every 25 allocations the operator is another one."""
    choice = random.Random(seed).random  # noqa: S311 - no secret
    cluster = Cluster(PortRange(20_000, 20_599))
    for number in range(500):
        if number % 25 == 24:
            cluster.restart()
        elif choice() < 0.3:
            cluster.show()
        if cluster.pods and choice() < 0.2:
            gone = sorted(cluster.pods)[int(choice() * len(cluster.pods))]
            del cluster.pods[gone]
        used = {host_port(one) for one in cluster.pods.values()}
        assert cluster.create(f"pod-{number}") not in used


@pytest.mark.parametrize("text", ["20000", "a-b", "0-10", "10-9", "1-65536", "-5", "5-", "1" * 5000 + "-2", "²-³", ""])
def test_a_range_that_is_none_ends_the_operator_with_a_word(text: str, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        parser().parse_args([f"--hostnetwork-port-range={text}"])
    assert "is no range of ports such as 20000-29999" in capsys.readouterr().err


def test_the_range_is_a_flag() -> None:
    assert parser().parse_args([]).hostnetwork_port_range == DEFAULT_RANGE
    assert parser().parse_args(["--hostnetwork-port-range=7000-7000"]).hostnetwork_port_range == PortRange(7000, 7000)
