"""Settings of the operator's pods, as other charts have them."""

from typing import Any

import pytest

from harness.drivers.helm import Helm
from testbed.api import Object
from testbed.errors import TestbedError
from tests.chart.rendered import the

SELECTOR = {
    "matchLabels": {
        f"app.kubernetes.io/{key}": value
        for key, value in (("name", "kubedl"), ("instance", "kubedl"), ("component", "operator"))
    }
}
ZONES = {"maxSkew": 1, "topologyKey": "topology.kubernetes.io/zone", "whenUnsatisfiable": "ScheduleAnyway"}
OWN_SELECTOR = {**ZONES, "labelSelector": {"matchLabels": {"a": "b"}}}
SIDECAR = {"name": "proxy", "image": "registry.example/proxy:1"}


def deployment(helm: Helm, values: dict[str, Any]) -> Object:
    return the(helm.template({"crds": {"install": False}, **values}), "Deployment")


def pod(helm: Helm, values: dict[str, Any]) -> Object:
    spec: Object = deployment(helm, values)["spec"]["template"]["spec"]
    return spec


@pytest.mark.parametrize(
    ("key", "value"),
    [
        ("hostAliases", [{"ip": "10.0.0.1", "hostnames": ["registry.example"]}]),
        ("dnsPolicy", "None"),
        ("dnsConfig", {"nameservers": ["10.0.0.53"]}),
        ("hostUsers", False),
        ("runtimeClassName", "gvisor"),
        ("enableServiceLinks", False),
        ("terminationGracePeriodSeconds", 1_000_000),
        ("initContainers", [SIDECAR]),
        ("nodeSelector", {"pool": "system"}),
        ("tolerations", [{"operator": "Exists"}]),
        ("priorityClassName", "system-cluster-critical"),
        ("topologySpreadConstraints", [OWN_SELECTOR]),
        ("affinity", {"nodeAffinity": {}}),
    ],
)
def test_a_field_of_the_pod_is_as_it_was_set(helm: Helm, key: str, value: object) -> None:
    before, after = pod(helm, {}), pod(helm, {key: value})
    assert after == {**before, key: value}
    assert before.get(key) != value


@pytest.mark.parametrize(("key", "value"), [("revisionHistoryLimit", 0), ("strategy", {"type": "Recreate"})])
def test_a_field_of_the_deployment_is_as_it_was_set(helm: Helm, key: str, value: object) -> None:
    before, after = deployment(helm, {})["spec"], deployment(helm, {key: value})["spec"]
    assert after == {**before, key: value}
    assert before[key] != value


def test_the_deployment_can_be_annotated(helm: Helm) -> None:
    """And its pods, each for itself."""
    made = deployment(helm, {"deploymentAnnotations": {"owner": "ml"}})
    assert made["metadata"]["annotations"] == {"owner": "ml"}
    assert "annotations" not in made["spec"]["template"]["metadata"]
    made = deployment(helm, {"podAnnotations": {"sidecar": "no"}})
    assert made["spec"]["template"]["metadata"]["annotations"] == {"sidecar": "no"}
    assert "annotations" not in made["metadata"]


def test_replicas_are_spread_by_their_own_labels(helm: Helm) -> None:
    """A constraint without a selector would count every pod of the namespace."""
    [made] = pod(helm, {"topologySpreadConstraints": [ZONES]})["topologySpreadConstraints"]
    assert made == {**ZONES, "labelSelector": SELECTOR}


def test_a_sidecar_is_behind_the_operator(helm: Helm) -> None:
    """`kubectl logs` shows the first container."""
    before, after = pod(helm, {})["containers"], pod(helm, {"extraContainers": [SIDECAR]})["containers"]
    assert after == [*before, SIDECAR]


def test_variables_come_from_config_maps_too(helm: Helm) -> None:
    source = [{"configMapRef": {"name": "proxy"}}]
    assert pod(helm, {"envFrom": source})["containers"][0]["envFrom"] == source


@pytest.mark.parametrize(("probe", "path"), [("livenessProbe", "/healthz"), ("readinessProbe", "/readyz")])
def test_a_probe_may_be_slower_but_asks_the_same(helm: Helm, probe: str, path: str) -> None:
    before = pod(helm, {})["containers"][0][probe]
    after = pod(helm, {probe: {"initialDelaySeconds": 7, "timeoutSeconds": 20}})["containers"][0][probe]
    assert before["httpGet"] == {"path": path, "port": "http"}
    assert after == {**before, "initialDelaySeconds": 7, "timeoutSeconds": 20}


