"""The operator's own image, with its Python 3.13, behind a CA without key usage and key identifiers, as on EKS.

A TLS front with such a CA stands before the real API server. The operator finds it as pods find theirs: by the address
in KUBERNETES_SERVICE_HOST and the ca.crt of its service account. So it is the chart's own pod, with another mount.
"""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from harness.drivers.installation import NAMESPACE, RESTRICTED, installed, make_namespace
from harness.drivers.tls_front import TLSFront
from testbed import namespaces
from testbed.api import is_true
from testbed.cluster import Cluster
from testbed.errors import TestbedError
from tests.authorities import BareAuthority, served_by
from tests.e2e.install.jobs import Team, job

CONFIG_MAP = "front-ca"
MOUNT = "/var/run/secrets/kubernetes.io/serviceaccount"
BY_DEFAULT = f"""
import os, socket, ssl
context = ssl.create_default_context(cafile="{MOUNT}/ca.crt")
host, port = os.environ["KUBERNETES_SERVICE_HOST"], int(os.environ["KUBERNETES_SERVICE_PORT"])
context.wrap_socket(socket.create_connection((host, port)), server_hostname=host)
"""


def test_the_image_is_ready_behind_a_bare_authority(
    cluster: Cluster, base_image: str, tmp_path: Path, record_property: Callable[[str, object], None]
) -> None:
    """Both replicas are ready and a job runs to its end; with Python's own defaults they would trust nobody there."""
    authority, host = BareAuthority.create(), cluster.instance.gateway
    with (
        TLSFront(cluster, served_by(authority, tmp_path, hosts=[host]), host=host) as front,
        _published(cluster, authority),
        namespaces.fresh(cluster.api, "team", RESTRICTED) as namespace,
        installed(cluster, _values(front, host)) as installation,
    ):
        record_property("seconds", installation.seconds)
        pods = installation.pods()
        assert len([pod for pod in pods if is_true(pod, "Ready")]) == 2
        team = Team(cluster, namespace)
        team.create(job("tiny", base_image, "true"))
        team.until_states({"Succeeded": 1}, deadline=120)
        inside = f"--namespace={NAMESPACE}", "exec", pods[0]["metadata"]["name"], "--", "/usr/bin/python3"
        assert cluster.kubectl(*inside, "--version").startswith("Python 3.13.")
        with pytest.raises(TestbedError, match="CERTIFICATE_VERIFY_FAILED"):
            cluster.kubectl(*inside, "-c", BY_DEFAULT)


@contextmanager
def _published(cluster: Cluster, authority: BareAuthority) -> Iterator[None]:
    """The authority in a ConfigMap, as clusters publish theirs in kube-root-ca.crt."""
    make_namespace(cluster)
    path = f"/api/v1/namespaces/{NAMESPACE}/configmaps"
    if cluster.api.exists(f"{path}/{CONFIG_MAP}"):  # of a test that was killed
        cluster.api.delete(f"{path}/{CONFIG_MAP}")
    data = {"ca.crt": authority.certificate.decode()}
    cluster.api.create(path, {"metadata": {"name": CONFIG_MAP}, "data": data})
    try:
        yield
    finally:
        cluster.api.delete(f"{path}/{CONFIG_MAP}")


def _values(front: TLSFront, host: str) -> dict[str, Any]:
    """A service account's mount like the one that Kubernetes makes, which it leaves out where there is one."""
    field = {"path": "namespace", "fieldRef": {"fieldPath": "metadata.namespace"}}
    sources = [
        {"serviceAccountToken": {"path": "token"}},
        {"configMap": {"name": CONFIG_MAP}},
        {"downwardAPI": {"items": [field]}},
    ]
    return {
        "env": [
            {"name": "KUBERNETES_SERVICE_HOST", "value": host},
            {"name": "KUBERNETES_SERVICE_PORT", "value": str(front.port)},
        ],
        "extraVolumes": [{"name": "service-account", "projected": {"sources": sources}}],
        "extraVolumeMounts": [{"name": "service-account", "mountPath": MOUNT, "readOnly": True}],
        "networkPolicy": {"apiServerPorts": [front.port]},
    }
