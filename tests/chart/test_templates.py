"""What the chart makes, as Helm itself renders it."""

import re
import shlex
import subprocess
from typing import Any

import pytest
import yaml

from harness.drivers.helm import CHART, Helm
from harness.drivers.installation import ROLES
from kubedl.entrypoints.cluster_report import ClusterReport, render
from testbed.api import Object
from testbed.errors import TestbedError
from tests import howto_page
from tests.chart.rendered import arguments, the

EVERYTHING: dict[str, Any] = {
    "metrics": {name: {"create": True} for name in ("serviceMonitor", "rules", "dashboard")},
    "operator": {"prometheus": "http://prometheus.monitoring:9090"},
    "imagePullSecrets": [{"name": "regcred"}],
    "env": [{"name": "HTTPS_PROXY", "value": "http://proxy:3128"}],
}
IN_NO_NAMESPACE = {"ClusterRole", "ClusterRoleBinding", "FlowSchema", "CustomResourceDefinition"}


def kinds(objects: list[Object]) -> set[str]:
    return {one["kind"] for one in objects}


def pods(objects: list[Object]) -> list[Object]:
    """The specs of all pods."""
    templates = [one["spec"]["template"]["spec"] for one in objects if one["kind"] == "Deployment"]
    return templates + [one["spec"] for one in objects if one["kind"] == "Pod"]


@pytest.mark.parametrize(
    "values", [{}, EVERYTHING, {"namespace": "team-a"}, {"replicas": 1, "crds": {"install": False}}]
)
def test_helm_has_no_complaint(helm: Helm, values: dict[str, Any]) -> None:
    assert "0 chart(s) failed" in helm.lint(values)


def test_everything_is_there(helm: Helm) -> None:
    assert kinds(helm.template(EVERYTHING)) == {
        *IN_NO_NAMESPACE,
        "ConfigMap",
        "Deployment",
        "NetworkPolicy",
        "Pod",
        "PodDisruptionBudget",
        "PrometheusRule",
        "Role",
        "RoleBinding",
        "Service",
        "ServiceAccount",
        "ServiceMonitor",
    }


def test_for_one_namespace_there_are_roles_only(helm: Helm) -> None:
    """None of them anywhere else but where the Lease is, which is there too."""
    found = helm.template({"namespace": "team-a", "crds": {"install": False}})
    assert not kinds(found) & IN_NO_NAMESPACE
    assert {one["metadata"]["namespace"] for one in found if one["kind"] in {"Role", "RoleBinding"}} == {"team-a"}
    assert {"--namespace=team-a", "--without-cluster-role", "--lease-namespace=team-a"} <= set(arguments(found))


@pytest.mark.parametrize(("namespace", "lease"), [("", "kubedl-operator"), ("team-a", "kubedl-operator-team-a")])
def test_the_lease_is_that_of_who_is_served(helm: Helm, namespace: str, lease: str) -> None:
    """Releases for two namespaces may keep theirs in a third."""
    values = {"namespace": namespace, "operator": {"leaseNamespace": "third"}}
    rules = _rules(helm.template(values), "Role", "kubedl-operator-lease")
    assert [rule["resourceNames"] for rule in rules if "resourceNames" in rule] == [[lease]]


@pytest.mark.parametrize(("namespace", "kind"), [("", "ClusterRole"), ("team-a", "Role")])
def test_the_operator_may_be_given_further_rights(helm: Helm, namespace: str, kind: str) -> None:
    """Those of the page about frameworks of one's own, behind all others."""
    values = yaml.safe_load(howto_page.sections("add-a-framework.md")["With the chart"].files["values.yaml"])
    before = _rules(helm.template({"namespace": namespace}), kind, "kubedl-operator")
    after = _rules(helm.template({"namespace": namespace, **values}), kind, "kubedl-operator")
    assert after == [*before, *values["rbac"]["extraRules"]]


