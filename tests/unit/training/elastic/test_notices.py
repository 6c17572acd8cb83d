"""Which nodes will be taken, and when: the table of clouds, the annotation, and whatever else may stand there."""

import json
import re
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from kubedl.entrypoints.operator import parser
from kubedl.kube.types.core import Node, NodeCondition, NodeSpec, NodeStatus, Taint
from kubedl.kube.types.meta import ObjectMeta
from kubedl.training.elastic.notices import RECLAIM_AT, SOURCES, Notice, Source, notice, parse_sources
from tests.training_builders import NOW, after

ROOT = Path(__file__).parents[4]
DATE = datetime(2026, 1, 1, 12, 5, tzinfo=UTC)


def node(*taints: str, conditions: dict[str, str] | None = None, reclaim_at: str | None = None) -> Node:
    """A node as its cloud's tools leave it."""
    said = tuple(NodeCondition(type=kind, status=status) for kind, status in (conditions or {}).items())
    return Node(
        metadata=ObjectMeta(name="spot-1", annotations={RECLAIM_AT: reclaim_at} if reclaim_at is not None else {}),
        spec=NodeSpec(taints=tuple(Taint(key=key) for key in taints)),
        status=NodeStatus(conditions=said),
    )


@pytest.mark.parametrize(
    ("taint", "seconds"),
    [
        ("aws-node-termination-handler/spot-itn", 120),
        ("karpenter.sh/disrupted", None),
        ("cloud.google.com/impending-node-termination", 15),
        ("remediator.kubernetes.azure.com/unschedulable", 30),
        ("ToBeDeletedByClusterAutoscaler", None),
    ],
)
def test_taints_of_clouds_are_notices(taint: str, seconds: int | None) -> None:
    found = notice(node("other", taint), SOURCES)
    assert found == Notice(taint, timedelta(seconds=seconds) if seconds is not None else None)
    assert found.taken_at(NOW) == (after(seconds) if seconds is not None else None)


@pytest.mark.parametrize(("status", "is_one"), [("True", True), ("False", False), ("Unknown", False)])
def test_a_condition_is_one_while_it_holds(status: str, is_one: bool) -> None:
    assert (notice(node(conditions={"VMEventScheduled": status}), SOURCES) is not None) is is_one


def test_neither_a_taint_of_that_name_nor_other_ones() -> None:
    """A node that is not ready, or full, is another story."""
    assert notice(node("VMEventScheduled", "node.kubernetes.io/not-ready"), SOURCES) is None
    assert notice(node(), SOURCES) is None
    assert notice(node("aws-node-termination-handler/spot-itn"), ()) is None


def test_of_several_the_shortest_counts_and_a_date_before_all() -> None:
    both = node("karpenter.sh/disrupted", "aws-node-termination-handler/spot-itn")
    assert notice(both, SOURCES) == Notice("aws-node-termination-handler/spot-itn", timedelta(seconds=120))
    dated = node("aws-node-termination-handler/spot-itn", reclaim_at="2026-01-01T12:05:00Z")
    found = notice(dated, SOURCES)
    assert found == Notice(RECLAIM_AT, at=DATE)
    assert found.taken_at(NOW) == DATE


@pytest.mark.parametrize("text", ["2026-01-01T12:05:00Z", "2026-01-01T14:05:00.75+02:00"])
def test_a_date_has_any_zone_and_whole_seconds(text: str) -> None:
    assert notice(node(reclaim_at=text), ()) == Notice(RECLAIM_AT, at=DATE)


@pytest.mark.parametrize(
    "text",
    [
        "",
        "soon",
        "2026-01-01",
        "2026-01-01T12:05:00",
        "1767268800",
        "2026-01-01T12:05:00Z" + " " * 40,
        "0001-01-01T00:00:00+14:00",
        "9999-12-31T23:59:59-14:00",
        "2026-13-01T12:05:00Z",
    ],
)
def test_an_annotation_that_is_no_date_is_no_notice(text: str) -> None:
    assert notice(node(reclaim_at=text), ()) is None


def test_the_table_is_read_as_it_is_written() -> None:
    assert parse_sources(",".join(map(str, SOURCES))) == SOURCES
    assert parse_sources(" a.b/c=5 , condition:D ,") == (
        Source("a.b/c", window=timedelta(seconds=5)),
        Source("D", is_condition=True),
    )
    assert parse_sources("") == parse_sources("none") == ()
    assert parse_sources("none,a") == (Source("none"), Source("a"))


CHART = [("none", True), ("", False), ("a/b=5,condition:D", True), ("a,,b", False), ("a:NoSchedule", False)]


@pytest.mark.parametrize(("text", "good"), CHART)
def test_the_chart_accepts_what_has_an_effect(text: str, good: bool) -> None:
    """It leaves out a flag that is empty, so the default would hold."""
    schema = json.loads((ROOT / "deploy/chart/values.schema.json").read_text())
    pattern = schema["properties"]["operator"]["properties"]["reclaimNotices"]["pattern"]
    assert bool(re.search(pattern, text)) is good


@pytest.mark.parametrize(
    "text",
    ["=5", "condition:", "a=", "a=0", "a=-1", "a=x", "a=86401", "a=²", "a b", "x" * 400, "a:NoSchedule", "a:x=5"],
)
def test_a_source_that_is_none_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match="is not the key of a taint"):
        parse_sources(text)


def test_the_table_is_bounded() -> None:
    with pytest.raises(ValueError, match="there are 33 sources"):
        parse_sources(",".join(f"t{number}" for number in range(33)))


def test_the_flag_replaces_the_table() -> None:
    assert parser().parse_args([]).reclaim_notices == SOURCES
    assert parser().parse_args(["--reclaim-notices=a/b=7"]).reclaim_notices == (
        Source("a/b", window=timedelta(seconds=7)),
    )


@pytest.mark.parametrize("flag", ["--reclaim-notices=a=x", "--checkpoint-key-file=/nowhere"])
def test_a_flag_that_cannot_be_used_ends_the_operator(flag: str, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        parser().parse_args([flag])
    assert flag.partition("=")[0] in capsys.readouterr().err
