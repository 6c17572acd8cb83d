"""The web console in the chart: off by default, with a pod and a role of its own that changes nothing."""

import re
from pathlib import Path
from typing import Any

import pytest
import yaml

from harness.drivers.helm import Helm
from kubedl.entrypoints.console import parser
from testbed.api import Object
from testbed.errors import TestbedError

DOCS = Path(__file__).parents[2] / "docs" / "how-to"
REVIEWS = ("tokenreviews", "subjectaccessreviews")


def console(objects: list[Object], kind: str) -> Object:
    """One of its objects."""
    [found] = [
        one
        for one in objects
        if one["kind"] == kind and one["metadata"].get("labels", {}).get("app.kubernetes.io/component") == "console"
    ]
    return found


def values(**settings: object) -> dict[str, Any]:
    """Values with a console."""
    return {"console": {"create": True, **settings}}


def test_it_is_off_by_default(helm: Helm) -> None:
    assert not [one for one in helm.template({}) if "console" in one["metadata"]["name"]]


def test_its_arguments_are_those_of_the_program(helm: Helm) -> None:
    """With everything that can be set; the ports of the pod are those that it listens on."""
    objects = helm.template(values(cluster="prod", sessionKeySecret="sign-ins", replicas=2) | {"namespace": "team-a"})
    pod = console(objects, "Deployment")["spec"]["template"]["spec"]
    [container] = pod["containers"]
    assert container["args"][0] == "console"
    options = parser().parse_args(container["args"][1:])
    assert (options.mode, options.cluster, options.namespace) == ("token", "prod", "team-a")
    ports = {one["name"]: one["containerPort"] for one in container["ports"]}
    assert (options.address, options.health_address) == (f"*:{ports['web']}", f"*:{ports['http']}")
    [mount] = container["volumeMounts"]
    assert options.session_key_file == f"{mount['mountPath']}/key"
    assert pod["volumes"] == [{"name": mount["name"], "secret": {"secretName": "sign-ins"}}]


def test_it_may_be_below_a_path(helm: Helm) -> None:
    """The program knows it; health and metrics are at a port of their own, and stay where they are."""
    [container] = console(helm.template(values(path="/ml/kubedl")), "Deployment")["spec"]["template"]["spec"][
        "containers"
    ]
    assert parser().parse_args(container["args"][1:]).path == "/ml/kubedl"
    assert container["readinessProbe"]["httpGet"] == {"path": "/readyz", "port": "http"}
    [container] = console(helm.template(values()), "Deployment")["spec"]["template"]["spec"]["containers"]
    assert not parser().parse_args(container["args"][1:]).path


def test_a_proxy_needs_no_key(helm: Helm) -> None:
    """Nothing is kept of a person whom a proxy signs in."""
    [container] = console(helm.template(values(mode="proxy", replicas=3)), "Deployment")["spec"]["template"]["spec"][
        "containers"
    ]
    options = parser().parse_args(container["args"][1:])
    assert (options.mode, options.session_key_file) == ("proxy", "")


@pytest.mark.parametrize("namespace", ["", "team-a"])
def test_its_role_cannot_change_anything(helm: Helm, namespace: str) -> None:
    """It lists and watches, and asks the API server about people; in one namespace if it shows one."""
    objects = helm.template(values() | {"namespace": namespace})
    outside = console(objects, "ClusterRole")["rules"]
    seen = console(objects, "Role")["rules"] if namespace else outside
    for rule in [*outside, *seen]:
        reviews = set(rule["resources"]) <= set(REVIEWS)
        assert rule["verbs"] == (["create"] if reviews else ["list", "watch"])
        assert "secrets" not in rule["resources"]
    assert any("pods" in rule["resources"] for rule in seen)
    assert any("pods" in rule["resources"] for rule in outside) is not bool(namespace)


def test_cluster_roles_of_two_releases_differ(helm: Helm) -> None:
    """Each for a namespace of its own, both with the same name of the release."""
    name = console(helm.template(values() | {"namespace": "team-a"}), "ClusterRole")["metadata"]["name"]
    binding = console(helm.template(values() | {"namespace": "team-a"}), "ClusterRoleBinding")
    assert name.endswith(f"-{binding['subjects'][0]['namespace']}")
    assert binding["roleRef"]["name"] == binding["metadata"]["name"] == name


def test_its_pods_are_not_the_operators(helm: Helm) -> None:
    """Neither Deployment, Service nor NetworkPolicy of one selects pods of the other."""
    objects = helm.template(values())
    pod = console(objects, "Deployment")["spec"]["template"]["metadata"]["labels"]
    for one in (one for one in objects if one["kind"] in ("Deployment", "Service", "NetworkPolicy")):
        spec = one["spec"]
        selector = spec.get("podSelector") or spec["selector"]
        labels = selector.get("matchLabels", selector)
        assert (labels.items() <= pod.items()) is one["metadata"]["name"].endswith("-console"), one["metadata"]["name"]