def test_names_of_digits_are_names(helm: Helm) -> None:
    """YAML would else read them as numbers, which the API server refuses."""
    values = {**EVERYTHING, "namespace": "456", "priorityClassName": "789"}
    for one in helm.template(values, release="321", namespace="123"):
        assert _numbers(one["metadata"]) == []
        assert not _numbers(one.get("subjects")) + _numbers(one.get("roleRef"))
    deployment = the(helm.template(values, release="321", namespace="123"), "Deployment")
    assert deployment["spec"]["selector"]["matchLabels"]["app.kubernetes.io/instance"] == "321"
    assert deployment["spec"]["template"]["spec"]["priorityClassName"] == "789"
    schema = helm.template(release="321", namespace="123")
    assert not [one for one in schema if one["kind"] == "FlowSchema" and _numbers(one["spec"]["rules"])]


def test_roles_have_what_the_code_asks_for_and_no_wildcard(helm: Helm) -> None:
    """In both modes the same rights, but for objects in no namespace."""
    everywhere = _rules(helm.template(), "ClusterRole", "kubedl-operator")
    alone = _rules(helm.template({"namespace": "team-a"}), "Role", "kubedl-operator")
    outside = yaml.safe_load((CHART / "files/rbac/operator-outside.yaml").read_text())
    assert everywhere == [*alone, *outside]
    for one in helm.template(EVERYTHING):
        for rule in one.get("rules") or []:
            assert "*" not in {*rule["apiGroups"], *rule["resources"], *rule["verbs"]}


def test_roles_for_the_whole_cluster_are_known_to_the_harness(helm: Helm) -> None:
    """Which takes away those that a test brought without Helm."""
    assert {one["metadata"]["name"] for one in helm.template() if one["kind"] == "ClusterRole"} == set(ROLES)


@pytest.mark.parametrize(
    "wrong",
    [
        {"replica": 3},
        {"operator": {"worker": 3}},
        {"operator": {"workers": "many"}},
        {"operator": {"logFormat": "xml"}},
        {"image": {"digest": "latest"}},
        {"metrics": {"rules": {"make": True}}},
        {"namespace": "Team A"},
        {"extraVolumeMounts": [{"name": "queries"}]},
        {"networkPolicy": {"apiServerPorts": []}},
        {"podLabels": {"app.kubernetes.io/instance": "mine"}},
        {"podLabels": {"tier": 1}},
        {"env": [{"name": "DEBUG", "value": 1}]},
        {"rbac": {"extraRules": [{"apiGroups": ["acme.example"], "resources": ["things"]}]}},
    ],
)
def test_values_that_mean_nothing_are_refused(helm: Helm, wrong: dict[str, Any]) -> None:
    """A misspelt one would else be ignored without a word."""
    with pytest.raises(TestbedError, match="schema"):
        helm.template(wrong)


def test_volumes_are_the_operator_s_only_where_aws_efs_is_allowed(helm: Helm) -> None:
    """An operator for one namespace can have no right to them."""
    plain, values = _rules(helm.template(), "ClusterRole", "kubedl-operator"), {"operator": {"efsFileSystems": "fs-1"}}
    allowed = _rules(helm.template(values), "ClusterRole", "kubedl-operator")
    efs = yaml.safe_load((CHART / "files/rbac/operator-efs.yaml").read_text())
    assert allowed == [*plain, *efs]
    assert not [rule for rule in plain if "persistentvolumes" in rule["resources"]]
    with pytest.raises(TestbedError, match="leave namespace empty"):
        helm.template({**values, "namespace": "team"})


def test_a_cluster_that_assigns_users_is_left_to_do_so(helm: Helm) -> None:
    """OpenShift refuses a pod that names a user outside its namespace's range."""
    for omit in (False, True):
        made = helm.template({**EVERYTHING, "operator": {"omitRunAsUser": omit}})
        for spec in pods(made):
            for container in spec["containers"]:
                assert ("runAsUser" in container["securityContext"]) == (not omit)
                assert ("--omit-run-as-user" in container["args"]) == omit


