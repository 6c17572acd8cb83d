"""Pictures of the console for docs/assets: `python -m devtools.console_pictures`, with Chromium and a real API server.

The cluster is made of objects that nobody acts on: nodes with GPUs, and the jobs, models and services of three teams.
"""

import sys
import tempfile
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from datetime import UTC, datetime, timedelta
from pathlib import Path

from harness.drivers import console_objects
from harness.drivers.api_connection import Connection
from harness.drivers.console_browser import Visit, visit
from harness.drivers.console_objects import EVERYTHING, Team
from harness.drivers.console_process import ConsoleProcess, rights_everywhere, token_of
from harness.fakes.prometheus import Counted, prometheus
from kubedl.serving.rollout.promql import Target
from testbed import cluster_lock
from testbed.api import Api, Object
from testbed.cluster import Cluster
from testbed.instance import chosen_index
from testbed.waiting import until

ASSETS = Path(__file__).parents[1] / "docs" / "assets"
TEAMS = ("nlp", "vision", "research")
NODES = {f"a100-{number:02}": {"cpu": "64", "memory": "512Gi", "gpu": "8"} for number in range(1, 7)}
NODES |= {f"cpu-{number:02}": {"cpu": "32", "memory": "256Gi"} for number in (1, 2)}
CLOSED = "a100-05"
SIZE = {"width": 1440, "height": 900}
COUNTED = {
    Target("nlp", "support-chat-main", 8080): Counted(159, 0.0019, 1.18),
    Target("nlp", "support-chat-main-next", 8080): Counted(53, 0.0026, 1.64),
}


def main() -> int:
    """Fill the cluster, take the pictures, empty it."""
    with (
        cluster_lock.borrowed(Cluster(chosen_index())) as cluster,
        cluster_lock.turn(cluster, alone=True),
        Connection(cluster) as connection,
        tempfile.TemporaryDirectory(prefix="kubedl-console-pictures-") as directory,
        ExitStack() as stack,
    ):
        console_objects.define(cluster)
        stack.enter_context(console_objects.nodes(connection, NODES, (CLOSED,)))
        nlp, vision, research = (Team(connection, stack.enter_context(namespace(cluster.api, name))) for name in TEAMS)
        stack.enter_context(rights_everywhere(cluster, "nlp", "mei.lin", *EVERYTHING))
        fill_nlp(nlp)
        fill_vision(vision)
        fill_research(research)
        address = stack.enter_context(prometheus(COUNTED))
        console = stack.enter_context(ConsoleProcess(cluster, Path(directory), f"--prometheus={address}"))
        token = token_of(cluster, "nlp", "mei.lin")
        until("the jobs", lambda: len(console.get("/api/v1/jobs", token).json()["rows"]) >= 15, deadline=60)
        seen = visit(console, token, pictures(), **SIZE)
    print("\n".join(seen.errors), file=sys.stderr)
    return 1 if seen.errors else 0


def pictures() -> list[Visit]:
    """The pages, and the words by which they are complete."""

    def file(name: str) -> str:
        return str(ASSETS / f"console-{name}.png")

    return [
        Visit("/", "largest free block", file("overview")),
        Visit("/jobs", "bert-large-pretrain", file("jobs")),
        Visit("/jobs/vision/pytorchjob/resnet50-ablation-14?tab=events", "OOMKilled", file("failed-job")),
        Visit("/models/nlp/llama3-8b-sft", "answers with", file("model")),
        Visit("/services/nlp/support-chat", "Good so far", file("rollout")),
    ]


def ago(**length: float) -> str:
    """A time before now."""
    return (datetime.now(UTC) - timedelta(**length)).strftime("%Y-%m-%dT%H:%M:%SZ")


def running(team: Team, name: str, user: str, gpus: int, on: tuple[str, ...]) -> None:
    """A job with a pod on each of these nodes."""
    requests = {"cpu": "3", "memory": "24Gi", **({"gpu": str(gpus)} if gpus else {})}
    ready = f"{len(on)}/{len(on)}"
    status = {"state": "Running", "startTime": ago(hours=7, minutes=36), "ready": ready}
    job = team.job(name, user=user, replicas=len(on), status=status, **requests)
    for index, node in enumerate(on):
        team.pod(f"{name}-worker-{index}", job, node, **requests)


