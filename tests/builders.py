"""Objects for tests, a word at a time: `pod("a", image).on("node1").running("sleep", "60").build()`."""

from dataclasses import dataclass, field, replace
from typing import Any

Object = dict[str, Any]


@dataclass(frozen=True)
class PodBuilder:
    """A pod that PodSecurity *restricted* admits and that ends a second after it is deleted."""

    name: str
    image: str
    spec: Object = field(default_factory=dict)
    container: Object = field(default_factory=dict)
    labels: dict[str, str] = field(default_factory=dict)

    def running(self, *command: str) -> "PodBuilder":
        return self._container(command=list(command))

    def on(self, node: str) -> "PodBuilder":
        return self._spec(nodeSelector={"kubernetes.io/hostname": node})

    def labelled(self, **labels: str) -> "PodBuilder":
        return replace(self, labels=self.labels | labels)

    def named_in(self, service: str) -> "PodBuilder":
        """Give the pod the DNS name `<pod>.<service>` and the label by which the service selects it."""
        return self._spec(hostname=self.name, subdomain=service).labelled(service=service)

    def environment(self, **variables: str) -> "PodBuilder":
        return self._container(env=[{"name": name, "value": value} for name, value in variables.items()])

    def limited(self, **limits: str) -> "PodBuilder":
        return self._container(resources={"limits": limits})

    def mounting_image(self, reference: str, path: str) -> "PodBuilder":
        volume = {"name": "image", "image": {"reference": reference, "pullPolicy": "IfNotPresent"}}
        mount = {"name": "image", "mountPath": path}
        return replace(
            self, spec=self.spec | {"volumes": [volume]}, container=self.container | {"volumeMounts": [mount]}
        )

    def leaving_after(self, seconds: int) -> "PodBuilder":
        """Evicted this long after its node is lost, instead of five minutes."""
        keys = ("node.kubernetes.io/not-ready", "node.kubernetes.io/unreachable")
        common = {"operator": "Exists", "effect": "NoExecute", "tolerationSeconds": seconds}
        return self._spec(tolerations=[{"key": key, **common} for key in keys])

    def tolerating(self, taint: str) -> "PodBuilder":
        return self._spec(tolerations=[{"key": taint, "operator": "Exists"}])

    def build(self) -> Object:
        context = {"allowPrivilegeEscalation": False, "capabilities": {"drop": ["ALL"]}}
        return {
            "apiVersion": "v1",
            "kind": "Pod",
            "metadata": {"name": self.name, "labels": self.labels},
            "spec": {
                "restartPolicy": "Never",
                # Not 0: that would remove the object at once, before its kubelet has ended the container.
                "terminationGracePeriodSeconds": 1,
                "securityContext": {
                    "runAsNonRoot": True,
                    "runAsUser": 1000,
                    "seccompProfile": {"type": "RuntimeDefault"},
                },
                "containers": [{"name": "main", "image": self.image, "securityContext": context, **self.container}],
                **self.spec,
            },
        }

    def _spec(self, **fields: object) -> "PodBuilder":
        return replace(self, spec=self.spec | fields)

    def _container(self, **fields: object) -> "PodBuilder":
        return replace(self, container=self.container | fields)


def pod(name: str, image: str) -> PodBuilder:
    """A pod of one container."""
    return PodBuilder(name, image)


def headless_service(name: str) -> Object:
    """A Service whose name resolves to its pods, ready or not."""
    spec = {"clusterIP": "None", "selector": {"service": name}, "publishNotReadyAddresses": True}
    return {"apiVersion": "v1", "kind": "Service", "metadata": {"name": name}, "spec": spec}


def service(name: str, port: int, target: int) -> Object:
    """A Service with an address of its own."""
    spec = {"selector": {"service": name}, "ports": [{"port": port, "targetPort": target}]}
    return {"apiVersion": "v1", "kind": "Service", "metadata": {"name": name}, "spec": spec}
