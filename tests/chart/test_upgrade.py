"""An upgrade with the values of an earlier release keeps every name, and the selectors, which cannot be changed."""

from typing import Any

import pytest

from harness.drivers.helm import Helm
from tests.chart.rendered import the

SELECTOR = {
    "app.kubernetes.io/name": "kubedl",
    "app.kubernetes.io/instance": "kubedl",
    "app.kubernetes.io/component": "operator",
}
EVERYWHERE = {
    ("ServiceAccount", "kubedl-operator"),
    ("ClusterRole", "kubedl-operator"),
    ("ClusterRole", "kubedl-view"),
    ("ClusterRole", "kubedl-edit"),
    ("ClusterRoleBinding", "kubedl-operator"),
    ("Role", "kubedl-operator-lease"),
    ("RoleBinding", "kubedl-operator-lease"),
    ("FlowSchema", "kubedl-operator"),
    ("FlowSchema", "kubedl-operator-lease"),
    ("Deployment", "kubedl-operator"),
    ("Service", "kubedl-operator"),
    ("NetworkPolicy", "kubedl-operator"),
    ("PodDisruptionBudget", "kubedl-operator"),
    ("ServiceMonitor", "kubedl-operator"),
    ("PrometheusRule", "kubedl-operator"),
    ("ConfigMap", "kubedl-dashboard"),
    ("ServiceAccount", "kubedl-smoke-test"),
    ("Role", "kubedl-smoke-test"),
    ("RoleBinding", "kubedl-smoke-test"),
    ("Pod", "kubedl-smoke-test"),
}
CLUSTER_WIDE = {one for one in EVERYWHERE if one[0] in {"ClusterRole", "ClusterRoleBinding", "FlowSchema"}}
IN_ONE_NAMESPACE = {("Role", "kubedl-operator"), ("RoleBinding", "kubedl-operator")}
# As a user of the first release wrote them.
OLD: dict[str, Any] = {
    "replicas": 3,
    "crds": {"install": False},
    "imagePullSecrets": [{"name": "regcred"}],
    "env": [{"name": "HTTPS_PROXY", "value": "http://proxy:3128"}],
    "serviceAccount": {"annotations": {"role": "kubedl"}},
    "podLabels": {"tier": "platform"},
    "global": {"imageRegistry": "mirror.example", "other": {"chart": True}},
    "metrics": {name: {"create": True} for name in ("serviceMonitor", "rules", "dashboard")},
}


@pytest.mark.parametrize(
    ("namespace", "expected"), [("", EVERYWHERE), ("team", EVERYWHERE - CLUSTER_WIDE | IN_ONE_NAMESPACE)]
)
def test_names_stay(helm: Helm, namespace: str, expected: set[tuple[str, str]]) -> None:
    made = helm.template({**OLD, "namespace": namespace})
    assert {(one["kind"], one["metadata"]["name"]) for one in made} == expected


def test_selectors_stay(helm: Helm) -> None:
    made = helm.template(OLD)
    assert the(made, "Deployment")["spec"]["selector"] == {"matchLabels": SELECTOR}
    assert the(made, "Service")["spec"]["selector"] == SELECTOR
    for kind in ("PodDisruptionBudget", "ServiceMonitor"):
        assert the(made, kind)["spec"]["selector"] == {"matchLabels": SELECTOR}
    assert the(made, "NetworkPolicy")["spec"]["podSelector"] == {"matchLabels": SELECTOR}
    labels = the(made, "Deployment")["spec"]["template"]["metadata"]["labels"]
    assert labels == {**SELECTOR, "tier": "platform"}


def test_a_role_is_bound_as_before(helm: Helm) -> None:
    """roleRef is immutable too."""
    made = helm.template(OLD)
    bound = {
        (one["kind"], one["roleRef"]["kind"], one["roleRef"]["name"], one["subjects"][0]["name"])
        for one in made
        if "roleRef" in one
    }
    assert bound == {
        ("ClusterRoleBinding", "ClusterRole", "kubedl-operator", "kubedl-operator"),
        ("RoleBinding", "Role", "kubedl-operator-lease", "kubedl-operator"),
        ("RoleBinding", "Role", "kubedl-smoke-test", "kubedl-smoke-test"),
    }


def test_a_registry_of_other_charts_does_not_move_the_image(helm: Helm) -> None:
    """A repository that names its registry keeps it."""
    deployment = the(helm.template(OLD), "Deployment")
    assert deployment["spec"]["template"]["spec"]["containers"][0]["image"].startswith("registry.example/kubedl:")


@pytest.mark.parametrize(("release", "name"), [("kubedl", "kubedl"), ("my-kubedl", "my-kubedl"), ("ml", "ml-kubedl")])
def test_the_name_follows_from_the_release(helm: Helm, release: str, name: str) -> None:
    made = helm.template(OLD, release=release)
    assert the(made, "Deployment")["metadata"]["name"] == f"{name}-operator"
    assert the(made, "ConfigMap")["metadata"]["name"] == f"{name}-dashboard"
