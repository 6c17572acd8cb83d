"""Pools of nodes: what the flag says, which jobs are refused, and what pods of a pool are given."""

import json
import re
from dataclasses import replace
from typing import Any

import pytest

from devtools.lint_repo import ROOT
from kubedl.api.spot import SpotStatus
from kubedl.entrypoints.operator import parser
from kubedl.podspec.template import TemplateError
from kubedl.training import pods
from kubedl.training.job import Replica
from kubedl.training.observed import Settings
from kubedl.training.planner import plan
from kubedl.training.spot.pools import LABEL, Pool, parse_pools
from kubedl.training.spot.refusal import refusal
from tests.training_builders import NOW, JobBuilder, observed, torch_job
from tests.unit.training.kinds.test_elastic_policy import environment
from tests.unit.training.spot.market import settings, spot_job
from tests.unit.training.spot.played_pools import POOLS

WORK = {"seconds": 3600}


def reason(builder: JobBuilder, given: Settings | None = None) -> str:
    """Why a job is refused, with the message; empty if it is not."""
    found = refusal(builder.kind.job(builder.build()), given or settings())
    return ": ".join(found) if found is not None else ""


def with_template(builder: JobBuilder, **spec: Any) -> JobBuilder:  # noqa: ANN401 - of a pod
    template = {"spec": {"containers": [{"name": "pytorch", "image": "x"}], **spec}}
    return builder.workers(2, template=template)


def test_the_flag_is_a_list_of_pools() -> None:
    text = '[{"name": "a", "spot": true, "nodeSelector": {"x/y": "z"}, "noticeSeconds": 30, "startSeconds": 900}]'
    assert parse_pools(text) == (
        Pool(name="a", spot=True, node_selector={"x/y": "z"}, notice_seconds=30, start_seconds=900),
    )
    assert parse_pools(" ") == ()
    assert parser().parse_args([f"--pools={text}"]).pools[0].name == "a"


@pytest.mark.parametrize(
    "text",
    [
        "spot",
        "{}",
        '[{"name": "a"}]',
        '[{"name": "a", "nodeSelector": {}}]',
        '[{"name": "A", "nodeSelector": {"x": "y"}}]',
        '[{"name": "a", "nodeSelector": {"x": "y"}, "price": 1}]',
        '[{"name": "a", "nodeSelector": {"x": "y"}, "tolerations": ["z"]}]',
        '[{"name": "a", "nodeSelector": {"x": "y"}}, {"name": "a", "nodeSelector": {"x": "z"}}]',
        "[" * 100_000,
    ],
)
def test_what_is_no_list_of_pools_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match="pools"):
        parse_pools(text)
    with pytest.raises(SystemExit):
        parser().parse_args([f"--pools={text}"])


def test_the_chart_accepts_a_list_or_nothing() -> None:
    schema = json.loads((ROOT / "deploy/chart/values.schema.json").read_text())
    pattern = schema["properties"]["operator"]["properties"]["pools"]["pattern"]
    assert [bool(re.search(pattern, text)) for text in ("", '[{"name": "a"}]', "spot")] == [True, True, False]


def test_without_the_flag_a_job_is_refused() -> None:
    """So it is off unless an administrator turns it on."""
    assert "PoolNotFound: spec.spot needs pools of nodes" in reason(spot_job(), Settings())
    decided = plan(observed(spot_job()))
    assert (decided.status.state, decided.status.reason, decided.creations) == ("Failed", "PoolNotFound", ())
    assert "--pools" in decided.events[0].message


def test_an_unknown_pool_is_refused() -> None:
    assert "names pool moon, and the operator knows spot, cheap, on-demand" in reason(spot_job(pools=["spot", "moon"]))


@pytest.mark.parametrize(
    ("spot", "why"),
    [
        ({"deadlineSeconds": 9, "work": WORK}, "a deadline"),
        ({"minOnDemand": 1}, "minOnDemand"),
        ({"maxWaitSeconds": 9}, "onMaxWait OnDemand"),
        ({"maxWaitSeconds": 9, "onMaxWait": "OnDemand"}, "onMaxWait OnDemand"),
    ],
)
def test_what_needs_on_demand_nodes_needs_a_pool_of_them(spot: dict[str, Any], why: str) -> None:
    assert f"{why} needs a pool of on-demand nodes" in reason(spot_job(pools=["spot"], **spot))
    assert reason(spot_job(**spot)) == ""


def test_a_job_that_came_past_the_api_server_without_elastic_is_held_back() -> None:
    """Also if it has started: whatever is stored, planning raises nothing and makes no pod."""
    builder = torch_job("bert").workers(2).with_spec(spot={"pools": ["spot"]})
    assert reason(builder).startswith("SpotInvalid: spec.spot is for elastic jobs")
    started = builder.with_status(start_time=NOW, spot=SpotStatus())
    decided = plan(replace(observed(started), settings=settings()))
    assert (decided.status.state, decided.creations) == ("Created", ())
    assert "spec.spot is for elastic jobs" in decided.status.message


