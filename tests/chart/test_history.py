"""The recorder of the history in the chart: off by default, with a pod, a role and a Lease of its own."""

from typing import Any

import pytest

from harness.drivers.helm import Helm
from kubedl.entrypoints.recorder import parser
from testbed.api import Object
from testbed.errors import TestbedError

HISTORY: dict[str, Any] = {"history": {"create": True, "cluster": "prod", "databaseSecret": "database"}}
PRICES = {"currency": "EUR", "prices": [{"pool": "a100", "spot": True, "gpuHour": 1.2}, {"gpuHour": 3}]}


def recorder(objects: list[Object], kind: str, suffix: str = "") -> Object:
    """One of its objects."""
    found = [one for one in objects if one["kind"] == kind and one["metadata"]["name"].endswith(f"recorder{suffix}")]
    [one] = found
    return one


def test_it_is_off_by_default(helm: Helm) -> None:
    """No object of a default installation belongs to it."""
    assert not [one for one in helm.template({}) if "recorder" in one["metadata"]["name"]]


def test_its_arguments_are_those_of_the_program(helm: Helm) -> None:
    """With everything that can be set."""
    settings = {**HISTORY["history"], "retentionDays": 90, "priceBook": PRICES, "sinks": ["jsonl"]}
    objects = helm.template({"history": settings})
    [container] = recorder(objects, "Deployment")["spec"]["template"]["spec"]["containers"]
    assert container["args"][0] == "recorder"
    options = parser().parse_args(container["args"][1:])
    assert (options.cluster, options.retention_days, options.sink) == ("prod", 90, ["jsonl"])
    assert options.price_book == "/etc/kubedl/prices.yaml"
    [job] = [one for one in objects if one["kind"] == "Job"]
    [migration] = job["spec"]["template"]["spec"]["containers"]
    assert parser().parse_args(migration["args"][1:]).command == "migrate"
    for one in (container, migration):
        assert one["env"] == [
            {"name": "KUBEDL_HISTORY_DATABASE", "valueFrom": {"secretKeyRef": {"name": "database", "key": "url"}}}
        ]


def test_the_migration_runs_where_the_recorder_may(helm: Helm) -> None:
    """A Job that no node takes, or that a policy about labels refuses, keeps back every install and upgrade."""
    own = {"nodeSelector": {"pool": "system"}, "tolerations": [{"operator": "Exists"}], "enableServiceLinks": False}
    [job] = [one for one in helm.template({**HISTORY, **own, "commonLabels": {"team": "ml"}}) if one["kind"] == "Job"]
    template = job["spec"]["template"]
    assert {key: template["spec"][key] for key in own} == own
    assert template["metadata"]["labels"]["team"] == "ml"
    assert template["metadata"]["labels"]["app.kubernetes.io/component"] == "migration"


LOGS = {"create": True, "endpoint": "https://s3.example", "bucket": "logs", "credentialsSecret": "storage"}


def with_logs(**settings: object) -> dict[str, Any]:
    """Values with an archive of logs."""
    return {"history": {**HISTORY["history"], "logs": {**LOGS, **settings}}}


