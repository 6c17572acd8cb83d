"""Quota and queues: the real Kueue as a host process, and its visibility API behind an APIService.

Its webhooks are called for namespaces that have a label, so that no other pod waits for it.

With certificates of its own it reads two of them from fixed paths, so it runs in a root directory that has just these.
"""

import base64
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
DISPATCHED = "PyTorchJob.v1alpha1.training.kubedl.io"  # to other clusters
INTERCEPTED = "testbed.kubedl.io/kueue"  # label of namespaces whose pods Kueue admits by itself
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
            rule("", ["namespaces", "nodes", "limitranges", "secrets"], READ),
            rule("", ["pods", "pods/status", "pods/finalizers"], [*READ, "update", "patch", "delete"]),
            rule("", ["events"], ["create", "patch", "update"]),
            rule("scheduling.k8s.io", ["priorityclasses"], READ),
            rule("node.k8s.io", ["runtimeclasses"], READ),
            rule("batch", ["jobs", "jobs/status", "jobs/finalizers"], [*READ, "update", "patch", "delete"]),
            rule("apps", ["deployments", "replicasets"], READ),
            rule("training.kubedl.io", ["pytorchjobs", "pytorchjobs/status"], [*READ, "patch"]),
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
    _intercept(instance, authority, api)


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


def _intercept(instance: Instance, authority: Authority, api: Api) -> None:
    """Call Kueue for Deployments and pods of namespaces with the label INTERCEPTED."""
    server = f"https://{instance.gateway}:{instance.loopback_port(22)}"
    bundle = base64.b64encode(authority.certificate.read_bytes()).decode()

    def webhook(name: str, path: str, group: str, resource: str, verbs: list[str]) -> Object:
        return {
            "name": f"{name}.{GROUP}",
            "clientConfig": {"url": f"{server}/{path}", "caBundle": bundle},
            "rules": [{"apiGroups": [group], "apiVersions": ["v1"], "operations": verbs, "resources": [resource]}],
            "namespaceSelector": {"matchExpressions": [{"key": INTERCEPTED, "operator": "Exists"}]},
            "admissionReviewVersions": ["v1"],
            "sideEffects": "None",
        }

    hooks = [
        webhook("pod", "mutate--v1-pod", "", "pods", ["CREATE"]),
        webhook("deployment", "mutate-apps-v1-deployment", "apps", "deployments", ["CREATE", "UPDATE"]),
    ]
    path = "/apis/admissionregistration.k8s.io/v1/mutatingwebhookconfigurations"
    api.create(path, {"metadata": {"name": PROGRAM}, "webhooks": hooks})


def _settings(instance: Instance) -> Object:
    return {
        "apiVersion": "config.kueue.x-k8s.io/v1beta2",
        "kind": "Configuration",
        "namespace": NAMESPACE,
        "health": {"healthProbeBindAddress": f"127.0.0.1:{instance.loopback_port(20)}"},
        "metrics": {"bindAddress": f"127.0.0.1:{instance.loopback_port(21)}"},
        "webhook": {"host": instance.gateway, "port": instance.loopback_port(22), "certDir": "/webhook"},
        "visibilityServer": {"bindAddress": instance.gateway, "bindPort": PORT},
        "leaderElection": {"leaderElect": False},
        "internalCertManagement": {"enable": False},
        "clientConnection": {"qps": 300, "burst": 500},
        "fairSharing": {"preemptionStrategies": ["LessThanOrEqualToFinalShare", "LessThanInitialShare"]},
        "multiKueue": {"externalFrameworks": [{"name": DISPATCHED}], "gcInterval": "1m"},
        "integrations": {"frameworks": ["batch/job", "deployment", "pod"], "externalFrameworks": []},
    }
