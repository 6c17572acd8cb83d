"""Names and labels of objects, accounts and roles of other teams, and objects of the user's own."""

from typing import Any

import pytest

from harness.drivers.helm import Helm
from testbed.api import Object
from testbed.errors import TestbedError
from tests.chart.rendered import the

MONITORED = {"metrics": {name: {"create": True} for name in ("serviceMonitor", "rules", "dashboard")}}


def accounts(objects: list[Object]) -> set[str]:
    """Names of the ServiceAccounts that a role, a FlowSchema or the Deployment is for, except those of the test."""
    bound = {subject["name"] for one in objects for subject in one.get("subjects") or ()}
    schemas = {
        subject["serviceAccount"]["name"]
        for one in objects
        if one["kind"] == "FlowSchema"
        for rule in one["spec"]["rules"]
        for subject in rule["subjects"]
    }
    pods = {the(objects, "Deployment")["spec"]["template"]["spec"]["serviceAccountName"]}
    return {name for name in bound | schemas | pods if not name.endswith("-smoke-test")}


@pytest.mark.parametrize(
    ("values", "release", "name"),
    [
        ({"nameOverride": "ml"}, "here", "here-ml"),
        ({"nameOverride": "ml"}, "html", "html"),
        ({"fullnameOverride": "training"}, "here", "training"),
        ({"fullnameOverride": "training", "nameOverride": "123"}, "here", "training"),
    ],
)
def test_names_can_be_chosen(helm: Helm, values: dict[str, Any], release: str, name: str) -> None:
    """All of them at once: a name that stays behind would be shared by two releases."""
    made = [
        one
        for one in helm.template({**values, **MONITORED}, release=release)
        if one["kind"] != "CustomResourceDefinition"
    ]
    assert [one["metadata"]["name"] for one in made if not one["metadata"]["name"].startswith(f"{name}-")] == []
    assert the(made, "Deployment")["metadata"]["name"] == f"{name}-operator"
    assert accounts(made) == {f"{name}-operator"}


@pytest.mark.parametrize("release", ["r" * 53, f"{'r' * 45}-{'r' * 7}"])
def test_long_names_are_cut(helm: Helm, release: str) -> None:
    """A Service has at most 63 characters, and no name has a dash before the dash of its ending."""
    for values in ({}, {"nameOverride": "n" * 63}, {"fullnameOverride": "n" * 54}):
        name = the(helm.template(values, release=release), "Service")["metadata"]["name"]
        assert len(name) <= 63
        assert "--" not in name


def test_an_override_of_the_name_is_in_the_selector_as_text(helm: Helm) -> None:
    spec = the(helm.template({"nameOverride": "123"}), "Deployment")["spec"]
    assert spec["selector"]["matchLabels"]["app.kubernetes.io/name"] == "123"
    assert spec["template"]["metadata"]["labels"]["app.kubernetes.io/name"] == "123"


def test_common_labels_are_everywhere_but_in_selectors(helm: Helm) -> None:
    """CRDs and the test among them: a policy asks all objects for them."""
    labels = {"cost-centre": "42", "owner": "ml"}
    before, after = helm.template(MONITORED), helm.template({**MONITORED, "commonLabels": labels})
    for old, new in zip(before, after, strict=True):
        assert new["metadata"]["labels"] == {**old["metadata"].get("labels", {}), **labels}
        if new["kind"] != "Deployment":
            assert new["metadata"] | {"labels": 0} == old["metadata"] | {"labels": 0}
            assert new.get("spec") == old.get("spec")
    old, new = (the(made, "Deployment")["spec"] for made in (before, after))
    assert new["selector"] == old["selector"]
    assert new["template"]["metadata"]["labels"] == {**old["template"]["metadata"]["labels"], **labels}


def test_labels_of_one_object_go_before_common_ones(helm: Helm) -> None:
    """The same key twice would be no YAML."""
    values = {
        "commonLabels": {"owner": "ml"},
        "podLabels": {"owner": "pods"},
        "service": {"labels": {"owner": "service"}, "annotations": {"a": "b"}},
        "serviceAccount": {"labels": {"owner": "account"}, "annotations": {"a": "b"}},
    }
    made = helm.template(values)
    [account] = [
        one for one in made if one["kind"] == "ServiceAccount" and one["metadata"]["name"] == "kubedl-operator"
    ]
    assert account["metadata"]["labels"]["owner"] == "account"
    assert account["metadata"]["annotations"] == {"a": "b"}
    assert the(made, "Service")["metadata"]["labels"]["owner"] == "service"
    assert the(made, "Service")["metadata"]["annotations"] == {"a": "b"}
    assert the(made, "Deployment")["metadata"]["labels"]["owner"] == "ml"
    assert the(made, "Deployment")["spec"]["template"]["metadata"]["labels"]["owner"] == "pods"