def test_logs_and_collectors_are_told_to_the_program(helm: Helm) -> None:
    """Credentials by Secrets only; the NetworkPolicy opens the ports of both."""
    values = with_logs(endpoint="https://s3.example:9000", prefix="kubedl", caSecret="storage-ca", maxBytes=67108864)
    values["history"] |= {"sinks": ["otlp:https://collector"], "otlp": {"headersSecret": "tenant", "caSecret": "ca"}}
    objects = helm.template(values)
    pod = recorder(objects, "Deployment")["spec"]["template"]["spec"]
    [container] = pod["containers"]
    options = parser().parse_args(container["args"][1:])
    assert (options.logs_endpoint, options.logs_bucket, options.logs_prefix) == (
        "https://s3.example:9000",
        "logs",
        "kubedl",
    )
    assert (options.logs_region, options.logs_max_bytes) == ("us-east-1", 67108864)
    assert options.sink == ["otlp:https://collector"]
    keys = {one["name"]: one.get("valueFrom", {}).get("secretKeyRef") for one in container["env"]}
    assert keys["AWS_ACCESS_KEY_ID"] == {"name": "storage", "key": "access-key"}
    assert keys["AWS_SECRET_ACCESS_KEY"] == {"name": "storage", "key": "secret-key"}
    assert keys["OTEL_EXPORTER_OTLP_HEADERS"] == {"name": "tenant", "key": "headers"}
    mounts = {one["name"]: one["mountPath"] for one in container["volumeMounts"]}
    volumes = {one["name"]: one["secret"]["secretName"] for one in pod["volumes"]}
    assert volumes == {"otlp-ca": "ca", "logs-ca": "storage-ca"}
    assert options.logs_ca_file == f"{mounts['logs-ca']}/ca.crt"
    [authority] = [one["value"] for one in container["env"] if one["name"] == "OTEL_EXPORTER_OTLP_CERTIFICATE"]
    assert authority == f"{mounts['otlp-ca']}/ca.crt"
    [egress] = recorder(objects, "NetworkPolicy")["spec"]["egress"]
    assert {9000, 443, 5432} <= {one["port"] for one in egress["ports"]}


@pytest.mark.parametrize("namespace", ["", "team-a"])
@pytest.mark.parametrize("archived", [True, False])
def test_logs_are_read_only_if_they_are_archived(helm: Helm, namespace: str, archived: bool) -> None:
    """By a right of its own, in the role of the recorder."""
    objects = helm.template({**with_logs(create=archived), "namespace": namespace})
    role = recorder(objects, "Role" if namespace else "ClusterRole")
    found = [rule["verbs"] for rule in role["rules"] if "pods/log" in rule["resources"]]
    assert found == ([["get"]] if archived else [])


@pytest.mark.parametrize("namespace", ["", "team-a"])
def test_its_role_only_reads(helm: Helm, namespace: str) -> None:
    """And the Lease has the name that the program uses."""
    objects = helm.template({**HISTORY, "namespace": namespace})
    role = recorder(objects, "Role" if namespace else "ClusterRole")
    assert {verb for rule in role["rules"] for verb in rule["verbs"]} == {"list", "watch"}
    assert ("nodes" in str(role["rules"])) is not bool(namespace)
    assert "secrets" not in str(role["rules"])
    lease = recorder(objects, "Role", "-lease")
    named = [rule["resourceNames"] for rule in lease["rules"] if "resourceNames" in rule]
    assert named == [[f"kubedl-recorder-{namespace}" if namespace else "kubedl-recorder"]]


def test_its_pods_are_not_the_operators(helm: Helm) -> None:
    """Neither Deployment, Service nor NetworkPolicy of one selects pods of the other."""
    objects = helm.template(HISTORY)
    pod = recorder(objects, "Deployment")["spec"]["template"]["metadata"]["labels"]
    for kind in ("Deployment", "Service", "NetworkPolicy"):
        for one in (one for one in objects if one["kind"] == kind):
            spec = one["spec"]
            selector = spec.get("podSelector") or spec["selector"]
            labels = selector.get("matchLabels", selector)
            ours = one["metadata"]["name"].endswith("recorder")
            assert (labels.items() <= pod.items()) is ours, one["metadata"]["name"]


@pytest.mark.parametrize(
    ("values", "complaint"),
    [
        ({"create": True, "databaseSecret": "a"}, "history.cluster"),
        ({"create": True, "cluster": "a"}, "history.databaseSecret"),
        ({"priceBook": {"prices": [{"gpu": 1}]}}, "gpu"),
        ({"retentionDays": -1}, "retentionDays"),
        (with_logs(bucket="")["history"], "history.logs.bucket"),
        (with_logs(endpoint="")["history"], "history.logs.endpoint"),
        (with_logs(credentialsSecret="")["history"], "history.logs.credentialsSecret"),
        (with_logs(endpoint="https://s3.example/bucket")["history"], "endpoint"),
        (with_logs(accessKey="hidden")["history"], "accessKey"),
    ],
)
def test_what_cannot_work_is_refused(helm: Helm, values: dict[str, Any], complaint: str) -> None:
    """Before anything is installed."""
    with pytest.raises(TestbedError, match=complaint):
        helm.template({"history": values})
