"""Reasons for which a job's pods do not run: each prepared in a cluster, and removed again."""

import base64
import json
import urllib.request
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

from testbed.api import Object, is_true
from testbed.cluster import Cluster
from testbed.waiting import until
from tests.builders import PodBuilder
from tests.e2e.training.jobs import API_VERSION

PORT = 15999  # of a registry that asks for a password, on the first node
LATER = "the-image-of-tomorrow"
RESOURCE = "example.com/waiting"
WAITED_FOR = "waits-for-role-ps-0"
PASSWORD = "open"  # noqa: S105 - of nothing
MANIFESTS = "application/vnd.oci.image.manifest.v1+json,application/vnd.docker.distribution.manifest.v2+json"
# Between the node's containerd and the cluster's registry; containerd speaks plain HTTP to a loopback address.
GUARD = """
import base64, http.server, sys, urllib.request
wanted = "Basic " + base64.b64encode(b"me:open").decode()
opener = urllib.request.build_opener(urllib.request.ProxyHandler({}))
class Guard(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    def handle(self):
        if self.rfile.peek(1)[:1] == b"\\x16":  # TLS: the client tries plain HTTP when it is answered like this
            self.wfile.write(b"HTTP/1.1 400 Bad Request\\r\\n\\r\\n")
        else:
            super().handle()
    def do_GET(self):
        if self.headers.get("Authorization") != wanted:
            self.send_response(401)
            self.send_header("WWW-Authenticate", 'Basic realm="guarded"')
            self.send_header("Content-Length", "0")
            self.end_headers()
            return
        asked = urllib.request.Request("http://" + sys.argv[1] + self.path, method=self.command)
        asked.add_header("Accept", self.headers.get("Accept", "*/*"))
        try:
            answer = opener.open(asked)
        except urllib.error.HTTPError as error:
            answer = error
        self.send_response(answer.status)
        for name in ("Content-Type", "Content-Length", "Docker-Content-Digest"):
            if answer.headers.get(name):
                self.send_header(name, answer.headers[name])
        self.end_headers()
        while self.command == "GET" and (block := answer.read(1 << 20)):
            self.wfile.write(block)
    do_HEAD = do_GET
http.server.ThreadingHTTPServer(("127.0.0.1", int(sys.argv[2])), Guard).serve_forever()
"""


@dataclass(frozen=True)
class Ground:
    """Where the jobs are: a namespace for all, and one each where the namespace itself is the cause."""

    cluster: Cluster
    image: str
    open: str
    restricted: str
    counted: str
    hooked: str

    def create(self, path: str, body: Object) -> None:
        self.cluster.api.create(path, body)

    def here(self, plural: str, body: Object) -> None:
        """Create an object in the namespace that is for all."""
        self.create(f"/api/v1/namespaces/{self.open}/{plural}", body)

    def kubectl(self, *arguments: str, given: str | None = None) -> None:
        self.cluster.kubectl(*arguments, given=given)


@dataclass(frozen=True)
class Reason:
    """Why a job does not run, what it must say, and how the cause is removed."""

    words: tuple[str, ...]  # that the condition and the column must have
    remove: Callable[[Ground], None]
    prepare: Callable[[Ground], None] = lambda _: None
    pod: Object = field(default_factory=dict)  # fields of the pod's spec
    container: Object = field(default_factory=dict)
    image: Callable[[Ground], str] = lambda ground: ground.image
    namespace: Callable[[Ground], str] = lambda ground: ground.open
    waits: bool = False  # a PS before the worker, which is not ready