def test_the_operators_selector_matches_no_test(helm: Helm) -> None:
    made = helm.template({"commonLabels": {"owner": "ml"}})
    assert the(made, "Pod")["metadata"]["labels"] == {"owner": "ml"}


def test_the_service_may_have_two_families(helm: Helm) -> None:
    values = {"service": {"ipFamilyPolicy": "PreferDualStack", "ipFamilies": ["IPv6", "IPv4"]}}
    before, after = the(helm.template(), "Service")["spec"], the(helm.template(values), "Service")["spec"]
    assert after == {**before, **values["service"]}


@pytest.mark.parametrize("create", [True, False])
def test_an_account_of_another_name_has_every_right(helm: Helm, create: bool) -> None:
    """One that another team made is not made again."""
    made = helm.template({"serviceAccount": {"create": create, "name": "robot"}})
    assert accounts(made) == {"robot"}
    names = {one["metadata"]["name"] for one in made if one["kind"] == "ServiceAccount"}
    assert names == {"kubedl-smoke-test", *(["robot"] if create else [])}
    assert the(made, "Deployment")["metadata"]["name"] == "kubedl-operator"


@pytest.mark.parametrize("namespace", ["", "team"])
def test_roles_may_be_made_by_another_team(helm: Helm, namespace: str) -> None:
    """Neither those of the operator, nor those of the test, nor those of users."""
    made = helm.template({"rbac": {"create": False}, "namespace": namespace})
    kinds = {one["kind"] for one in made}
    assert not kinds & {"Role", "RoleBinding", "ClusterRole", "ClusterRoleBinding", "Pod"}
    assert {"ServiceAccount", "Deployment"} <= kinds


def test_users_roles_may_be_left_out_alone(helm: Helm) -> None:
    made = helm.template({"rbac": {"aggregateRoles": False}})
    assert {one["metadata"]["name"] for one in made if one["kind"] == "ClusterRole"} == {"kubedl-operator"}


def test_objects_of_the_user_are_made_as_they_are_written(helm: Helm) -> None:
    """Text in braces is theirs: the chart evaluates no template of a user."""
    objects = [
        {"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "own"}, "stringData": {"b": "---\nc: 1\n"}},
        {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "own"}, "data": {"a": "{{ .Release.Name }}"}},
    ]
    made = helm.template({"extraObjects": objects})
    assert [one for one in made if one["metadata"]["name"] == "own"] == objects
    assert [one for one in made if one["metadata"]["name"] != "own"] == helm.template()


@pytest.mark.parametrize("labels", [{}, {"owner": "ml"}])
def test_definitions_can_go_with_the_chart(helm: Helm, labels: dict[str, str]) -> None:
    """Only if that is asked for; nothing else of them changes."""
    for keep, others in zip(
        *(
            [one for one in made if one["kind"] == "CustomResourceDefinition"]
            for made in (
                helm.template({"crds": {"keep": True}, "commonLabels": labels}),
                helm.template({"crds": {"keep": False}, "commonLabels": labels}),
            )
        ),
        strict=True,
    ):
        assert keep["metadata"].pop("annotations") == {"helm.sh/resource-policy": "keep"}
        assert keep == others


@pytest.mark.parametrize(
    ("values", "said"),
    [
        ({"enabled": False}, "only in a chart that has this one as a dependency"),
        ({"serviceAccount": {"create": False}}, "set serviceAccount.name to one that exists"),
        ({"commonLabels": {"app.kubernetes.io/name": "mine"}}, "/commonLabels/"),
        ({"commonLabels": {"helm.sh/chart": "mine"}}, "/commonLabels/"),
        ({"serviceAccount": {"labels": {"app.kubernetes.io/instance": "mine"}}}, "/serviceAccount/labels/"),
        ({"fullnameOverride": "Training"}, "/fullnameOverride'"),
        ({"nameOverride": "a/b"}, "/nameOverride'"),
        ({"extraObjects": [{"kind": "ConfigMap"}]}, "/extraObjects/0'"),
        ({"extraObjects": ["{{ .Values }}"]}, "/extraObjects/0'"),
        ({"service": {"ipFamilies": ["IPv5"]}}, "/service/ipFamilies/0'"),
    ],
)
def test_what_could_not_work_is_refused(helm: Helm, values: dict[str, Any], said: str) -> None:
    with pytest.raises(TestbedError, match=said):
        helm.template(values)
