"""A value reaches the operator as its own parser reads it; one with which the operator would not start is refused."""

import argparse
import base64
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest

from devtools.flags import OF_THE_CHART, flags
from harness.drivers.helm import Helm
from kubedl.datasets.host_paths import HostPaths
from kubedl.entrypoints.operator import parser
from kubedl.podspec.model_volumes import FileSystems
from kubedl.serving.rollout import promql
from kubedl.serving.routing import GatewayRef
from kubedl.training.elastic.notices import Source
from kubedl.training.host_network.ports import PortRange
from kubedl.training.spot.pools import Pool
from testbed.errors import TestbedError
from tests.chart.rendered import arguments, the

PROMETHEUS = "http://prometheus.monitoring:9090"
# A value of each that is not the default, numbers that JSON likes to write otherwise among them; what it becomes.
SAMPLES: dict[str, tuple[Any, Any]] = {
    "noLeaderElection": (True, True),
    "leaseNamespace": ("elsewhere", "elsewhere"),
    "leaseSeconds": (20.5, 20.5),
    "leaseRenewSeconds": (12, 12.0),
    "leaseRetrySeconds": (0.000001, 0.000001),
    "watchSilenceSeconds": (90, 90.0),
    "workers": (1_000_000, 1_000_000),
    "callsPerSecond": (12345678, 12345678.0),
    "callsBurst": (10**9, 10**9),
    "nodeGraceSeconds": (0, 0.0),
    "maxLostNodesPercent": (50, 50.0),
    "settleSeconds": (86400, 86400.0),
    "clusterDomain": ("example.org", "example.org"),
    "gitImage": ("hub:5000/it's#git:1", "hub:5000/it's#git:1"),
    "gangScheduler": ("volcano", "volcano"),
    "hostnetworkPortRange": ("7000-7099", PortRange(7000, 7099)),
    "gangReleaseSeconds": (900, 900.0),
    "reclaimNotices": ("condition:Gone=7", (Source("Gone", is_condition=True, window=timedelta(seconds=7)),)),
    "pools": (
        '[{"name": "a", "nodeSelector": {"x/b": "c"}}]',
        (Pool(name="a", node_selector={"x/b": "c"}),),
    ),
    "packerImage": ("hub:5000/packer@sha256:0", "hub:5000/packer@sha256:0"),
    "packerPullSecrets": ("hub,mirror.example", ("hub", "mirror.example")),
    "gateway": ("infra/public/https", GatewayRef("public", "infra", "https")),
    "inferenceDomain": ("models.example.org", "models.example.org"),
    "prometheus": (PROMETHEUS, PROMETHEUS),
    "analysisQueries": ("istio", promql.ISTIO),
    "efsFileSystems": ("fs-1,team/fs-2", FileSystems.parse("fs-1,team/fs-2")),
    "cacheHostPaths": ("/mnt/data", HostPaths.parse("/mnt/data")),
    "omitRunAsUser": (True, True),
    "logFormat": ("console", "console"),
    "logLevel": ("debug", "debug"),
}
BESIDE: dict[str, dict[str, Any]] = {
    "noLeaderElection": {"replicas": 1},
    "analysisQueries": {"operator": {"prometheus": PROMETHEUS}},
}
KEY_FILE = "--checkpoint-key-file"  # is read when the operator starts
CHOSEN = [flag for flag in flags() if flag.name not in OF_THE_CHART]


@pytest.mark.parametrize("key", [flag.key for flag in CHOSEN if flag.name != KEY_FILE])
def test_every_flag_can_be_set(helm: Helm, key: str) -> None:
    """Its value becomes the option of its flag, and no other option changes with it."""
    beside = BESIDE.get(key, {})
    value, option = SAMPLES[key]
    before = _options(helm, beside)
    after = _options(helm, {**beside, "operator": {**beside.get("operator", {}), key: value}})
    [destination] = [flag.name.removeprefix("--").replace("-", "_") for flag in CHOSEN if flag.key == key]
    assert getattr(before, destination) != option
    assert vars(after) == {**vars(before), destination: option}