def body(name: str, reason: Reason, ground: Ground) -> Object:
    """The job."""
    container = {"name": "tensorflow", **reason.container}
    template = PodBuilder(name, reason.image(ground), container=container).running("sleep", "3600").build()
    spec = {**template["spec"], **reason.pod}
    for volume in spec.get("volumes", ()):
        spec["containers"][0]["volumeMounts"] = [{"name": volume["name"], "mountPath": "/data"}]
    for one in spec.get("initContainers", ()):
        one["image"] = ground.image
    worker: Object = {"restartPolicy": "OnFailure", "template": {"spec": spec}}
    roles = {"Worker": worker}
    if reason.waits:
        probe = {"exec": {"command": ["test", "-f", "/tmp/ready"]}, "periodSeconds": 1}  # noqa: S108 - in the container
        spec = {**template["spec"], "containers": [{**template["spec"]["containers"][0], "readinessProbe": probe}]}
        worker["dependsOn"] = [{"upstream": "PS", "phase": "Ready"}]
        roles = {"PS": {"template": {"spec": spec}}, "Worker": worker}
    return {
        "apiVersion": API_VERSION,
        "kind": "TFJob",
        "metadata": {"name": name},
        "spec": {"restartScope": "Replica", "tfReplicaSpecs": roles},
    }


def _guard(ground: Ground) -> None:
    """A registry that lets in only who knows the password, and a Secret with another one."""
    command = ["python3", "-c", GUARD, ground.cluster.instance.registry, str(PORT)]
    guard = PodBuilder("guard", ground.image).on("node1").running(*command).build()
    guard["spec"]["hostNetwork"] = True
    connect = f"import socket; socket.create_connection(('127.0.0.1', {PORT}))"
    probe = {"exec": {"command": ["python3", "-c", connect]}, "periodSeconds": 1}
    guard["spec"]["containers"][0]["readinessProbe"] = probe
    # The kubelet knows the Secret before the job's pod comes, or it might ask without any password at first.
    guard["spec"]["imagePullSecrets"] = [{"name": "login"}]
    ground.here("secrets", _login("wrong"))
    ground.here("pods", guard)
    path = f"/api/v1/namespaces/{ground.open}/pods/guard"
    until("the guarded registry", lambda: is_true(ground.cluster.api.get(path), "Ready"), deadline=60)


def _login(password: str) -> Object:
    auth = base64.b64encode(f"me:{password}".encode()).decode()
    text = json.dumps({"auths": {f"127.0.0.1:{PORT}": {"auth": auth}}})
    return {
        "metadata": {"name": "login"},
        "type": "kubernetes.io/dockerconfigjson",
        "stringData": {".dockerconfigjson": text},
    }


def _push(ground: Ground) -> None:
    """Give the image the tag that the job asks for."""
    registry, _, path = ground.image.partition("/")
    name, _, tag = path.partition("@") if "@" in path else path.rpartition(":")
    opener = urllib.request.build_opener(urllib.request.ProxyHandler({}))
    asked = urllib.request.Request(f"http://{registry}/v2/{name}/manifests/{tag}", headers={"Accept": MANIFESTS})
    with opener.open(asked) as answer:
        manifest, kind = answer.read(), answer.headers["Content-Type"]
    address = f"http://{registry}/v2/{name}/manifests/{LATER}-{ground.open}"
    sent = urllib.request.Request(address, data=manifest, method="PUT", headers={"Content-Type": kind})
    opener.open(sent).close()


def _repository(ground: Ground) -> str:
    path = ground.image.partition("/")[2]
    return path.partition("@")[0] if "@" in path else path.rpartition(":")[0]


def _volume(name: str) -> Callable[[Ground], None]:
    def create(ground: Ground) -> None:
        claim = {"namespace": ground.open, "name": name}
        spec = {
            "capacity": {"storage": "1Gi"},
            "accessModes": ["ReadWriteOnce"],
            "storageClassName": "",
            "claimRef": claim,
            "hostPath": {"path": f"/tmp/{ground.open}-{name}", "type": "DirectoryOrCreate"},  # noqa: S108 - of a node
        }
        volume = {"metadata": {"name": f"{ground.open}-{name}"}, "spec": spec}
        ground.create("/api/v1/persistentvolumes", volume)

    return create


