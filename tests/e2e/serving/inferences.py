"""An Inference as its user writes it, and as he sees it: through the API server, and through the gateway."""

import json
import urllib.error
import urllib.request
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import quote, urlsplit

from harness.drivers.load_generator import Load, Order
from testbed import gateway
from testbed.api import ApiError, Object, is_true
from testbed.errors import DeadlineError
from testbed.waiting import until
from tests.builders import PodBuilder
from tests.e2e.workspace import Workspace

API_VERSION = "serving.kubedl.io/v1alpha1"
SCRIPTS = Path(__file__).parent / "workloads"
SCRIPTS_MAP, MOUNTED = "serving-scripts", "/scripts"
READY = 120  # seconds: images are pulled, and few cores are shared

_opener = urllib.request.build_opener(urllib.request.ProxyHandler({}))


def scripts() -> Object:
    """The ConfigMap that carries the scripts into the pods."""
    return {"metadata": {"name": SCRIPTS_MAP}, "data": {path.name: path.read_text() for path in SCRIPTS.glob("*.py")}}


def template(image: str, *command: str, **variables: str) -> Object:
    """A pod that *restricted* admits, with the scripts and a directory to write to."""
    mounts = [{"name": "scripts", "mountPath": MOUNTED}, {"name": "scratch", "mountPath": "/tmp"}]  # noqa: S108
    volumes = [{"name": "scripts", "configMap": {"name": SCRIPTS_MAP}}, {"name": "scratch", "emptyDir": {}}]
    builder = PodBuilder("server", image, spec={"volumes": volumes}, container={"volumeMounts": mounts})
    spec = builder.running(*command).environment(**variables).build()["spec"]
    # The operator's own way to end a pod is what is tried here; and a Deployment's pods are always restarted.
    del spec["terminationGracePeriodSeconds"], spec["restartPolicy"]
    spec["containers"][0]["resources"] = {"requests": {"cpu": "20m", "memory": "64Mi"}}
    return {"spec": spec}


def answering(name: str, image: str, weight: int = 100, **fields: object) -> Object:
    """A predictor that says who it is."""
    made = template(image, "python3", f"{MOUNTED}/fake_model_server.py", NAME=name)
    made["spec"]["containers"][0]["readinessProbe"] = {
        "httpGet": {"path": "/ready", "port": 8080},
        "periodSeconds": 1,
        # On a busy machine a server under load may miss two seconds; only one that has ended is to lose its requests,
        # and of that the kubelet knows without a probe.
        "failureThreshold": 10,
    }
    return {"name": name, "trafficWeight": weight, "template": made, **fields}