def test_spot_alone_may_wait_for_ever_or_end() -> None:
    assert reason(spot_job(pools=["spot"])) == ""
    assert reason(spot_job(pools=["spot"], maxWaitSeconds=9, onMaxWait="Fail")) == ""


def test_elastic_policy_stays_refused() -> None:
    builder = torch_job("bert").workers(2).with_spec(elasticPolicy={"maxReplicas": 4}, spot={"pools": ["spot"]})
    assert "cannot be used with elasticPolicy" in reason(builder)
    rules = [rule for rule in builder.kind.custom_resource.rules if "elasticPolicy and spot" in rule.message]
    assert [rule.expression for rule in rules] == ["!has(self.spot) || !has(self.elasticPolicy)"]


NOT_ON_DEMAND = {"matchExpressions": [{"key": "capacity", "operator": "NotIn", "values": ["on-demand"]}]}


@pytest.mark.parametrize(
    "spec",
    [
        {"nodeSelector": {"capacity": "spot"}},
        {"nodeName": "node1"},
        {
            "affinity": {
                "nodeAffinity": {
                    "requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": [NOT_ON_DEMAND]}
                }
            }
        },
    ],
)
def test_a_template_that_excludes_any_pool_is_refused(spec: dict[str, Any]) -> None:
    """Here the second one, where pods come to be only later."""
    assert reason(with_template(spot_job(), **spec)).startswith("PoolExcluded: the template of Worker has a node")


def test_a_toleration_that_contradicts_that_of_any_pool_is_refused() -> None:
    pools = parse_pools(
        '[{"name": "spot", "spot": true, "nodeSelector": {"a": "b"}},'
        ' {"name": "on-demand", "nodeSelector": {"a": "c"}, "tolerations": [{"key": "t", "tolerationSeconds": 9}]}]'
    )
    builder = with_template(spot_job(), tolerations=[{"key": "t", "tolerationSeconds": 5}])
    assert "tolerates t for another time than the pool on-demand" in reason(builder, settings(pools=pools))
    same = with_template(spot_job(), tolerations=[{"key": "t", "tolerationSeconds": 9}])
    assert reason(same, settings(pools=pools)) == ""


def test_a_template_may_say_more_about_its_nodes() -> None:
    assert reason(with_template(spot_job(), nodeSelector={"zone": "a", "capacity": "spot"})) != ""
    assert reason(with_template(spot_job(), nodeSelector={"zone": "a"})) == ""


def rendered(builder: JobBuilder, index: int, given: Settings | None = None) -> dict[str, Any]:
    job = builder.kind.job(builder.build())
    return pods.render(builder.kind, job, Replica("Worker", index), 0, scope="Job", settings=given or settings())


def decided(builder: JobBuilder) -> JobBuilder:
    """The job after its pools were chosen."""
    first = plan(replace(observed(builder), settings=settings()))
    assert first.creations == ()
    return builder.with_status(spot=first.status.spot)


def test_a_pod_gets_what_sends_it_to_its_pool() -> None:
    builder = decided(with_template(spot_job(2, minOnDemand=1), nodeSelector={"zone": "a"}))
    first, second = rendered(builder, 0), rendered(builder, 1)
    assert (first["metadata"]["labels"][LABEL], second["metadata"]["labels"][LABEL]) == ("on-demand", "spot")
    assert second["spec"]["nodeSelector"] == {"zone": "a", "capacity": "spot"}
    assert second["spec"]["tolerations"] == [{"key": "spot"}]
    assert first["spec"]["nodeSelector"]["capacity"] == "on-demand"
    assert "tolerations" not in first["spec"]


def test_no_pod_is_made_before_its_pool_is_in_the_status_or_for_one_that_is_gone() -> None:
    with pytest.raises(TemplateError, match="belongs to no pool yet"):
        rendered(spot_job(), 0)
    with pytest.raises(TemplateError, match="names pool on-demand"):
        rendered(decided(spot_job()), 0, settings(pools=POOLS[:2]))


def test_workers_wait_an_hour_for_the_first_replica() -> None:
    """A minute, as torchrun does by itself, would cost a retry each time that it has no node."""
    assert environment(spot_job())["PET_RDZV_CONF"].endswith("last_call_timeout=5,read_timeout=3600")
    elastic = torch_job("bert").workers(2).with_spec(elastic={"maxReplicas": 4})
    assert "read_timeout" not in environment(elastic)["PET_RDZV_CONF"]
