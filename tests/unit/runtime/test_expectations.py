"""A key is closed from a write until its arrival in the cache of that kind."""

import pytest

from kubedl.kube.types.core import NODES, PODS, SERVICES, Pod, Service
from kubedl.kube.types.meta import ObjectKey
from kubedl.runtime.expectations import Expectations
from kubedl.runtime.store import Store

A, B = ObjectKey("team", "a"), ObjectKey("team", "b")


@pytest.fixture
def pods() -> Store[Pod]:
    return Store()


@pytest.fixture
def services() -> Store[Service]:
    return Store()


@pytest.fixture
def expectations(pods: Store[Pod], services: Store[Service]) -> Expectations:
    return Expectations({PODS: pods, SERVICES: services})


def test_a_key_for_which_nothing_was_written_is_open(expectations: Expectations) -> None:
    assert not expectations.pending(A)


def test_a_key_is_closed_until_the_write_is_seen(expectations: Expectations, pods: Store[Pod]) -> None:
    expectations.record_write(A, PODS, "10")
    assert expectations.pending(A)
    assert not expectations.pending(B)
    pods.version = 9
    assert expectations.pending(A)
    pods.version = 10
    assert not expectations.pending(A)


def test_every_kind_must_have_arrived(expectations: Expectations, pods: Store[Pod], services: Store[Service]) -> None:
    expectations.record_write(A, PODS, "10")
    expectations.record_write(A, SERVICES, "11")
    pods.version = 50
    assert expectations.pending(A)
    services.version = 11
    assert not expectations.pending(A)


def test_the_newest_write_counts(expectations: Expectations, pods: Store[Pod]) -> None:
    """Writes run side by side: their answers come in any order. As text, 9 would be newer than 10."""
    for version in ("8", "10", "9"):
        expectations.record_write(A, PODS, version)
    pods.version = 9
    assert expectations.pending(A)
    pods.version = 10
    assert not expectations.pending(A)


def test_a_write_after_the_gate_opened_closes_it_again(expectations: Expectations, pods: Store[Pod]) -> None:
    expectations.record_write(A, PODS, "10")
    pods.version = 10
    assert not expectations.pending(A)
    expectations.record_write(A, PODS, "12")
    assert expectations.pending(A)


def test_a_write_that_changed_nothing_closes_nothing(expectations: Expectations, pods: Store[Pod]) -> None:
    """The server answers with the version that the object had already."""
    pods.version = 10
    expectations.record_write(A, PODS, "7")
    assert not expectations.pending(A)


def test_what_no_cache_will_show_is_not_waited_for(expectations: Expectations) -> None:
    expectations.record_write(A, NODES, "10")
    expectations.record_write(A, PODS, "")
    assert not expectations.pending(A)


def test_a_key_that_is_made_anew_is_not_held_up_for_ever(expectations: Expectations, pods: Store[Pod]) -> None:
    """Nothing is expected of objects by name: whoever has the name now, versions go on."""
    expectations.record_write(A, PODS, "10")
    pods.version = 20  # the owner was deleted and made again meanwhile, its pods never came
    assert not expectations.pending(A)