def fill_nlp(team: Team) -> None:
    """Long runs, a model with three versions, and a service that takes the newest in steps."""
    running(team, "bert-large-pretrain", "mei.lin", 8, ("a100-01", "a100-02"))
    running(team, "llama3-8b-dpo", "mei.lin", 4, ("a100-03",))
    waits = "2 of 2 pods wait: no node has 8 free GPUs; the largest free block is 6"
    team.job("llama3-70b-lora", user="mei.lin", replicas=2, status={"state": "Queuing", "message": waits}, gpu="8")
    team.model("llama3-8b-sft", "Support assistant, instruction-tuned", "llama3-8b-sft-v3", 3)
    for number in (1, 2, 3):
        built = {
            "imageBuildPhase": "ImageBuildSucceeded",
            "image": f"hub.example/llama3-8b-sft@sha256:{f'b{number}' * 32}",
            "size": 16_106_127_360,
            "signed": number > 1,
        }
        failed = {"imageBuildPhase": "ImageBuildFailed", "message": "the registry refused the push: quota reached"}
        origin = {
            "jobKind": "PyTorchJob",
            "jobName": "llama3-8b-dpo" if number == 3 else f"llama3-8b-sft-{number}",
            "codeRepository": "https://git.example/nlp/sft.git",
            "codeRevision": f"41c8e02{number}",
            "trainerImages": {"train:1": f"hub.example/torch@sha256:{'9f' * 32}"},
        }
        parent = (
            f"hub.example/llama3-8b-sft@sha256:{'b2' * 32}"
            if number == 3
            else f"hub.example/llama3-8b@sha256:{'51' * 32}"
        )
        status = failed if number == 1 else built
        team.version(
            f"llama3-8b-sft-v{number}", "llama3-8b-sft", status, createdBy="mei.lin", origin=origin, parent=parent
        )
    team.service(
        "support-chat",
        {"main": ("llama3-8b-sft-v3", 100)},
        rollout_status(),
        {"steps": steps(), "analysis": analysis()},
    )


def steps() -> list[Object]:
    """Of the rollout."""
    return [{"weight": 5, "pause": 600}, {"weight": 25, "pause": 1800}, {"weight": 50, "pause": 1200}, {"weight": 100}]


def analysis() -> Object:
    """Its bounds."""
    return {"errorRate": 1, "p99": 1800, "minRequests": 1000}


def rollout_status() -> Object:
    """In its second step."""
    rollout = {
        "phase": "Stepping",
        "stable": "llama3-8b-sft-v2",
        "candidate": "llama3-8b-sft-v3",
        "step": 1,
        "since": ago(minutes=24),
        "reason": "Paused",
        "message": "the next step follows in 6 minutes",
    }
    predictor = {"name": "main", "modelVersion": "llama3-8b-sft-v3", "replicas": 2, "readyReplicas": 2}
    predictor |= {"trafficWeight": 100, "trafficPercent": 100, "rollout": rollout}
    ready = {"type": "Ready", "status": "True", "reason": "Ready", "lastTransitionTime": ago(hours=5)}
    return {"predictorStatuses": [predictor], "conditions": [ready], "inferenceEndpoint": "http://chat.example"}


def fill_vision(team: Team) -> None:
    """A run, one that failed, and many that ended well."""
    running(team, "vit-g14-finetune", "tomas.k", 2, ("a100-03", "a100-04"))
    message = "worker-3 ran out of memory (limit 64Gi)"
    failed: Object = {
        "state": "Failed",
        "message": message,
        "startTime": ago(minutes=90),
        "completionTime": ago(minutes=16),
    }
    condition = {"type": "Failed", "status": "True", "reason": "OOMKilled", "message": message}
    failed["conditions"] = [{**condition, "lastTransitionTime": ago(minutes=16)}]
    job = team.job("resnet50-ablation-14", user="tomas.k", replicas=4, status=failed, cpu="3", memory="64Gi", gpu="1")
    for index in range(4):
        name = f"resnet50-ablation-14-worker-{index}"
        team.pod(name, job, "", "Failed")
        ended = {"exitCode": 137, "reason": "OOMKilled"} if index == 3 else {"exitCode": 1, "reason": "Error"}
        container = {"name": "pytorch", "image": "train:1", "imageID": "", "ready": False, "restartCount": 0}
        team.pod_status(name, containerStatuses=[{**container, "state": {"terminated": ended}}])
    team.event("oom", job, "PyTorchJob", "OOMKilled", message)
    for number in range(12):
        ended_well = {"state": "Succeeded", "startTime": ago(hours=3 + number), "completionTime": ago(hours=1 + number)}
        team.job(f"sweep-{number:02}", user="priya.n", status=ended_well, cpu="3", gpu="1")


def fill_research(team: Team) -> None:
    """Little ones."""
    running(team, "tabular-baseline", "lucia.m", 0, ("cpu-01",))


@contextmanager
def namespace(api: Api, name: str) -> Iterator[str]:
    """A namespace with a name that people would give."""
    api.create("/api/v1/namespaces", {"metadata": {"name": name}})
    try:
        account = f"/api/v1/namespaces/{name}/serviceaccounts/default"
        until(f"namespace {name} to be usable", lambda: api.exists(account), deadline=90)
        yield name
    finally:
        api.delete(f"/api/v1/namespaces/{name}")


if __name__ == "__main__":
    sys.exit(main())
