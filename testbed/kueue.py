"""Quota and queues: the real Kueue as a host process, without webhooks, and its visibility API behind an APIService.

With certificates of its own it reads two of them from fixed paths, so it runs in a root directory that has just these.
"""

import json
import shutil
from pathlib import Path

from testbed import aggregated_api, dns_and_registry, processes
from testbed.api import Api, Object
from testbed.dns_and_registry import rule
from testbed.instance import Instance
from testbed.pki import Authority, Identity
from testbed.waiting import until

PROGRAM = "kueue"
USER = "testbed:kueue"
GROUP = "kueue.x-k8s.io"
VISIBILITY, PORT = "v1beta2.visibility.kueue.x-k8s.io", 4444
NAMESPACE = "kueue-system"
CERTIFICATES = ("etc/kueue/metrics/certs", "visibility", "webhook")
READ = ["get", "list", "watch"]
WRITE = [*READ, "create", "update", "patch", "delete"]


def publish(instance: Instance, authority: Authority, api: Api) -> None:
    """Its rights, its certificates, and the APIService through which positions in queues are asked for."""
    own = ["workloads", "clusterqueues", "localqueues", "resourceflavors", "cohorts", "topologies", "admissionchecks"]
    own += ["workloadpriorityclasses", "multikueueclusters", "multikueueconfigs", "provisioningrequestconfigs"]
    parts = [f"{one}/{part}" for one in own for part in ("status", "finalizers")]
    dns_and_registry.define_role(
        api,
        USER,
        [
            rule(GROUP, [*own, *parts], WRITE),
            rule("", ["namespaces", "nodes", "pods", "limitranges", "secrets"], READ),
            rule("", ["events"], ["create", "patch", "update"]),
            rule("scheduling.k8s.io", ["priorityclasses"], READ),
            rule("node.k8s.io", ["runtimeclasses"], READ),
            rule("batch", ["jobs"], READ),  # watched, although no integration is on
            rule("flowcontrol.apiserver.k8s.io", ["flowschemas", "prioritylevelconfigurations"], READ),
            rule("authentication.k8s.io", ["tokenreviews"], ["create"]),
            rule("authorization.k8s.io", ["subjectaccessreviews"], ["create"]),
            rule("resource.k8s.io", ["deviceclasses", "resourceclaimtemplates", "resourceslices"], READ),
            rule("coordination.k8s.io", ["leases"], WRITE),
        ],
    )
    api.create("/api/v1/namespaces", {"metadata": {"name": NAMESPACE}})
    host = f"{PROGRAM}.kube-system.svc"
    authority.issue(PROGRAM, Identity(USER, addresses=(instance.gateway,), hosts=(host,)))
    aggregated_api.publish(instance, api, PROGRAM, VISIBILITY, PORT)


def start(instance: Instance, authority: Authority, api: Api, program: Path) -> None:
    """Kueue, when its visibility API answers."""
    root = instance.state / PROGRAM
    certificate, key = authority.files(PROGRAM)
    for place in CERTIFICATES:
        (root / place).mkdir(parents=True, exist_ok=True)
        shutil.copy(certificate, root / place / "tls.crt")
        shutil.copy(key, root / place / "tls.key")
    shutil.copy(program, root / PROGRAM)
    shutil.copy(authority.kubeconfig(PROGRAM), root / "kubeconfig")
    (root / "settings.yaml").write_text(json.dumps(_settings(instance)))  # JSON is YAML
    log = instance.state / "log" / f"{PROGRAM}.log"
    command = ["chroot", str(root), f"/{PROGRAM}", "--kubeconfig=/kubeconfig", "--config=/settings.yaml"]
    processes.start(instance.index, PROGRAM, command, log)

    def answers() -> bool:
        processes.insist(instance.index, PROGRAM, log)
        number, _, group = VISIBILITY.partition(".")
        return api.exists(f"/apis/{group}/{number}")

    until("Kueue's visibility API", answers, deadline=60)


def _settings(instance: Instance) -> Object:
    return {
        "apiVersion": "config.kueue.x-k8s.io/v1beta2",
        "kind": "Configuration",
        "namespace": NAMESPACE,
        "health": {"healthProbeBindAddress": f"127.0.0.1:{instance.loopback_port(20)}"},
        "metrics": {"bindAddress": f"127.0.0.1:{instance.loopback_port(21)}"},
        "webhook": {"host": "127.0.0.1", "port": instance.loopback_port(22), "certDir": "/webhook"},
        "visibilityServer": {"bindAddress": instance.gateway, "bindPort": PORT},
        "leaderElection": {"leaderElect": False},
        "internalCertManagement": {"enable": False},
        "clientConnection": {"qps": 300, "burst": 500},
        "integrations": {"frameworks": [], "externalFrameworks": []},
    }