@dataclass(frozen=True)
class ObservedInference:
    """One Inference in one namespace."""

    workspace: Workspace
    name: str = "hello"

    def create(self, *predictors: Object, framework: str = "Custom", **spec: object) -> None:
        """A user makes it."""
        body = {
            "apiVersion": API_VERSION,
            "kind": "Inference",
            "metadata": {"name": self.name},
            "spec": {"framework": framework, "predictors": list(predictors), **spec},
        }
        self.workspace.cluster.api.create(self._collection, body)

    def change(self, edit: Callable[[Object], None]) -> None:
        """A user edits the spec; somebody may write the status meanwhile, which is no reason to give up."""

        def edited() -> bool:
            body = self.body
            edit(body["spec"])
            try:
                self.workspace.cluster.api.call("PUT", self._place, body)
            except ApiError as error:
                if error.status == 409:
                    return False
                raise
            return True

        until(f"{self.name} to be edited", edited, deadline=20)

    def weigh(self, **weights: int) -> None:
        """A user shares requests anew."""

        def edit(spec: Object) -> None:
            for predictor in spec["predictors"]:
                predictor["trafficWeight"] = weights.get(predictor["name"], predictor.get("trafficWeight", 100))

        self.change(edit)

    def say(self, word: str) -> None:
        """A user tells the rollout what to do."""
        self.workspace.kubectl("annotate", "--overwrite", "inference", self.name, f"serving.kubedl.io/rollout={word}")

    def delete(self) -> None:
        self.workspace.cluster.api.delete(self._place)

    @property
    def body(self) -> Object:
        return self.workspace.cluster.api.get(self._place)

    @property
    def status(self) -> Object:
        found: Object = self.body.get("status") or {}
        return found

    def predictor(self, name: str) -> Object:
        """What the status says of a predictor."""
        return next((one for one in self.status.get("predictorStatuses", ()) if one["name"] == name), {})

    def shares(self) -> dict[str, int]:
        """Percentages as the status has them."""
        return {one["name"]: one["trafficPercent"] for one in self.status.get("predictorStatuses", ())}

    def route(self) -> dict[str, int]:
        """Weights by Service, as the gateway is told."""
        path = f"/apis/{gateway.GROUP}/v1/namespaces/{self.workspace.namespace}/httproutes/{self.name}"
        try:
            rules = self.workspace.cluster.api.get(path)["spec"]["rules"]
        except ApiError as error:
            if error.status == 404:
                return {}
            raise
        return {ref["name"]: ref["weight"] for rule in rules for ref in rule["backendRefs"]}

    def condition(self, kind: str = "Ready") -> Object:
        found = (one for one in self.status.get("conditions", ()) if one["type"] == kind)
        return next(found, {})

    def ready(self, deadline: float = READY) -> None:
        """Wait until it serves, and the gateway too."""
        self.wait("to be ready", lambda: is_true(self.body, "Ready"), deadline)
        self.wait("to answer through the gateway", lambda: self.ask("/ready")[0] == 200, deadline)

    def wait(self, what: str, condition: Callable[[], object], deadline: float = READY) -> None:
        """Wait for something of it."""
        try:
            until(f"{self.name} {what}", condition, deadline=deadline, interval=0.05)
        except DeadlineError as error:
            error.add_note(self.seen())
            raise

    def seen(self) -> str:
        """What there is of it, for a message."""
        return f"{json.dumps(self.status, indent=1)}\n{self.workspace.kubectl('get', 'pods,events')}"

    @property
    def host(self) -> str:
        """The name by which the gateway knows it."""
        return urlsplit(self.status.get("inferenceEndpoint", "")).hostname or ""

    @property
    def url(self) -> str:
        return f"http://{gateway.address(self.workspace.cluster.instance)}"

    def ask(self, path: str = "/", body: object | None = None) -> tuple[int, Object]:
        """One request through the gateway."""
        data = None if body is None else json.dumps(body).encode()
        headers = {"Host": self.host, "Content-Type": "application/json"}
        return fetch(urllib.request.Request(f"{self.url}{path}", data, headers))  # noqa: S310 - our own address

    def load(self, rate: float, count: int | None = None, **order: str) -> Load:
        """Requests at a steady pace, through the gateway."""
        return Load(Order(f"{self.url}/", self.host, rate, count, **order))

    def pods(self, predictor: str) -> list[Object]:
        """Of a predictor, those that leave too."""
        labels = {"serving.kubedl.io/inference": self.name, "serving.kubedl.io/predictor": predictor}
        selector = quote(",".join(f"{label}={value}" for label, value in labels.items()))
        place = f"/api/v1/namespaces/{self.workspace.namespace}/pods?labelSelector={selector}"
        return self.workspace.cluster.api.list(place)

    @property
    def _collection(self) -> str:
        return f"/apis/{API_VERSION}/namespaces/{self.workspace.namespace}/inferences"

    @property
    def _place(self) -> str:
        return f"{self._collection}/{self.name}"


def fetch(request: urllib.request.Request) -> tuple[int, Object]:
    """Status and JSON; anything else than JSON is an empty object."""
    try:
        with _opener.open(request, timeout=10) as answer:
            return answer.status, _json(answer.read())
    except urllib.error.HTTPError as error:
        return error.code, _json(error.read())


def within(shares: Mapping[str, float], expected: Mapping[str, float]) -> float:
    """By how many points the shares miss at most."""
    return max(abs(shares.get(name, 0) - expected.get(name, 0)) for name in {*shares, *expected})


def _json(content: bytes) -> Object:
    try:
        found = json.loads(content)
    except ValueError:
        return {}
    return found if isinstance(found, dict) else {}
