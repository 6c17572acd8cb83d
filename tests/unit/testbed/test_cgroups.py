"""Cgroups of both versions, on directories that look like them."""

import os
import subprocess
from functools import partial
from pathlib import Path

import pytest

from testbed import cgroups
from testbed.waiting import until


@pytest.fixture
def version1(tmp_path: Path) -> Path:
    """Three controllers, one of them under two names as Debian mounts it, and a hybrid's version 2."""
    for name in ("cpuset", "cpu,cpuacct", "memory", "unified"):
        (tmp_path / name).mkdir()
    (tmp_path / "cpu").symlink_to("cpu,cpuacct")
    (tmp_path / "cpuset/cpuset.cpus").write_text("0-3\n")
    (tmp_path / "cpuset/cpuset.mems").write_text("0\n")
    (tmp_path / "unified/cgroup.controllers").write_text("\n")
    (tmp_path / "unified/cgroup.subtree_control").write_text("")
    return tmp_path


@pytest.fixture
def version2(tmp_path: Path) -> Path:
    """One tree for all controllers, none of them enabled below the root; it may have neighbours."""
    (tmp_path / "cgroup.controllers").write_text("cpuset cpu io memory pids\n")
    (tmp_path / "cgroup.subtree_control").write_text("")
    (tmp_path / "system.slice").mkdir()
    return tmp_path


def fill(group: Path, *pids: int) -> None:
    group.mkdir(parents=True, exist_ok=True)
    (group / "cgroup.procs").write_text("".join(f"{pid}\n" for pid in pids))


def test_version_1_has_a_hierarchy_for_each_controller(version1: Path) -> None:
    """A link to another hierarchy is not one more: everything would be done twice."""
    expected = [version1 / name for name in ("cpu,cpuacct", "cpuset", "memory", "unified")]
    assert cgroups.hierarchies(version1) == expected


def test_version_2_has_one_hierarchy(version2: Path) -> None:
    assert cgroups.hierarchies(version2) == [version2]


def test_group_is_made_in_every_hierarchy(version1: Path) -> None:
    """The kubelet refuses a root that is missing in one of them."""
    cgroups.create("kdl7-node1", version1)
    assert [path for path in cgroups.hierarchies(version1) if not (path / "kdl7-node1").is_dir()] == []


def test_version_1_group_may_use_the_processors_of_its_parent(version1: Path) -> None:
    """A new cpuset is empty, and no process may enter an empty one."""
    cgroups.create("kdl7-node1", version1)
    group = version1 / "cpuset/kdl7-node1"
    assert {path.name: path.read_text() for path in group.iterdir()} == {"cpuset.cpus": "0-3\n", "cpuset.mems": "0\n"}
    assert list((version1 / "memory/kdl7-node1").iterdir()) == []


def test_version_1_leaves_the_controllers_of_a_hybrid_alone(version1: Path) -> None:
    """There they belong to version 1; version 2 has none to enable."""
    cgroups.create("kdl7-node1", version1)
    assert (version1 / "unified/cgroup.subtree_control").read_text() == ""


def test_version_2_enables_what_the_kubelet_needs(version2: Path) -> None:
    """A group has no controller that its parent doesn't hand down."""
    cgroups.create("kdl7-node1", version2)
    assert (version2 / "cgroup.subtree_control").read_text().split() == ["+cpu", "+cpuset", "+memory", "+pids"]
    assert list((version2 / "kdl7-node1").iterdir()) == []


def test_group_that_exists_is_kept(version1: Path) -> None:
    """A node that is powered on again finds the group of its life before."""
    cgroups.create("kdl7-node1", version1)
    cgroups.create("kdl7-node1", version1)
    assert cgroups.existing("kdl7", version1) == ["kdl7-node1"]


def test_members_are_those_of_all_groups_below_in_all_hierarchies(version1: Path) -> None:
    """A container that escaped one hierarchy is still found by another."""
    fill(version1 / "memory/kdl7-node1", 10)
    fill(version1 / "memory/kdl7-node1/kubepods/pod1", 11, 12)
    fill(version1 / "cpuset/kdl7-node1/kubepods", 12, 13)
    fill(version1 / "memory/kdl7-node10", 20)
    assert cgroups.members("kdl7-node1", version1) == {10, 11, 12, 13}


def test_members_of_version_2_are_read_in_the_same_way(version2: Path) -> None:
    fill(version2 / "kdl7-node1/kubepods/pod1/container", 10, 11)
    fill(version2 / "system.slice", 1)
    assert cgroups.members("kdl7-node1", version2) == {10, 11}


def test_group_that_is_missing_has_no_members(version1: Path) -> None:
    assert cgroups.members("kdl7-node1", version1) == set()


def test_group_that_goes_while_we_look_has_no_members(version1: Path) -> None:
    """The kernel answers ENODEV for a group that has just been removed; a directory is as unreadable."""
    (version1 / "memory/kdl7-node1/cgroup.procs").mkdir(parents=True)
    fill(version1 / "cpuset/kdl7-node1", 10)
    assert cgroups.members("kdl7-node1", version1) == {10}


def test_remove_takes_children_first_in_every_hierarchy(version1: Path) -> None:
    """The kernel removes no group that has others below it."""
    for hierarchy in cgroups.hierarchies(version1):
        (hierarchy / "kdl7-node1/kubepods/pod1").mkdir(parents=True)
        (hierarchy / "kdl7-node10").mkdir()
    cgroups.remove("kdl7-node1", version1)
    assert cgroups.existing("kdl7", version1) == ["kdl7-node10"]


def test_removing_what_is_missing_is_fine(version2: Path) -> None:
    cgroups.remove("kdl7-node1", version2)
    assert cgroups.existing("kdl7", version2) == []


def test_existing_groups_are_those_of_the_instance_in_any_hierarchy(version1: Path) -> None:
    """A killed start may have reached only some of them."""
    for path in ("memory/kdl7-node2", "cpuset/kdl7-node1", "cpuset/kdl7-node2", "cpuset/kdl6-node3", "memory/kdl7"):
        (version1 / path).mkdir()
    assert cgroups.existing("kdl7", version1) == ["kdl7-node1", "kdl7-node2"]


def test_kill_ends_members_until_there_are_none(monkeypatch: pytest.MonkeyPatch) -> None:
    """A container may fork while it is being killed, so one look isn't enough."""
    children = [subprocess.Popen(["sleep", "60"]) for _ in range(2)]
    gone = 2**22 + 1  # more than the kernel ever gives to a process
    looks = iter([{gone, children[0].pid}, {children[1].pid}, set()])
    monkeypatch.setattr(cgroups, "members", lambda _: next(looks))
    monkeypatch.setattr(cgroups, "until", partial(until, pause=lambda _: None))
    try:
        cgroups.kill("kdl7-node1")
        assert [os.waitpid(child.pid, 0)[1] for child in children] == [9, 9]
        assert list(looks) == []
    finally:
        for child in children:
            child.kill()
            child.wait()
