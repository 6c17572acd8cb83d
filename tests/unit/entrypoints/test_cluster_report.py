"""The table of the start: what was found, what is off, and why; and no operator that does not start for it."""

import argparse
import json
from typing import Any

import pytest

from kubedl.entrypoints import cluster_report, operator
from kubedl.entrypoints.cluster_report import ClusterReport, render
from kubedl.entrypoints.operator import parser
from kubedl.kube.errors import ForbiddenError, UnknownOutcomeError
from kubedl.training.kinds import all_kinds

GROUPS = {
    "training.kubedl.io": ["v1alpha1"],
    "scheduling.k8s.io": ["v1", "v1alpha2"],
    "scheduling.volcano.sh": ["v1beta1"],
    "kueue.x-k8s.io": ["v1beta2"],
    "gateway.networking.k8s.io": ["v1", "v1beta1"],
    "metrics.k8s.io": ["v1beta1"],
}


class FakeClient:
    """Answers what a test has it answer."""

    def __init__(self, groups: dict[str, list[str]], *, strips: bool = False, refuses: bool = False) -> None:
        self.groups, self.strips, self.refuses = groups, strips, refuses
        self.minor = "36"

    async def call(self, verb: str, _resource: object, path: str, **more: Any) -> bytes:  # noqa: ANN401
        answer: Any
        match verb, path:
            case "get", "/version":
                answer = {"major": "1", "minor": self.minor, "gitVersion": f"v1.{self.minor}.4"}
            case "get", "/apis":
                entries = [(name, [{"version": one} for one in versions]) for name, versions in self.groups.items()]
                answer = {"groups": [{"name": name, "versions": versions} for name, versions in entries]}
            case "get", _:
                answer = {"resources": [{"name": kind.plural} for kind in all_kinds() if kind.kind != "JAXJob"]}
            case _:
                assert more["params"] == {"dryRun": "All"}
                if self.refuses:
                    raise ForbiddenError(403, "Forbidden", "a policy says no")
                answer = more["body"] if not self.strips else {"spec": {"volumes": [{"name": "model", "emptyDir": {}}]}}
        return json.dumps(answer).encode()


def options(*arguments: str) -> argparse.Namespace:
    return parser().parse_args(arguments)


async def seen(client: FakeClient, *arguments: str) -> dict[str, ClusterReport]:
    found = await cluster_report.collect(client, options(*arguments), "team")  # type: ignore[arg-type]
    return {one.what: one for one in found}


async def test_a_cluster_that_has_much() -> None:
    found = await seen(FakeClient(GROUPS), "--gateway=gateways/public", "--prometheus=http://prometheus:9090")
    assert found["Kubernetes"] == ClusterReport("Kubernetes", "on", "v1.36.4")
    assert (found["kinds"].state, found["kinds"].why) == ("on", "not installed: JAXJob")
    assert found["gang scheduling"].found == "native (v1alpha2), volcano (v1beta1)"
    assert (found["Kueue"].state, found["Kueue"].found) == ("on", "kueue.x-k8s.io v1beta2")
    assert found["Gateway API"] == ClusterReport("Gateway API", "on", "gateway.networking.k8s.io v1")
    assert found["image volumes"].state == "on"
    assert found["pod metrics"].state == "on"
    assert found["rollout analysis"] == ClusterReport("rollout analysis", "on", "http://prometheus:9090")
    assert found["Fluid"].found == "not installed"


async def test_a_cluster_that_has_nothing() -> None:
    """Every row that is off says why."""
    found = await seen(FakeClient({}, strips=True))
    assert found["kinds"].found == "none"
    assert found["gang scheduling"].found == "none"
    assert [one.what for one in found.values() if one.state == "off" and not one.why] == []
    assert found["image volumes"] == ClusterReport(
        "image volumes", "off", "stripped from pods", "each predictor pod downloads its model in an init container"
    )
    assert [one.what for one in found.values() if one.state == "on"] == ["Kubernetes", "namespaces", "metrics"]


async def test_a_gang_scheduler_that_has_no_api_is_believed() -> None:
    found = await seen(FakeClient({}, strips=True), "--gang-scheduler=yunikorn")
    assert (found["gang scheduling"].state, found["gang scheduling"].found) == ("on", "yunikorn (cannot be looked for)")


async def test_an_old_server_and_a_policy_that_refuses_the_question() -> None:
    client = FakeClient(GROUPS, refuses=True)
    client.minor = "29+"
    found = await seen(client)
    assert (found["Kubernetes"].state, found["Kubernetes"].why) == ("?", "older than the tested versions")
    assert (found["image volumes"].state, found["image volumes"].why) == ("?", "a policy says no")


async def test_roles_only_is_said() -> None:
    found = await seen(FakeClient(GROUPS), "--namespace=team", "--without-cluster-role")
    assert (found["namespaces"].found, "lost nodes are not detected" in found["namespaces"].why) == ("team", True)


def test_roles_only_are_for_one_namespace(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit, match="2"):
        operator.main(["--without-cluster-role"])
    assert "--without-cluster-role requires --namespace" in capsys.readouterr().err


@pytest.mark.looptime
async def test_a_server_that_does_not_answer_is_asked_again(monkeypatch: pytest.MonkeyPatch) -> None:
    """Nor does an answer that makes no sense end the operator."""
    answers: list[Exception | list[ClusterReport]] = [
        UnknownOutcomeError(0, "", "cut off"),
        KeyError("spec"),
        [ClusterReport("a", "on", "b")],
    ]

    async def unsure(*_: object) -> list[ClusterReport]:
        answer = answers.pop(0)
        if isinstance(answer, Exception):
            raise answer
        return answer

    monkeypatch.setattr(cluster_report, "collect", unsure)
    written: list[str] = []
    await cluster_report.publish(FakeClient({}), options(), "team", written.append)  # type: ignore[arg-type]
    assert (len(written), answers) == (1, [])


async def test_it_is_written_once_as_a_table() -> None:
    written: list[str] = []
    await cluster_report.publish(FakeClient(GROUPS), options(), "team", written.append)  # type: ignore[arg-type]
    [text] = written
    assert text.splitlines()[0].split() == ["what", "found", "reason", "or", "consequence"]
    assert text.count("\n") == 2 + len(await seen(FakeClient(GROUPS)))


def test_columns_stand_below_each_other() -> None:
    text = render([ClusterReport("Kueue", "off", "not installed", "Why."), ClusterReport("a", "on", "b")])
    assert text.splitlines()[2:] == [
        "Kueue  off  not installed  Why.",
        "a      on   b",
    ]
