"""Models, services and crons as people have them, for tests that look at pages."""

from datetime import UTC, datetime, timedelta
from typing import Any

from kubedl.console.object_kinds import CRONS, INFERENCES, MODEL_VERSIONS, MODELS
from tests.unit.console.world import World

HOSTILE = "<img src=x onerror=alert(1)>"
VERSION = "training.kubedl.io/v1alpha1"
OBJECTS = (MODELS.name, MODEL_VERSIONS.name, INFERENCES.name, CRONS.name)


def ago(**length: float) -> str:
    """Return a time before now."""
    return (datetime.now(UTC) - timedelta(**length)).strftime("%Y-%m-%dT%H:%M:%SZ")


def ahead(**length: float) -> str:
    """Return a time after now."""
    return ago(**{unit: -amount for unit, amount in length.items()})


def put_objects(world: World) -> None:
    """Add them, some in the namespace secret."""
    _model(world, "nlp", "llama3-8b-sft", "Support assistant, instruction-tuned", 3)
    _model(world, "vision", "vit-g14", HOSTILE, 9)
    _model(world, "secret", "model-of-others", "", 1)
    _model(world, "research", "tabular", "Baseline, not trained yet", 0)
    _services(world)
    _cron(world, "nlp", "dlrm-daily", "Scheduled", "")
    _cron(world, "vision", "nightly-eval", "RunMissed", "the run of 03:00 was not started within 600 seconds")
    _cron(world, "secret", "cron-of-others", "Scheduled", "")


def _model(world: World, namespace: str, name: str, description: str, versions: int) -> None:
    latest = {"modelVersion": f"{name}-v{versions}"}
    status = {"versionCount": versions, "latestVersion": latest}
    metadata = {"creationTimestamp": ago(days=40)}
    world.put(MODELS, namespace, name, metadata=metadata, spec={"description": description}, status=status)
    for number in range(1, versions + 1):
        job = "llama3-8b-dpo" if (name, number) == ("llama3-8b-sft", versions) else f"{name}-{number}"
        origin = {
            "jobKind": "PyTorchJob",
            "jobName": job,
            "jobUid": f"uid-{namespace}-{job}",
            "codeRepository": "https://user:password@git.example/nlp/sft.git",
            "codeRevision": f"41c8e02{number}",
            "trainerImages": {"trainer": f"hub.example/torch@sha256:{'9f' * 32}"},
        }
        built = {
            "imageBuildPhase": "ImageBuildSucceeded",
            "image": f"hub.example/{name}@sha256:{f'b{number}' * 32}",
            "size": 16_106_127_360,
            "signed": number > 1,
        }
        failed = {"imageBuildPhase": "ImageBuildFailed", "message": "the registry refused the push: quota reached"}
        world.put(
            MODEL_VERSIONS,
            namespace,
            f"{name}-v{number}",
            metadata={"creationTimestamp": ago(days=30 - number)},
            spec={"modelName": name, "createdBy": "mei.lin", "parent": _parent(name, number), "origin": origin},
            status=failed if (name, number) == ("llama3-8b-sft", 1) else built,
        )


def _parent(name: str, number: int) -> str:
    """The third version began with the second; the others with an image from elsewhere."""
    return f"hub.example/{name}@sha256:{'b2' * 32}" if number == 3 else f"hub.example/llama3-8b@sha256:{'51' * 32}"


def _services(world: World) -> None:
    rollout = {
        "phase": "Stepping",
        "stable": "llama3-8b-sft-v2",
        "candidate": "llama3-8b-sft-v3",
        "step": 1,
        "since": ago(minutes=24),
        "reason": "Paused",
        "message": "the next step follows in 6 minutes",
    }
    steps = [{"weight": 5, "pause": 600}, {"weight": 25, "pause": 1800}, {"weight": 50, "pause": 1200}, {"weight": 100}]
    _service(
        world,
        ("nlp", "support-chat", "vLLM"),
        [_said("main", "llama3-8b-sft-v3", 100, rollout=rollout)],
        {"rollout": {"steps": steps, "analysis": {"errorRate": 1, "p99": 1800, "minRequests": 1000}}},
    )
    _service(
        world,
        ("vision", "image-tag", "Triton"),
        [
            _said("a", "vit-g14-v1", 30),
            _said("b", "vit-g14-v1", 70),
            {**_said("c", "vit-g14-v2", 0), "readyReplicas": 0, "reason": "ImagePull", "message": HOSTILE},
        ],
        {},
    )
    _service(world, ("secret", "service-of-others", "vLLM"), [_said("main", "model-of-others-v1", 100)], {})


def _said(name: str, version: str, percent: int, **more: Any) -> dict[str, Any]:  # noqa: ANN401
    figures = {"replicas": 2, "readyReplicas": 2, "trafficWeight": percent, "trafficPercent": percent}
    return {"name": name, "modelVersion": version, **figures, **more}


def _service(world: World, what: tuple[str, str, str], said: list[dict[str, Any]], spec: dict[str, Any]) -> None:
    """`what` is namespace, name and framework."""
    namespace, name, framework = what
    wanted = [
        {"name": one["name"], "modelVersion": one["modelVersion"], "trafficWeight": one["trafficWeight"]}
        for one in said
    ]
    ready = all(one["readyReplicas"] for one in said)
    condition = {
        "type": "Ready",
        "status": "True" if ready else "False",
        "reason": "" if ready else "PredictorNotReady",
    }
    world.put(
        INFERENCES,
        namespace,
        name,
        metadata={"creationTimestamp": ago(days=9)},
        spec={"framework": framework, "predictors": wanted, **spec},
        status={
            "conditions": [condition],
            "predictorStatuses": said,
            "inferenceEndpoint": f"http://{name}.{namespace}.example",
        },
    )


def _cron(world: World, namespace: str, name: str, reason: str, message: str) -> None:
    outcomes = [*["Succeeded"] * 7, "Failed", *["Succeeded"] * 5, "Deleted", "Succeeded"]
    history = [
        {
            "object": {"kind": "PyTorchJob", "name": f"{name}-{number}"},
            "status": status,
            "created": ago(days=len(outcomes) - number),
            "finished": ago(days=len(outcomes) - number, hours=-1.1),
        }
        for number, status in enumerate(outcomes)
    ]
    active = [{"kind": "PyTorchJob", "name": "bert-large-pretrain", "namespace": namespace}]
    world.put(
        CRONS,
        namespace,
        name,
        spec={"schedule": "0 3 * * *", "timeZone": "Europe/Berlin", "template": {"kind": "PyTorchJob"}},
        status={
            "conditions": [{"type": "Ready", "status": "True", "reason": reason, "message": message}],
            "history": history,
            "active": active if reason == "Scheduled" else [],
            "lastScheduleTime": ago(hours=9),
            "nextScheduleTime": ahead(hours=15),
        },
    )
