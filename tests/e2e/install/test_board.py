"""Every question of the board has an answer, and no alert fires, after jobs have run with the real operator."""

import math
from collections.abc import Callable

import yaml

from devtools.dashboard import RATE, panels
from harness.drivers.helm import CHART
from harness.drivers.installation import RESTRICTED, Installation
from harness.drivers.prometheus import RealPrometheus
from testbed import namespaces
from testbed.api import Object
from testbed.waiting import until
from tests.builders import pod
from tests.e2e.install.jobs import Team, job

PORT = 8080
LABELS = ("training.kubedl.io/job-name", "model.kubedl.io/version-uid", "serving.kubedl.io/inference")
# Both are counted as long as they are there; that its claim is missing keeps the version from being built.
VERSION = {
    "apiVersion": "model.kubedl.io/v1alpha1",
    "kind": "ModelVersion",
    "metadata": {"name": "digits-1"},
    "spec": {
        "modelName": "digits",
        "imageRepo": "registry.example/digits",
        "storage": {"claim": {"claimName": "missing"}},
    },
}
Samples = list[tuple[dict[str, str], float]]


def test_every_panel_has_data(
    installation: Installation, base_image: str, record_property: Callable[[str, object], None]
) -> None:
    """Asked of a real Prometheus that looks at both operators; some answers are known from the API server."""
    cluster = installation.cluster
    installation.until_led()
    targets = [f"{pod['status']['podIP']}:{PORT}" for pod in installation.pods()]
    with namespaces.fresh(cluster.api, "team", RESTRICTED) as namespace, RealPrometheus(*targets) as prometheus:
        until("both to be seen", lambda: len(prometheus.ask("kubedl_leader")) == 2, deadline=60)
        team = Team(cluster, namespace)
        team.create(job("good", base_image, "true"), job("bad", base_image, "false", backoffLimit=0))
        team.create(job("long", base_image))
        cluster.api.create(f"/apis/model.kubedl.io/v1alpha1/namespaces/{namespace}/modelversions", VERSION)
        cluster.api.create(
            f"/apis/serving.kubedl.io/v1alpha1/namespaces/{namespace}/inferences", _inference(base_image)
        )
        team.until_states({"Succeeded": 1, "Failed": 1, "Running": 1}, deadline=240)
        queries = {panel.title: panel.query.replace(RATE, "30s") for panel in panels()}

        def seen(title: str) -> Samples:
            return _numbers(prometheus.ask(queries[title]))

        def by(label: str, title: str) -> dict[str, float]:
            return {labels[label]: value for labels, value in seen(title) if value}

        def agreed() -> bool:
            pods = [one for label in LABELS for one in cluster.api.list(f"/api/v1/pods?labelSelector={label}")]
            told = {
                "jobs": by("state", "Jobs by state"),
                "running": by("kind", "Running jobs by kind"),
                "pods": by("resource", "Replicas and other pods"),
                "versions": sum(by("phase", "Model versions").values()),
                "inferences": by("ready", "Inferences"),
                "leaders": [value for _, value in seen("Leaders")],
            }
            expected = {
                "jobs": {"Succeeded": 1, "Failed": 1, "Running": 1},
                "running": {"PyTorchJob": 1},
                "pods": {"pods": len(pods)},
                "versions": 1,
                "inferences": {"false": 1},
                "leaders": [1],
            }
            if told != expected:
                raise TimeoutError(f"{told} instead of {expected}")
            return True

        until("the board to tell what is there", agreed, deadline=60, interval=1)
        record_property("panels", len(queries))
        empty: list[str] = []

        def answered() -> bool:
            empty[:] = [title for title in queries if not seen(title)]
            return _nothing(empty)

        try:
            # A look at an operator that comes too late leaves a gap; what is really empty stays so.
            until("every panel to have data", answered, deadline=60, interval=1)
        finally:
            record_property("empty", len(empty))
        rules = yaml.safe_load((CHART / "files" / "alerts.yaml").read_text())["groups"][0]["rules"]
        # Each has to hold for a while before anybody is told; for a moment it may.
        until(
            "no alert to hold",
            lambda: _nothing([one["alert"] for one in rules if prometheus.ask(one["expr"])]),
            deadline=120,
            interval=1,
        )


def _nothing(found: list[str]) -> bool:
    """Whether nothing is found; what is, is said when the wait is over."""
    if found:
        raise TimeoutError(", ".join(found))
    return True


def _numbers(answer: list[Object]) -> Samples:
    """Without what is not a number: Grafana draws nothing for it."""
    read = [(one["metric"], float(one["value"][1])) for one in answer]
    return [(labels, value) for labels, value in read if not math.isnan(value)]


def _inference(image: str) -> Object:
    """With a server that never answers."""
    template = pod("server", image).running("sleep", "infinity").limited(memory="64Mi").build()["spec"]
    template.pop("restartPolicy")
    predictor = {"name": "main", "replicas": 1, "template": {"spec": template}}
    return {
        "apiVersion": "serving.kubedl.io/v1alpha1",
        "kind": "Inference",
        "metadata": {"name": "digits"},
        "spec": {"framework": "Custom", "predictors": [predictor]},
    }
