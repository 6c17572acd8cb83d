"""What is left of an instance, and whose it is."""

import dataclasses
from pathlib import Path

import pytest

from testbed import cleanup, processes
from testbed.cleanup import Leftovers
from testbed.errors import TestbedError
from testbed.instance import Instance
from testbed.processes import Marked

NOTHING = Leftovers(processes=[], namespaces=[], links=[], routes=[], cgroups=[], mounts=[], state=[])
KINDS = [field.name for field in dataclasses.fields(Leftovers)]


def with_one(kind: str) -> Leftovers:
    leftovers: dict[str, list[str]] = {name: ["one"] if name == kind else [] for name in KINDS}
    return Leftovers(**leftovers)


def test_nothing_left_is_false() -> None:
    """`make cluster-status` answers by it whether there is anything at all."""
    assert not NOTHING


@pytest.mark.parametrize("kind", KINDS)
def test_anything_left_is_true(kind: str) -> None:
    """A single forgotten route is a leak like any other."""
    assert with_one(kind)


def test_text_counts_and_names_what_is_left() -> None:
    """Kinds of which there is nothing are listed too: the reader sees that they were looked for."""
    left = dataclasses.replace(NOTHING, processes=["etcd(12)", "node1/kubelet(13)"], routes=["blackhole 198.18.0.0/19"])
    assert str(left).splitlines() == [
        "processes: 2 etcd(12) node1/kubelet(13)",
        "namespaces: 0",
        "links: 0",
        "routes: 1 blackhole 198.18.0.0/19",
        "cgroups: 0",
        "mounts: 0",
        "state: 0",
    ]


def test_cluster_of_another_home_is_not_touched(own_home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The index is machine-wide: a colleague's cluster must not end because we use the same one."""
    found = [Marked(11, 7, "etcd", str(own_home)), Marked(12, 7, "etcd", "/theirs")]
    monkeypatch.setattr(processes, "find", lambda _: found)
    with pytest.raises(TestbedError, match=r"instance 7 runs from /theirs; .* KUBEDL_TESTBED_HOME=/theirs make"):
        cleanup.refuse_strangers(Instance(7))


def test_cleaning_asks_whose_it_is_before_it_touches_anything(own_home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert not own_home.exists()
    monkeypatch.setattr(processes, "find", lambda _: [Marked(12, 7, "etcd", "/theirs")])
    for touching in ("_node_numbers", "remove_node", "network", "cgroups", "attempt", "shutil"):
        monkeypatch.setattr(cleanup, touching, None)
    monkeypatch.setattr(processes, "kill", None)
    with pytest.raises(TestbedError, match="/theirs"):
        cleanup.clean(Instance(7))


def test_cluster_of_this_home_is_no_stranger(own_home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(processes, "find", lambda _: [Marked(11, 7, "etcd", str(own_home))])
    cleanup.refuse_strangers(Instance(7))