def test_who_may_reach_the_page(helm: Helm) -> None:
    """Those of `console.from`; metrics have a rule of their own."""
    gateway = {"namespaceSelector": {"matchLabels": {"kubernetes.io/metadata.name": "gateway"}}}
    page, metrics = console(helm.template(values(**{"from": [gateway]})), "NetworkPolicy")["spec"]["ingress"]
    assert (page["ports"], page["from"]) == ([{"port": "web"}], [gateway])
    assert metrics["ports"] == [{"port": "http"}]


def test_it_has_no_history_by_default(helm: Helm) -> None:
    """Also beside a recorder: its URL may write."""
    recorder = {"history": {"create": True, "cluster": "prod", "databaseSecret": "history"}}
    objects = helm.template(values() | recorder)
    [container] = console(objects, "Deployment")["spec"]["template"]["spec"]["containers"]
    assert "env" not in container
    assert not parser().parse_args(container["args"][1:]).history_cluster
    [egress] = console(objects, "NetworkPolicy")["spec"]["egress"]
    assert 5432 not in [one["port"] for one in egress["ports"]]


@pytest.mark.parametrize("own", [True, False])
def test_the_history_is_named_by_a_secret(helm: Helm, own: bool) -> None:
    """Its address is in no argument; the name of the cluster is its own, or that of the recorder."""
    history = {"databaseSecret": "history-reader", "databaseKey": "reader-url"}
    objects = helm.template(
        values(history={**history, "cluster": "prod"} if own else history)
        | {"history": {"cluster": "" if own else "prod", "databasePorts": [6432]}}
    )
    [container] = console(objects, "Deployment")["spec"]["template"]["spec"]["containers"]
    source = {"secretKeyRef": {"name": "history-reader", "key": "reader-url"}}
    assert container["env"] == [{"name": "KUBEDL_HISTORY_DATABASE", "valueFrom": source}]
    assert parser().parse_args(container["args"][1:]).history_cluster == "prod"
    [egress] = console(objects, "NetworkPolicy")["spec"]["egress"]
    assert 6432 in [one["port"] for one in egress["ports"]]


def test_archived_logs_are_read_with_a_key_of_its_own(helm: Helm) -> None:
    """From the storage of the recorder, whose key may write. Without a key they are not read."""
    past = {"databaseSecret": "history-reader", "cluster": "prod"}
    storage = {"endpoint": "https://s3.example:9000", "region": "eu", "bucket": "logs", "caSecret": "s3-ca"}
    recorder = {"history": {"logs": {**storage, "credentialsSecret": "writer"}}}
    objects = helm.template(values(history={**past, "logsSecret": "reader"}) | recorder)
    pod = console(objects, "Deployment")["spec"]["template"]["spec"]
    [container] = pod["containers"]
    options = parser().parse_args(container["args"][1:])
    found = (options.logs_endpoint, options.logs_region, options.logs_ca_file)
    assert found == ("https://s3.example:9000", "eu", "/etc/kubedl-logs/ca.crt")
    keys = {one["name"]: one["valueFrom"]["secretKeyRef"] for one in container["env"] if one["name"].startswith("AWS")}
    assert {name: (ref["name"], ref["key"]) for name, ref in keys.items()} == {
        "AWS_ACCESS_KEY_ID": ("reader", "access-key"),
        "AWS_SECRET_ACCESS_KEY": ("reader", "secret-key"),
        "AWS_SESSION_TOKEN": ("reader", "session-token"),
    }
    assert {"name": "logs-ca", "secret": {"secretName": "s3-ca"}} in pod["volumes"]
    assert "/etc/kubedl-logs" in [one["mountPath"] for one in container["volumeMounts"]]
    [egress] = console(objects, "NetworkPolicy")["spec"]["egress"]
    assert 9000 in [one["port"] for one in egress["ports"]]
    without = console(helm.template(values(history=past) | recorder), "Deployment")["spec"]["template"]["spec"]
    assert "logs" not in str(without)


def test_it_asks_the_prometheus_of_the_operator(helm: Helm) -> None:
    """With the same queries, of which a file is mounted as it is there; and its port is open."""
    mount, source = {"name": "queries", "mountPath": "/etc/queries"}, "http://prometheus.monitoring:9090"
    settings = {
        "operator": {"prometheus": source, "analysisQueries": "/etc/queries/own.yaml"},
        "extraVolumes": [{"name": "queries", "configMap": {"name": "queries"}}],
        "extraVolumeMounts": [mount],
    }
    objects = helm.template(values(sessionKeySecret="sign-ins") | settings)
    pod = console(objects, "Deployment")["spec"]["template"]["spec"]
    [container] = pod["containers"]
    options = parser().parse_args(container["args"][1:])
    assert (options.prometheus, options.analysis_queries) == (source, "/etc/queries/own.yaml")
    assert [one["name"] for one in container["volumeMounts"]] == ["session-key", "queries"]
    assert [one["name"] for one in pod["volumes"]] == ["session-key", "queries"]
    [egress] = console(objects, "NetworkPolicy")["spec"]["egress"]
    assert 9090 in [one["port"] for one in egress["ports"]]


