"""Trees that tell flowers apart, trained by an XGBoostJob, packed by its ModelVersion, served by MLServer."""

import json
import urllib.request

from testbed.api import Object, is_true
from testbed.waiting import until
from tests.e2e.models.observed_version import ObservedVersion
from tests.e2e.serving.inferences import MOUNTED, fetch, template
from tests.e2e.serving.versions import CLAIM
from tests.e2e.workspace import Workspace

TRAINED = 300  # seconds
PREDICT = "/v2/models/trees/infer"
# A flower of each kind, from the data that the model was trained with.
FLOWERS = [[5.1, 3.5, 1.4, 0.2], [7.0, 3.2, 4.7, 1.4], [6.3, 3.3, 6.0, 2.5]]
QUESTION: Object = {"inputs": [{"name": "predict", "shape": [3, 4], "datatype": "FP32", "data": FLOWERS}]}

_JOBS = "/apis/training.kubedl.io/v1alpha1/namespaces/{}/xgboostjobs"
_START = ("python3", "-c", "from mlserver.cli import main; main()", "start", "/kubedl-model")
_SETTINGS = {
    "HOME": "/tmp",  # noqa: S108 - a volume of the pod
    "MLSERVER_HTTP_PORT": "8080",
    "MLSERVER_GRPC_PORT": "8081",
    "MLSERVER_METRICS_PORT": "8082",
    "MLSERVER_PARALLEL_WORKERS": "0",
}


def trained(workspace: Workspace, image: str) -> ObservedVersion:
    """The version that a job leaves behind, in the claim of the workspace."""
    made = template(image, "python3", f"{MOUNTED}/trees.py")
    made["spec"]["containers"][0]["name"] = "xgboostjob"
    wish = {
        "modelName": "trees",
        "imageRepo": ObservedVersion(workspace, "").repository,
        "imageTag": "v1",
        "storage": CLAIM,
        "registry": {"insecure": True},
    }
    replicas = {"Master": {"replicas": 1, "restartPolicy": "Never", "template": made}}
    job = {
        "apiVersion": "training.kubedl.io/v1alpha1",
        "kind": "XGBoostJob",
        "metadata": {"name": "trees"},
        "spec": {"xgbReplicaSpecs": replicas, "modelVersion": wish},
    }
    api, place = workspace.cluster.api, _JOBS.format(workspace.namespace)
    api.create(place, job)
    until("the job to succeed", lambda: is_true(api.get(f"{place}/trees"), "Succeeded"), deadline=TRAINED)
    return ObservedVersion(workspace, api.get(f"{place}/trees")["status"]["modelVersionName"])


def mlserver(image: str) -> Object:
    """The template of a predictor."""
    made = template(image, *_START, **_SETTINGS)
    made["spec"]["containers"][0]["workingDir"] = "/tmp"  # noqa: S108 - as above
    return made


def is_right(status: int, said: Object) -> bool:
    """Whether each flower is told for what it is: three probabilities each, the right one the largest."""
    if status != 200:
        return False
    (output,) = said["outputs"]
    rows = [output["data"][start : start + 3] for start in range(0, 9, 3)]
    return [row.index(max(row)) for row in rows] == [0, 1, 2]


def asked(address: str) -> bool:
    """Whether the server there is right."""
    headers = {"Content-Type": "application/json"}
    request = urllib.request.Request(f"http://{address}{PREDICT}", json.dumps(QUESTION).encode(), headers)
    return is_right(*fetch(request))