def test_a_security_context_is_changed_field_by_field(helm: Helm) -> None:
    """What is not named stays restricted."""
    before = pod(helm, {})
    values = {
        "securityContext": {"runAsUser": None, "runAsGroup": 1000},
        "podSecurityContext": {"fsGroup": 2000},
    }
    after = pod(helm, values)
    own = before["containers"][0]["securityContext"]
    expected = {**own, "runAsGroup": 1000}
    del expected["runAsUser"]
    assert after["containers"][0]["securityContext"] == expected
    assert after["securityContext"] == {**before["securityContext"], "fsGroup": 2000}


def test_the_test_has_the_security_context_of_the_operator(helm: Helm) -> None:
    """It runs in the same namespace, under the same policy."""
    made = helm.template({"securityContext": {"runAsUser": 1000}, "podSecurityContext": {"fsGroup": 2000}})
    test, operator = the(made, "Pod")["spec"], the(made, "Deployment")["spec"]["template"]["spec"]
    assert test["securityContext"] == operator["securityContext"]
    assert test["containers"][0]["securityContext"] == operator["containers"][0]["securityContext"]


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        ({}, {"minAvailable": 1}),
        ({"minAvailable": 2}, {"minAvailable": 2}),
        ({"minAvailable": 0}, {"minAvailable": 0}),
        ({"minAvailable": "50%"}, {"minAvailable": "50%"}),
        ({"maxUnavailable": 1}, {"maxUnavailable": 1}),
        ({"maxUnavailable": "25%"}, {"maxUnavailable": "25%"}),
    ],
)
def test_the_budget_has_the_numbers_that_were_set(
    helm: Helm, given: dict[str, object], expected: dict[str, object]
) -> None:
    spec = the(helm.template({"replicas": 3, "podDisruptionBudget": given}), "PodDisruptionBudget")["spec"]
    assert {key: spec[key] for key in spec if key.endswith("vailable")} == expected
    assert spec["unhealthyPodEvictionPolicy"] == "AlwaysAllow"


def test_unhealthy_pods_can_be_protected_too(helm: Helm) -> None:
    values = {"podDisruptionBudget": {"unhealthyPodEvictionPolicy": "IfHealthyBudget"}}
    assert the(helm.template(values), "PodDisruptionBudget")["spec"]["unhealthyPodEvictionPolicy"] == "IfHealthyBudget"


@pytest.mark.parametrize(
    ("values", "said"),
    [
        ({"podDisruptionBudget": {"minAvailable": 1, "maxUnavailable": 1}}, "minAvailable or maxUnavailable, not both"),
        ({"podDisruptionBudget": {"minAvailable": 2}}, "no node could be drained"),
        ({"podDisruptionBudget": {"minAvailable": "100%"}}, "no node could be drained"),
        ({"podDisruptionBudget": {"minAvailable": "51%"}}, "no node could be drained"),  # of two, rounded up
        (
            {"operator": {"noLeaderElection": True}, "replicas": 1, "strategy": {"type": "RollingUpdate"}},
            "the old pod must end before",
        ),
        ({"operator": {"omitRunAsUser": True}, "securityContext": {"runAsUser": 1000}}, "must not set runAsUser"),
        ({"operator": {"omitRunAsUser": True}, "podSecurityContext": {"runAsUser": 1000}}, "must not set runAsUser"),
        ({"podDisruptionBudget": {"maxUnavailable": 0}}, "/podDisruptionBudget/maxUnavailable'"),
        ({"securityContext": {"fsGroup": 1}}, "fsGroup"),
        ({"livenessProbe": {"httpGet": {"path": "/"}}}, "httpGet"),
        ({"topologySpreadConstraints": [{"maxSkew": 1}]}, "/topologySpreadConstraints/0'"),
        ({"extraContainers": [{"name": "proxy"}]}, "/extraContainers/0'"),
        ({"hostAliases": [{"ip": "10.0.0.1"}]}, "/hostAliases/0'"),
        ({"dnsPolicy": "Cluster"}, "/dnsPolicy'"),
        ({"envFrom": [{"configMap": "proxy"}]}, "/envFrom/0'"),
        ({"strategy": {"maxSurge": 1}}, "/strategy'"),
    ],
)
def test_what_could_not_work_is_refused(helm: Helm, values: dict[str, Any], said: str) -> None:
    with pytest.raises(TestbedError, match=said):
        helm.template(values)


def test_one_without_an_election_may_be_recreated_explicitly(helm: Helm) -> None:
    values = {"operator": {"noLeaderElection": True}, "replicas": 1, "strategy": {"type": "Recreate"}}
    assert deployment(helm, values)["spec"]["strategy"] == {"type": "Recreate"}
