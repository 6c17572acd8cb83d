"""Pods that start together: which, by whom they are scheduled, and what the job says while they wait."""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from kubedl.entrypoints.operator import parser
from kubedl.kube.types.core import ContainerState, ContainerStatus, Pod, PodSpec, PodStatus, Terminated
from kubedl.kube.types.meta import ObjectMeta
from kubedl.runtime import plugins
from kubedl.training import pods
from kubedl.training.addons.code_resolver import resolver_name
from kubedl.training.addons.git_sync_status import CONTAINER
from kubedl.training.gang.assignment import NOT_FOUND, job_of
from kubedl.training.gang.pod_group import PodGroup, pod_groups
from kubedl.training.gang.scheduler import GangScheduler, InstalledScheduler
from kubedl.training.gang.schedulers import all_gang_schedulers
from kubedl.training.observed import Settings
from kubedl.training.plan import Plan
from tests.training_builders import JobBuilder, mpi_job, pod, tf_job, torch_job
from tests.unit.training.gang.gang_builders import IN_ORDER, INSTALLED, KNOWN, NO_ROOM, TOGETHER, asking, planned


def groups(job: JobBuilder) -> list[PodGroup]:
    return list(pod_groups(job_of(job.kind, job.build(), Settings(gang_schedulers=INSTALLED))))


def names(decided: Plan) -> set[str | None]:
    """The groups of the pods that are created."""
    return {made.gang.group.name if made.gang is not None else None for made in decided.creations}


def test_all_pods_that_start_at_once_are_one_gang() -> None:
    (group,) = groups(asking(TOGETHER))
    assert (group.roles, group.size, group.min_member) == (("PS", "Worker"), 4, 4)
    decided = planned(asking(TOGETHER))
    assert (len(decided.creations), names(decided)) == (4, {group.name})


def test_without_a_gang_the_default_order_of_the_kind_is_kept() -> None:
    assert [made.replica.role for made in planned(TOGETHER).creations] == ["PS"]


def test_the_launcher_of_an_mpi_job_still_starts_when_its_workers_are_ready() -> None:
    assert [group.roles for group in groups(asking(mpi_job().launcher().workers(2)))] == [("Worker",), ("Launcher",)]


def test_a_role_that_starts_later_is_not_in_the_first_gang() -> None:
    """It would wait for pods that wait for it."""
    first, second = groups(asking(IN_ORDER))
    assert (first.roles, first.min_member) == (("PS",), 1)
    assert (second.roles, second.min_member) == (("Worker",), 3)
    decided = planned(asking(IN_ORDER))
    assert (len(decided.creations), names(decided)) == (1, {first.name})
    decided = planned(asking(IN_ORDER), pod(IN_ORDER, "PS").on("node1").running())
    assert (len(decided.creations), names(decided)) == (3, {second.name})


def test_roles_with_different_dependencies_are_different_gangs() -> None:
    """The one may be released long before the other."""
    job = tf_job().chief(dependsOn=[]).ps(2, dependsOn=[{"upstream": "Chief"}])
    job = job.workers(3, dependsOn=[{"upstream": "Chief", "phase": "Succeeded"}])
    assert [group.roles for group in groups(job)] == [("Chief",), ("PS",), ("Worker",)]


@pytest.mark.parametrize(("least", "expected"), [(1, [1]), (2, [1, 1]), (3, [1, 2]), (4, [1, 3]), (9, [1, 3])])
def test_min_available_counts_over_all_gangs_of_a_job(least: int, expected: list[int]) -> None:
    assert [group.min_member for group in groups(asking(IN_ORDER, minAvailable=least))] == expected


@given(st.text("abz-", min_size=1, max_size=54).filter(lambda name: name[0].isalpha() and name[-1].isalpha()))
def test_the_name_of_a_group_is_a_label_value_and_that_of_no_other_job(name: str) -> None:
    job = asking(tf_job(name).workers(4)).with_metadata(uid="01234567-0000")
    (group,) = groups(job)
    assert len(group.name) <= 63
    assert group.name.endswith("-0-4-01234567")
    assert "--0-4" not in group.name


def test_a_job_that_asks_for_no_gang_has_none() -> None:
    assert names(planned(TOGETHER)) == {None}


def test_the_scheduler_of_the_operator_is_that_of_all_jobs() -> None:
    assert None not in names(planned(TOGETHER, default="volcano"))
    assert names(planned(asking(TOGETHER, gangScheduler="none"), default="volcano")) == {None}