def documented(page: str) -> dict[str, Any]:
    """The values of the chart on a page of the documentation."""
    [block] = re.findall(r'```yaml title="values.yaml"\n(.*?)```', (DOCS / page).read_text(), re.DOTALL)
    found: dict[str, Any] = yaml.safe_load(block)
    return found


def test_of_the_volumes_in_the_documentation_it_gets_the_one_with_the_queries(helm: Helm) -> None:
    """It answers browsers, so the key of the operator is none of its business; no mount is where another one is."""
    queries, checkpoints = documented("roll-out-a-version.md"), documented("resize-a-running-job.md")
    settings = {
        "operator": queries["operator"] | checkpoints["operator"],
        **{name: checkpoints[name] + queries[name] for name in ("extraVolumes", "extraVolumeMounts")},
    }
    objects = helm.template(values(sessionKeySecret="sign-ins") | settings)
    pod = console(objects, "Deployment")["spec"]["template"]["spec"]
    [container] = pod["containers"]
    assert [one["name"] for one in container["volumeMounts"]] == ["session-key", "queries"]
    assert [one["name"] for one in pod["volumes"]] == ["session-key", "queries"]
    options = parser().parse_args(container["args"][1:])
    paths = [one["mountPath"] for one in container["volumeMounts"]]
    assert [str(Path(file).parent) for file in (options.session_key_file, options.analysis_queries)] == paths
    deployments = [one for one in objects if one["kind"] == "Deployment"]
    [operator] = [one for one in deployments if not one["metadata"]["name"].endswith("-console")]
    for mounts in (container["volumeMounts"], operator["spec"]["template"]["spec"]["containers"][0]["volumeMounts"]):
        every = [Path(one["mountPath"]) for one in mounts]
        assert not [one for one in every for other in every if one is not other and one.is_relative_to(other)]


def test_of_mounts_in_one_another_it_gets_the_one_with_the_file(helm: Helm) -> None:
    """A name that only begins like the file's directory is another directory."""
    mounts = {"a": "/etc/own", "b": "/etc", "c": "/etc/own/queries.yaml", "d": "/etc/own/q"}
    settings = {
        "operator": {"prometheus": "http://prometheus:9090", "analysisQueries": "/etc/own/queries.yaml"},
        "extraVolumes": [{"name": name, "emptyDir": {}} for name in mounts],
        "extraVolumeMounts": [{"name": name, "mountPath": path} for name, path in mounts.items()],
    }
    pod = console(helm.template(values() | settings), "Deployment")["spec"]["template"]["spec"]
    assert [one["name"] for one in pod["containers"][0]["volumeMounts"]] == ["c"]
    assert [one["name"] for one in pod["volumes"]] == ["c"]


def test_a_prometheus_at_another_port_than_its_service_is_reached(helm: Helm) -> None:
    """By the rules that let the operator reach it; a console that asks none needs none of them."""
    further = {"to": [{"podSelector": {}}], "ports": [{"port": 9090}]}
    policy = {"networkPolicy": {"extraEgress": [further]}}
    asking = helm.template(values() | policy | {"operator": {"prometheus": "http://prometheus.monitoring"}})
    assert console(asking, "NetworkPolicy")["spec"]["egress"][1:] == [further]
    assert console(helm.template(values() | policy), "NetworkPolicy")["spec"]["egress"][1:] == []


def test_without_a_prometheus_none_is_asked(helm: Helm) -> None:
    """Volumes of the operator are not the console's, unless its queries are on them."""
    volumes = {
        "extraVolumes": [{"name": "own", "emptyDir": {}}],
        "extraVolumeMounts": [{"name": "own", "mountPath": "/x"}],
    }
    pod = console(helm.template(values() | volumes), "Deployment")["spec"]["template"]["spec"]
    [container] = pod["containers"]
    options = parser().parse_args(container["args"][1:])
    assert (options.prometheus, options.analysis_queries) == ("", "")
    assert "volumes" not in pod
    assert "volumeMounts" not in container


@pytest.mark.parametrize(
    ("settings", "complaint"),
    [
        ({"replicas": 2}, "console.sessionKeySecret"),
        ({"mode": "local"}, "mode"),
        ({"path": "kubedl"}, "path"),
        ({"path": "/kubedl/"}, "path"),
        ({"sessionKey": "hidden"}, "sessionKey"),
        ({"history": {"databaseSecret": "history"}}, "console.history.cluster"),
        ({"history": {"database": "postgresql://"}}, "database"),
        ({"history": {"databaseSecret": "x", "cluster": "c", "logsSecret": "reader"}}, "history.logs.endpoint"),
    ],
)
def test_what_cannot_work_is_refused(helm: Helm, settings: dict[str, Any], complaint: str) -> None:
    with pytest.raises(TestbedError, match=complaint):
        helm.template(values(**settings))
