"""A key is closed from a write until its arrival in the cache of that kind."""

import pytest

from kubedl.runtime.gate import Gate
from kubedl.runtime.store import Store
from kubedl.wire.core import NODES, PODS, SERVICES, Pod, Service
from kubedl.wire.meta import Key

A, B = Key("team", "a"), Key("team", "b")


@pytest.fixture
def pods() -> Store[Pod]:
    return Store()


@pytest.fixture
def services() -> Store[Service]:
    return Store()


@pytest.fixture
def gate(pods: Store[Pod], services: Store[Service]) -> Gate:
    return Gate({PODS: pods, SERVICES: services})


def test_a_key_for_which_nothing_was_written_is_open(gate: Gate) -> None:
    assert not gate.closed(A)


def test_a_key_is_closed_until_the_write_is_seen(gate: Gate, pods: Store[Pod]) -> None:
    gate.wrote(A, PODS, "10")
    assert gate.closed(A)
    assert not gate.closed(B)
    pods.version = 9
    assert gate.closed(A)
    pods.version = 10
    assert not gate.closed(A)


def test_every_kind_must_have_arrived(gate: Gate, pods: Store[Pod], services: Store[Service]) -> None:
    gate.wrote(A, PODS, "10")
    gate.wrote(A, SERVICES, "11")
    pods.version = 50
    assert gate.closed(A)
    services.version = 11
    assert not gate.closed(A)


def test_the_newest_write_counts(gate: Gate, pods: Store[Pod]) -> None:
    """Writes run side by side: their answers come in any order. As text, 9 would be newer than 10."""
    for version in ("8", "10", "9"):
        gate.wrote(A, PODS, version)
    pods.version = 9
    assert gate.closed(A)
    pods.version = 10
    assert not gate.closed(A)


def test_a_write_after_the_gate_opened_closes_it_again(gate: Gate, pods: Store[Pod]) -> None:
    gate.wrote(A, PODS, "10")
    pods.version = 10
    assert not gate.closed(A)
    gate.wrote(A, PODS, "12")
    assert gate.closed(A)


def test_a_write_that_changed_nothing_closes_nothing(gate: Gate, pods: Store[Pod]) -> None:
    """The server answers with the version that the object had already."""
    pods.version = 10
    gate.wrote(A, PODS, "7")
    assert not gate.closed(A)


def test_what_no_cache_will_show_is_not_waited_for(gate: Gate) -> None:
    gate.wrote(A, NODES, "10")
    gate.wrote(A, PODS, "")
    assert not gate.closed(A)


def test_a_key_that_is_made_anew_is_not_held_up_for_ever(gate: Gate, pods: Store[Pod]) -> None:
    """Nothing is expected of objects by name: whoever has the name now, versions go on."""
    gate.wrote(A, PODS, "10")
    pods.version = 20  # the owner was deleted and made again meanwhile, its pods never came
    assert not gate.closed(A)