def test_a_name_that_is_no_gang_scheduler_is_refused_at_the_start(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        parser().parse_args(["--gang-scheduler=cubernetes"])
    assert (
        "'cubernetes' is none of auto, none, coscheduling, koordinator, native, volcano, yunikorn"
        in capsys.readouterr().err
    )


def test_another_package_brings_its_own(monkeypatch: pytest.MonkeyPatch) -> None:
    class Mine(GangScheduler):
        name = "mine"

        def join(self, pod: dict[str, Any], group: PodGroup) -> None:
            pod["metadata"]["labels"]["mine"] = group.name

    monkeypatch.setattr(plugins, "_registered", lambda group: {Mine} if group == "kubedl.gang_schedulers" else set())
    known = all_gang_schedulers.__wrapped__()
    assert set(known) == {*KNOWN, "mine"}
    decided = planned(asking(TOGETHER, gangScheduler="mine"), installed={"mine": InstalledScheduler(known["mine"])})
    assert {made.gang.declaration("Job") for made in decided.creations if made.gang is not None} == {None}


def test_auto_takes_one_that_the_cluster_has() -> None:
    job = TOGETHER.with_spec(schedulingPolicy={"minAvailable": 4})
    for name in ("volcano", "coscheduling"):
        decided = planned(job, installed={name: INSTALLED[name]})
        assert {made.gang.by.scheduler.name for made in decided.creations if made.gang} == {name}


@pytest.mark.parametrize(
    ("policy", "default", "text"),
    [
        ({"minAvailable": 4}, "auto", "no gang scheduler that the operator can find"),
        ({"minAvailable": 4}, "none", "minAvailable needs a gang scheduler (--gang-scheduler is none)"),
        ({"gangScheduler": "volcano"}, "auto", "no gang scheduler volcano (spec.schedulingPolicy.gangScheduler)"),
        ({}, "native", "no gang scheduler native (--gang-scheduler)"),
    ],
)
def test_without_a_gang_scheduler_no_pod_is_created_and_the_job_says_so(
    policy: dict[str, object], default: str, text: str
) -> None:
    decided = planned(TOGETHER.with_spec(schedulingPolicy=policy), default=default, installed={})
    assert not decided.creations
    assert decided.status.reason == NOT_FOUND
    assert text in decided.status.message
    assert decided.wake_at is not None


def test_before_the_first_look_nothing_is_said() -> None:
    """The operator has just started; the API server may be slow."""
    decided = planned(asking(TOGETHER), installed=None)
    assert not decided.creations
    assert decided.status.reason == "WaitingForPods"
    assert decided.wake_at is not None


def test_a_pod_whose_peers_have_succeeded_is_scheduled_alone() -> None:
    """Its gang could never be complete again."""
    job = asking(tf_job().workers(3).scope("Replica")).counted("Worker", succeeded=2, succeeded_indexes="1-2")
    decided = planned(job, *(pod(job, "Worker", index).on("node1").succeeded() for index in (1, 2)))
    assert names(decided) == {None}


def test_a_pod_whose_peers_run_joins_them() -> None:
    job = asking(tf_job().workers(3).scope("Replica"))
    decided = planned(job, *(pod(job, "Worker", index).on("node1").running() for index in (0, 1)))
    assert (len(decided.creations), names(decided)) == (1, {groups(job)[0].name})


@pytest.mark.parametrize("name", sorted(KNOWN.keys() - {"native"}))  # which pods do not name
def test_a_pod_whose_peers_are_older_than_the_gang_is_scheduled_alone(name: str) -> None:
    """An administrator chose the scheduler while the job ran: its gang would wait for the others for ever."""
    job = tf_job().workers(3).scope("Replica")
    decided = planned(job, *(pod(job, "Worker", index).on("node1").running() for index in (0, 1)), default=name)
    assert (len(decided.creations), names(decided)) == (1, {None})


def test_a_pod_does_not_join_a_gang_that_an_edit_has_made() -> None:
    """The others are members of the one before."""
    job = asking(tf_job().workers(3).scope("Replica"), gangScheduler="volcano")
    notes = {"scheduling.k8s.io/group-name": groups(job)[0].name}
    peers = [
        replace(pod(job, "Worker", index).on("node1").running(), metadata={"annotations": notes}) for index in (0, 1)
    ]
    assert names(planned(job, *peers)) == {groups(job)[0].name}
    edited = asking(job, gangScheduler="volcano", minAvailable=2)
    assert groups(edited)[0].name != groups(job)[0].name
    assert names(planned(edited, *peers)) == {None}


def test_the_job_says_how_many_of_its_gang_are_placed() -> None:
    job = asking(tf_job().workers(2).scope("Replica"))
    waiting = pod(job, "Worker", 1).condition("PodScheduled", "False", "Unschedulable", NO_ROOM)
    decided = planned(job, pod(job, "Worker", 0).on("node1").running(), waiting)
    assert (
        decided.status.message
        == "Unschedulable: 1 of 2 pods of the gang are placed (native): 0/2 nodes: 2 Insufficient cpu"
    )


def test_only_a_scheduler_that_forgets_groups_is_reminded() -> None:
    for name in KNOWN:
        job = asking(tf_job().workers(1), gangScheduler=name)
        waiting = pod(job, "Worker").condition("PodScheduled", "False", "Unschedulable", NO_ROOM)
        assert (planned(job, waiting).retry is not None) == (name == "coscheduling"), name


def test_a_small_pod_finds_the_commit_of_a_gang_before_its_pods_are_created() -> None:
    """The first replica would hold its resources alone, and the others would wait for it and it for them."""
    job = asking(TOGETHER).with_spec(codeSource={"repository": "https://git.example/team/code.git"})
    decided = planned(job)
    assert (decided.creations, decided.prepare, decided.status.reason) == ((), True, "WaitingForCode")
    assert len(planned(job.with_status(code_revision="a" * 40)).creations) == 4
    named = job.with_spec(codeSource={"repository": "https://git.example/team/code.git", "revision": "a" * 40})
    assert len(planned(named).creations) == 4


def resolver(job: JobBuilder, **status: Any) -> Pod:  # noqa: ANN401
    meta = ObjectMeta(name=resolver_name(job.build()), namespace="team", uid="resolver")
    return Pod(metadata=meta, status=PodStatus(**status))


def fetched(code: int, message: str) -> dict[str, Any]:
    ended = Terminated(exit_code=code, message=message)
    status = ContainerStatus(name=CONTAINER, state=ContainerState(terminated=ended))
    return {"phase": "Failed" if code else "Running", "init_container_statuses": (status,)}


def test_the_commit_that_it_reports_is_recorded_and_then_it_is_deleted() -> None:
    job = asking(TOGETHER).with_spec(codeSource={"repository": "https://git.example/team/code.git"})
    found = resolver(job, **fetched(0, "b" * 40))
    decided = planned(job, others=(found,))
    assert (decided.status.code_revision, decided.deletions, decided.creations) == ("b" * 40, (), ())
    decided = planned(job.with_status(code_revision="b" * 40), others=(found,))
    assert [one.pod for one in decided.deletions] == [found]


def test_a_commit_that_cannot_be_found_fails_the_job() -> None:
    job = asking(TOGETHER).with_spec(codeSource={"repository": "https://git.example/team/code.git"})
    decided = planned(job, others=(resolver(job, **fetched(1, "no such branch")),))
    assert (decided.status.state, decided.status.reason) == ("Failed", "CodeSyncFailed")
    assert "no such branch" in decided.status.message


def test_a_pod_that_was_evicted_before_it_found_the_commit_is_created_again() -> None:
    job = asking(TOGETHER).with_spec(codeSource={"repository": "https://git.example/team/code.git"})
    found = resolver(job, phase="Failed", reason="Evicted")
    decided = planned(job, others=(found,))
    assert ([one.pod for one in decided.deletions], decided.prepare) == ([found], False)
    assert planned(job).prepare


def test_a_pod_that_is_lost_with_its_node_before_it_found_the_commit_is_created_again() -> None:
    """After the same time as the pods of replicas."""
    job = asking(TOGETHER).with_spec(codeSource={"repository": "https://git.example/team/code.git"})
    found = msgspec.structs.replace(resolver(job, phase="Running"), spec=PodSpec(node_name="node1"))
    decided = planned(job, others=(found,), lost={"node1": -30})
    assert decided.deletions == ()
    assert "NodeLost: node node1 is unreachable" in decided.status.message
    decided = planned(job, others=(found,), lost={"node1": -61})
    assert [(one.pod, one.force) for one in decided.deletions] == [(found, True)]


def test_a_pod_that_looks_for_a_commit_in_vain_does_not_outlive_the_job() -> None:
    """Nor its suspension; its last words stay, if it has any."""
    job = asking(TOGETHER).with_spec(codeSource={"repository": "https://git.example/team/code.git"})
    waits, failed = resolver(job, phase="Pending"), resolver(job, phase="Failed")
    for over in (job.said("Failed"), job.suspended()):
        assert [one.pod for one in planned(over, others=(waits,)).deletions] == [waits]
        assert planned(over, others=(failed,)).deletions == ()


def numbers(content: Mapping[str, Any]) -> set[object]:
    """All values of an object, however deep."""
    deeper = [numbers(value) if isinstance(value, Mapping) else {value} for value in content.values()]
    return set().union(*deeper)


@pytest.mark.parametrize("name", KNOWN)
def test_a_pod_joins_the_group_that_is_declared(name: str) -> None:
    """The name of its group is in every pod, and the template's own scheduler stays."""
    job = asking(torch_job().master().workers(1), gangScheduler=name, priorityClassName="high", queue="")
    gang = planned(job).creations[0].gang
    assert gang is not None
    whole = job.kind.job(job.build())
    declared = gang.declaration("Job")
    if declared is not None:
        assert declared.name == gang.group.name
        assert 2 in numbers(declared.content)
    body = pods.render(job.kind, whole, next(whole.replicas()), 0, scope="Job", settings=Settings())
    body["spec"]["schedulerName"] = "mine"
    gang.join(body)
    assert gang.group.name in str(body)
    assert body["spec"]["schedulerName"] == "mine"
    unnamed: dict[str, Any] = {**body, "spec": {**body["spec"], "schedulerName": None}}
    gang.join(unnamed)
    assert bool(unnamed["spec"]["schedulerName"]) is (name != "native")  # which is the default one