def test_no_taint_may_be_a_notice(helm: Helm) -> None:
    assert _options(helm, {"operator": {"reclaimNotices": "none"}}).reclaim_notices == ()


def test_the_file_of_the_checkpoint_key_can_be_set(helm: Helm, tmp_path: Path) -> None:
    file, key = tmp_path / "key", bytes(range(32))
    file.write_bytes(base64.b64encode(key))
    assert _options(helm, {"operator": {"checkpointKeyFile": str(file)}}).checkpoint_key_file == key


def test_defaults_of_the_chart_are_those_of_the_operator(helm: Helm) -> None:
    """But for what only the chart knows."""
    given, own = vars(_options(helm, {})), vars(parser().parse_args([]))
    assert {key for key in own if own[key] != given[key]} == {"address", "lease_namespace", "packer_image"}
    assert given["address"] == "*:8080"  # a pod may have an address of either family


def test_one_namespace_is_an_option_too(helm: Helm) -> None:
    options = _options(helm, {"namespace": "123"})
    assert (options.namespace, options.without_cluster_role, options.lease_namespace) == ("123", True, "123")


@pytest.mark.parametrize(
    ("wrong", "said"),
    [
        ({"analysisQueries": "istio"}, "/operator/prometheus'"),
        ({"prometheus": "prometheus:9090"}, "/operator/prometheus'"),
        ({"gatewayMetrics": "http://traefik:9100"}, "gatewayMetrics"),
        ({"gateway": "public"}, "operator.gateway: write NAMESPACE/NAME"),
        ({"gateway": "a/b/c/d"}, "operator.gateway: write NAMESPACE/NAME"),
        ({"gateway": "infra/"}, "operator.gateway: write NAMESPACE/NAME"),
        ({"workers": 0}, "/operator/workers'"),
        ({"callsBurst": 0}, "/operator/callsBurst'"),
        ({"callsPerSecond": -1}, "/operator/callsPerSecond'"),
        ({"watchSilenceSeconds": 0}, "/operator/watchSilenceSeconds'"),
        ({"nodeGraceSeconds": -1}, "/operator/nodeGraceSeconds'"),
        ({"settleSeconds": -1}, "/operator/settleSeconds'"),
        ({"leaseRetrySeconds": 0}, "/operator/leaseRetrySeconds'"),
        ({"leaseNamespace": "Mine"}, "/operator/leaseNamespace'"),
        ({"clusterDomain": "cluster local"}, "/operator/clusterDomain'"),
        ({"inferenceDomain": "*.example.org"}, "/operator/inferenceDomain'"),
        ({"efsFileSystems": "arn:aws:1"}, "/operator/efsFileSystems'"),
        ({"cacheHostPaths": "data"}, "/operator/cacheHostPaths'"),
        ({"reclaimNotices": ""}, "/operator/reclaimNotices'"),
        ({"pools": "spot"}, "/operator/pools'"),
        ({"packerPullSecrets": "Hub"}, "/operator/packerPullSecrets'"),
        ({"leaseSeconds": 10}, "less than leaseSeconds"),
        ({"leaseRetrySeconds": 5}, "more than twice leaseRetrySeconds"),
    ],
)
def test_what_the_operator_would_end_at_is_refused(helm: Helm, wrong: dict[str, Any], said: str) -> None:
    """By Helm, before anything is changed, and not by pods that end again and again."""
    with pytest.raises(TestbedError, match=said):
        helm.template({"operator": wrong})


def test_several_without_an_election_are_refused(helm: Helm) -> None:
    """One that is left alone with it is not started beside the one before."""
    with pytest.raises(TestbedError, match="set replicas=1"):
        helm.template({"operator": {"noLeaderElection": True}})
    alone = helm.template({"operator": {"noLeaderElection": True}, "replicas": 1})
    assert the(alone, "Deployment")["spec"]["strategy"] == {"type": "Recreate"}


def _options(helm: Helm, values: dict[str, Any]) -> argparse.Namespace:
    process, *given = arguments(helm.template({"crds": {"install": False}, **values}))
    assert process == "operator"
    return parser().parse_args(given)
