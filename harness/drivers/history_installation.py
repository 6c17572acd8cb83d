"""What a recorder of the chart needs outside the cluster, all of it real: a database, storage for logs, a collector."""

import base64
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from typing import Any

from harness.drivers.installation import NAMESPACE, Installation, installed, make_namespace
from harness.drivers.minio import BUCKET, CREDENTIALS, MinIO
from harness.drivers.otel_collector import OtelCollector
from harness.drivers.reachable_postgres import ReachablePostgres
from testbed.api import Object, is_true
from testbed.cluster import Cluster
from testbed.errors import TestbedError
from testbed.pki import Identity
from testbed.waiting import until

SECRETS = f"/api/v1/namespaces/{NAMESPACE}/secrets"
PODS = f"/api/v1/namespaces/{NAMESPACE}/pods?labelSelector=app.kubernetes.io/component=recorder"
RECORDER = "kubedl-recorder"
LEASE = f"/apis/coordination.k8s.io/v1/namespaces/{NAMESPACE}/leases/{RECORDER}"
CLUSTER = "test-bed"
MOST_BYTES = 65536
TAIL = 60  # lines of a log


@dataclass
class HistoryInstallation:
    """The chart with a recorder."""

    installation: Installation
    database: ReachablePostgres
    storage: MinIO
    collector: OtelCollector

    def recorders(self) -> list[Object]:
        """Its pods."""
        found = self.installation.cluster.api.list(PODS)
        return [pod for pod in found if "deletionTimestamp" not in pod["metadata"]]

    def until_ready(self) -> Object:
        """Wait until the recorder has listed everything."""
        ready = until("a recorder", lambda: [pod for pod in self.recorders() if is_true(pod, "Ready")], deadline=120)
        return ready[0]

    def log(self) -> str:
        """What its pods say, and how they are."""
        names = [pod["metadata"]["name"] for pod in self.installation.cluster.api.list(PODS)]
        place = f"--namespace={NAMESPACE}"
        said = [self.installation.cluster.kubectl(place, "get", "pods", "--output=wide")]
        for name in names:
            with suppress(TestbedError):  # it may not have started
                said.append(self.installation.cluster.kubectl(place, "logs", name, f"--tail={TAIL}"))
        return "\n".join(said)

    def rows(self, query: str) -> list[list[str]]:
        """What the database answers, by fields."""
        answer = self.database.execute(query, "history")
        return [line.split("|") for line in answer.splitlines()]


@contextmanager
def installed_with_history(cluster: Cluster, values: Mapping[str, Any] | None = None) -> Iterator[HistoryInstallation]:
    """Install everything; the recorder and what it needs are gone at the end."""
    host = cluster.instance.gateway
    with (
        ReachablePostgres(host) as database,
        minio(cluster) as storage,
        OtelCollector(host) as collector,
    ):
        make_namespace(cluster)
        secrets = {
            "history-database": {"url": database.url_for_pods()},
            "history-logs": {"access-key": CREDENTIALS.access_key, "secret-key": CREDENTIALS.secret_key},
            "history-logs-ca": {"ca.crt": storage.authority.decode()},
        }
        for name, content in secrets.items():
            _write_secret(cluster, name, content)
        ports = [database.port]
        logs = {"create": True, "endpoint": storage.url, "bucket": BUCKET, "maxBytes": MOST_BYTES}
        history = {
            "create": True,
            "cluster": CLUSTER,
            "databaseSecret": "history-database",
            "databasePorts": ports,
            "sinks": [f"otlp:{collector.url}"],
            "logs": {**logs, "credentialsSecret": "history-logs", "caSecret": "history-logs-ca"},
        }
        try:
            with installed(cluster, {**(values or {}), "history": history}) as installation:
                ready = HistoryInstallation(installation, database, storage, collector)
                try:
                    yield ready
                except BaseException as error:
                    error.add_note(f"the recorders' logs:\n{ready.log()}")
                    raise
        finally:
            for path in (*(f"{SECRETS}/{name}" for name in secrets), LEASE):
                cluster.api.delete(path)


@contextmanager
def minio(cluster: Cluster) -> Iterator[MinIO]:
    """Storage on the address of the test bed's bridge, with a certificate of the cluster's authority."""
    authority = cluster.authority
    authority.issue("minio", Identity("minio", addresses=(cluster.instance.gateway,)))
    certificate, key = authority.files("minio")
    with MinIO(
        cluster.instance.gateway, certificate.read_bytes(), key.read_bytes(), authority.certificate.read_bytes()
    ) as storage:
        yield storage


def _write_secret(cluster: Cluster, name: str, content: Mapping[str, str]) -> None:
    if cluster.api.exists(f"{SECRETS}/{name}"):
        cluster.api.delete(f"{SECRETS}/{name}")
    data = {key: base64.b64encode(text.encode()).decode() for key, text in content.items()}
    cluster.api.create(SECRETS, {"metadata": {"name": name}, "data": data})