@pytest.mark.parametrize("port", [443, 6443, 8443, 16443])
def test_the_api_server_of_every_usual_distribution_can_be_reached(helm: Helm, port: int) -> None:
    """Managed clusters, kubeadm and k3s, OpenShift and minikube, MicroK8s: by the port that its pods listen at."""
    allowed = the(helm.template(), "NetworkPolicy")["spec"]["egress"]
    assert port in {one["port"] for rule in allowed for one in rule["ports"]}


def test_pods_are_as_restricted_wants_them(helm: Helm) -> None:
    """And cannot write to their own file system."""
    for spec in pods(helm.template(EVERYTHING)):
        assert not {"hostNetwork", "hostPID", "hostIPC", "volumes"} & spec.keys()
        for container in spec["containers"]:
            security = container["securityContext"]
            assert security["runAsNonRoot"] is True
            assert security["allowPrivilegeEscalation"] is False
            assert security["readOnlyRootFilesystem"] is True
            assert security["capabilities"] == {"drop": ["ALL"]}
            assert security["seccompProfile"] == {"type": "RuntimeDefault"}
            assert {"requests", "limits"} <= container["resources"].keys()
        assert spec["imagePullSecrets"] == [{"name": "regcred"}]


def test_definitions_are_kept(helm: Helm) -> None:
    """Helm would else delete every job of the cluster when the chart goes."""
    found = [one for one in helm.template() if one["kind"] == "CustomResourceDefinition"]
    assert len(found) == len(list((CHART / "files/crds").iterdir()))
    assert {one["metadata"]["annotations"]["helm.sh/resource-policy"] for one in found} == {"keep"}
    assert "CustomResourceDefinition" not in kinds(helm.template({"crds": {"install": False}}))


def test_an_image_is_named_by_digest_where_there_is_one(helm: Helm) -> None:
    """And build pods get the same."""
    digest = f"sha256:{'a' * 64}"
    found = helm.template({"image": {"repository": "hub/kubedl", "digest": digest}})
    assert {container["image"] for spec in pods(found) for container in spec["containers"]} == {f"hub/kubedl@{digest}"}
    assert f"--packer-image=hub/kubedl@{digest}" in arguments(found)


def test_an_image_must_be_named(helm: Helm) -> None:
    """None is published; the words say how one is made."""
    for values in ({"image": {"repository": ""}}, {"image": {"tag": "1"}}):
        with pytest.raises(TestbedError, match=r"image\.repository: no image is published\. `make images`"):
            helm.template(values)


def test_the_notes_show_the_table_of_what_was_found() -> None:
    """Wherever in the log it is, and nothing else of it."""
    table = render([ClusterReport("Kubernetes", "on", "v1"), ClusterReport("kinds", "on", "TFJob")])
    for place in (CHART / "templates/NOTES.txt", CHART.parents[1] / "docs/operations/install.md"):
        [command] = re.findall(r"logs deployment/.*\| (sed .*)", place.read_text())
        log = f'{{"event": "started"}}\n{table}\n{{"event": "acquired the lease"}}\n'
        shown = subprocess.run(shlex.split(command), input=log, capture_output=True, text=True, check=True)
        assert shown.stdout.strip() == table.strip()


def test_the_network_policy_lets_through_what_the_operator_is_told_of(helm: Helm) -> None:
    [policy] = [one for one in helm.template(EVERYTHING) if one["kind"] == "NetworkPolicy"]
    names, server, prometheus = policy["spec"]["egress"]
    protocols = {(port["port"], port["protocol"]) for port in names["ports"]}
    assert protocols == {(port, protocol) for port in (53, 5353) for protocol in ("UDP", "TCP")}
    assert server == {"ports": [{"port": 443}, {"port": 6443}, {"port": 8443}, {"port": 16443}]}
    assert prometheus == {"ports": [{"port": 9090}]}
    further = {"to": [{"podSelector": {}}], "ports": [{"port": 9091}]}
    policy = the(helm.template({"networkPolicy": {"extraEgress": [further]}}), "NetworkPolicy")
    assert policy["spec"]["egress"][-1] == further
    for address, port in (("http://p", 80), ("https://p.x", 443), ("http://p:81/sub:9", 81)):
        policy = the(helm.template({"operator": {"prometheus": address}}), "NetworkPolicy")
        assert policy["spec"]["egress"][-1] == {"ports": [{"port": port}]}