def _claim(name: str) -> Callable[[Ground], None]:
    def create(ground: Ground) -> None:
        spec = {
            "accessModes": ["ReadWriteOnce"],
            "storageClassName": "",
            "resources": {"requests": {"storage": "1Gi"}},
        }
        ground.here("persistentvolumeclaims", {"metadata": {"name": name}, "spec": spec})

    return create


def _both(*steps: Callable[[Ground], None]) -> Callable[[Ground], None]:
    def do(ground: Ground) -> None:
        for step in steps:
            step(ground)

    return do


def _patch_node(value: str | None) -> Callable[[Ground], None]:
    def patch(ground: Ground) -> None:
        change = {"status": {"capacity": {RESOURCE: value}, "allocatable": {RESOURCE: value}}}
        arguments = ("patch", "node", "node1", "--subresource=status", "--type=merge", "-p", json.dumps(change))
        ground.kubectl(*arguments)

    return patch


def _hook(ground: Ground) -> None:
    hook = {
        "name": "down.example.com",
        "admissionReviewVersions": ["v1"],
        "sideEffects": "None",
        "failurePolicy": "Fail",
        "timeoutSeconds": 1,
        "clientConfig": {"url": "https://127.0.0.1:1/"},
        "namespaceSelector": {"matchLabels": {"kubernetes.io/metadata.name": ground.hooked}},
        "rules": [{"apiGroups": [""], "apiVersions": ["v1"], "operations": ["CREATE"], "resources": ["pods"]}],
    }
    path = "/apis/admissionregistration.k8s.io/v1/validatingwebhookconfigurations"
    ground.create(path, {"metadata": {"name": ground.hooked}, "webhooks": [hook]})


def _make_ready(ground: Ground) -> None:
    """The PS that is waited for; the job says so before its container runs."""
    path = f"/api/v1/namespaces/{ground.open}/pods/{WAITED_FOR}"

    def runs() -> bool:
        return bool(ground.cluster.api.get(path)["status"].get("phase") == "Running")

    until(f"{WAITED_FOR} to run", runs, deadline=120)
    ground.kubectl("exec", "-n", ground.open, WAITED_FOR, "--", "touch", "/tmp/ready")  # noqa: S108 - in the container


def _mounting(volume: Mapping[str, object]) -> Object:
    return {"volumes": [{"name": "data", **volume}]}


def _variable(kind: str) -> Object:
    return {"env": [{"name": "TOKEN", "valueFrom": {kind: {"name": "absent", "key": "token"}}}]}


_FAILING: Object = {
    "name": "prepare",
    "command": ["sh", "-c", 'test -n "$GATE" || { echo "the gate is closed" > /dev/termination-log; exit 3; }'],
    "envFrom": [{"configMapRef": {"name": "gate", "optional": True}}],
    "securityContext": {"allowPrivilegeEscalation": False, "capabilities": {"drop": ["ALL"]}},
}
TAINT = "waiting.example.com/closed"

