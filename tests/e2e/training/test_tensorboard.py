"""A TensorBoard beside a job shows what the job logs, over its Service, and is gone when its lifetime is over."""

import json

from kubedl.training.kinds.tensorflow import TensorFlow
from testbed.errors import TestbedError
from testbed.waiting import until
from tests.builders import pod
from tests.e2e.training.conftest import Submit
from tests.e2e.training.jobs import MOUNTED_SCRIPTS, Training
from tests.e2e.training.observed import START, ObservedJob

LONG, LIFETIME = 3600, 60  # seconds: as it is submitted, and as soon as the curve was read without the replicas
VALUES = [round(1 / (step + 1), 3) for step in range(10)]
LOGGED = Training(
    name="logged",
    kind=TensorFlow(),
    image="tensorboard",  # the job's image has TensorBoard, so its board needs no other
    roles={"Worker": 1},
    command=("python3", f"{MOUNTED_SCRIPTS}/logged.py"),
    spec={
        "cleanPodPolicy": "All",
        "tensorBoard": {"logDir": "/checkpoints/logs", "ttlSecondsAfterFinished": LONG},
    },
)
BOARD = "logged-tensorboard-0"
CURVE = f"http://{BOARD}:6006/data/plugin/scalars/scalars?run=.&tag=loss"


def test_a_board_shows_the_curve_and_goes(submit: Submit, base_image: str) -> None:
    """It outlives the job's pods, which are cleaned away, and nothing of it is left."""
    job = submit(LOGGED)
    job.workspace.start(pod("browser", base_image).running("sleep", "3600"))
    job.workspace.running("browser")
    job.wait("the curve in the TensorBoard", lambda: curve(job) == VALUES)
    job.checkpoints.release()
    job.succeeded()
    job.wait("the replicas to be cleaned away", lambda: set(job.pods()) == {BOARD})
    job.wait("the curve without the replicas", lambda: curve(job) == VALUES)
    # Not before: busy kubelets may take any time to get here.
    live(job, LIFETIME)
    until("the TensorBoard to be gone", lambda: not job.pods() and not has_service(job), deadline=START)


def curve(job: ObservedJob) -> list[float]:
    """What the TensorBoard tells of the curve, as far as it does."""
    try:
        answer = job.workspace.execute("browser", "curl", "-sS", "--max-time", "5", CURVE)
        return [round(value, 3) for _, _, value in json.loads(answer)]
    except (TestbedError, json.JSONDecodeError):
        return []


def live(job: ObservedJob, seconds: int) -> None:
    """Let the TensorBoard live so long after the end of the job, which has ended."""
    change = json.dumps({"spec": {"tensorBoard": {"ttlSecondsAfterFinished": seconds}}})
    job.workspace.kubectl("patch", job.training.kind.resource.name, job.training.name, "--type=merge", "-p", change)


def has_service(job: ObservedJob) -> bool:
    """Whether the board's Service is there."""
    path = f"/api/v1/namespaces/{job.workspace.namespace}/services/{BOARD}"
    return job.workspace.cluster.api.exists(path)