def test_an_operator_that_asks_for_checkpoints_reaches_the_pods_of_jobs(helm: Helm) -> None:
    """At any port, since each job chooses its own; and no other pods."""
    plain = the(helm.template({}), "NetworkPolicy")["spec"]["egress"]
    found = the(helm.template({"operator": {"checkpointKeyFile": "/etc/kubedl/key"}}), "NetworkPolicy")["spec"][
        "egress"
    ]
    [added] = [rule for rule in found if rule not in plain]
    pods = {"matchExpressions": [{"key": "training.kubedl.io/job-name", "operator": "Exists"}]}
    assert added == {"to": [{"namespaceSelector": {}, "podSelector": pods}]}


def test_the_operator_can_be_given_files(helm: Helm) -> None:
    """As the page about rollouts says it, for questions about a gateway of one's own."""
    page = (CHART.parents[1] / "docs/how-to/roll-out-a-version.md").read_text()
    [shown] = re.findall(r'```yaml title="values.yaml"\n(.*?)```', page, re.DOTALL)
    values = yaml.safe_load(shown)
    [deployment] = [one for one in helm.template(values) if one["kind"] == "Deployment"]
    spec = deployment["spec"]["template"]["spec"]
    [container] = spec["containers"]
    assert spec["volumes"] == values["extraVolumes"]
    assert container["volumeMounts"] == values["extraVolumeMounts"]
    [mount] = container["volumeMounts"]
    assert f"--analysis-queries={mount['mountPath']}/queries.yaml" in container["args"]


def test_one_replica_has_no_budget(helm: Helm) -> None:
    """It would keep its node from being drained."""
    assert "PodDisruptionBudget" not in kinds(helm.template({"replicas": 1}))


def test_two_releases_share_no_name(helm: Helm) -> None:
    """For two namespaces, in one namespace of their own."""
    names = [
        {(one["kind"], one["metadata"].get("namespace"), one["metadata"]["name"]) for one in found}
        for found in (
            helm.template({"namespace": team, "crds": {"install": False}}, release=team)
            for team in ("team-a", "team-b")
        )
    ]
    assert not names[0] & names[1]


def test_every_value_is_used_by_a_template() -> None:
    """One that does nothing would be a promise that nobody keeps."""
    used = "".join(path.read_text() for path in (CHART / "templates").rglob("*") if path.is_file())
    aliases = yaml.safe_load((CHART / "files/aliases.yaml").read_text())["aliases"]
    used += "".join(f" .Values.{'.'.join([*one.get('within', ()), one['alias']])} " for one in aliases)
    given = yaml.safe_load((CHART / "values.yaml").read_text())
    places = [f".Values.{name}" for name in given]
    for section in ("metrics", "networkPolicy", "test", "flowSchema", "crds", "rbac", "service", "serviceAccount"):
        places += [f".Values.{section}.{name}" for name in given[section]]
    assert [place for place in places if not re.search(rf"{re.escape(place)}\b", used)] == []


def _numbers(given: object) -> list[object]:
    """Values that are no text, however deep."""
    if isinstance(given, dict):
        return [number for key, value in given.items() for number in [*_numbers(key), *_numbers(value)]]
    if isinstance(given, list):
        return [number for value in given for number in _numbers(value)]
    return [] if isinstance(given, str | bool | None) else [given]


def _rules(objects: list[Object], kind: str, name: str) -> list[Object]:
    [role] = [one for one in objects if (one["kind"], one["metadata"]["name"]) == (kind, name)]
    rules: list[Object] = role["rules"]
    return rules