REASONS: Mapping[str, Reason] = {
    "wrong-image": Reason(
        ("ImagePullBackOff", "not found"),
        _push,
        image=lambda ground: f"{ground.cluster.instance.registry}/{_repository(ground)}:{LATER}-{ground.open}",
    ),
    "wrong-pull-secret": Reason(
        ("ImagePullBackOff", "401"),
        lambda ground: ground.kubectl(
            "apply",
            "-n",
            ground.open,
            "-f",
            "-",
            given=json.dumps({"apiVersion": "v1", "kind": "Secret", **_login(PASSWORD)}),
        ),
        prepare=_guard,
        pod={"imagePullSecrets": [{"name": "login"}], "nodeSelector": {"kubernetes.io/hostname": "node1"}},
        image=lambda ground: ground.image.replace(ground.cluster.instance.registry, f"127.0.0.1:{PORT}"),
    ),
    "too-large": Reason(
        ("Unschedulable", f"Insufficient {RESOURCE}"),
        _patch_node("4"),
        container={"resources": {"limits": {RESOURCE: "1"}}},
    ),
    "no-such-node": Reason(
        ("Unschedulable", "didn't match Pod's node affinity/selector"),
        lambda ground: ground.kubectl("label", "node", "node1", f"waiting={ground.open}", "--overwrite"),
        pod={"nodeSelector": {"waiting": "NAMESPACE"}},
    ),
    "taint": Reason(
        ("Unschedulable", "untolerated taint"),
        lambda ground: ground.kubectl("taint", "node", "node2", f"{TAINT}-"),
        prepare=lambda ground: ground.kubectl("taint", "node", "node2", f"{TAINT}=yes:NoSchedule", "--overwrite"),
        pod={"nodeSelector": {"kubernetes.io/hostname": "node2"}},
    ),
    "missing-claim": Reason(
        ("Unschedulable", 'persistentvolumeclaim "absent" not found'),
        _both(_volume("absent"), _claim("absent")),
        pod=_mounting({"persistentVolumeClaim": {"claimName": "absent"}}),
    ),
    "unbound-claim": Reason(
        ("Unschedulable", "unbound immediate PersistentVolumeClaims"),
        _volume("unbound"),
        prepare=_claim("unbound"),
        pod=_mounting({"persistentVolumeClaim": {"claimName": "unbound"}}),
    ),
    "missing-configmap": Reason(
        ("FailedMount", 'configmap "absent" not found'),
        lambda ground: ground.here("configmaps", {"metadata": {"name": "absent"}, "data": {"a": "b"}}),
        pod=_mounting({"configMap": {"name": "absent"}}),
    ),
    "missing-secret": Reason(
        ("CreateContainerConfigError", 'secret "absent" not found'),
        lambda ground: ground.here("secrets", {"metadata": {"name": "absent"}, "stringData": {"token": "x"}}),
        container=_variable("secretKeyRef"),
    ),
    "pod-security": Reason(
        ("PodForbidden", 'violates PodSecurity "restricted'),
        lambda ground: ground.kubectl(
            "label", "namespace", ground.restricted, "pod-security.kubernetes.io/enforce=privileged", "--overwrite"
        ),
        container={"securityContext": {"allowPrivilegeEscalation": True}},
        namespace=lambda ground: ground.restricted,
    ),
    "quota": Reason(
        ("PodForbidden", "exceeded quota"),
        lambda ground: ground.kubectl("delete", "resourcequota", "-n", ground.counted, "none"),
        prepare=lambda ground: ground.create(
            f"/api/v1/namespaces/{ground.counted}/resourcequotas",
            {"metadata": {"name": "none"}, "spec": {"hard": {"pods": "0"}}},
        ),
        namespace=lambda ground: ground.counted,
    ),
    "webhook-down": Reason(
        ("failed calling webhook", "down.example.com"),
        lambda ground: ground.kubectl("delete", "validatingwebhookconfiguration", ground.hooked),
        prepare=_hook,
        namespace=lambda ground: ground.hooked,
    ),
    "init-container": Reason(
        ("InitContainerFailed", "init container prepare failed with exit code 3", "the gate is closed"),
        lambda ground: ground.here("configmaps", {"metadata": {"name": "gate"}, "data": {"GATE": "open"}}),
        pod={"initContainers": [_FAILING]},
    ),
    "waits-for-role": Reason(
        ("Worker waits for PS to be Ready",),
        _make_ready,
        waits=True,
    ),
}


def clean(ground: Ground) -> None:
    """What is in no namespace, whatever became of the test."""
    for node in ("node1", "node2"):
        ground.kubectl("label", "node", node, "waiting-")
    _patch_node(None)(ground)
    for taint in ground.cluster.api.get("/api/v1/nodes/node2")["spec"].get("taints", []):
        if taint["key"] == TAINT:
            ground.kubectl("taint", "node", "node2", f"{TAINT}-")
    ground.kubectl("delete", "validatingwebhookconfiguration", ground.hooked, "--ignore-not-found")
    volumes = [f"{ground.open}-absent", f"{ground.open}-unbound"]
    ground.kubectl("delete", "persistentvolume", *volumes, "--ignore-not-found", "--wait=false")
