r"""What commands print, looked at and kept: at 80, 100 and 160 columns, with colours and without, and for programs.

`KEEP_OUTPUT=1` writes the files of golden/ again. Escapes of colours are written as `\e`. Ages are whole minutes or
more, so that a slow test prints the same.
"""

import io
import json
import os
import re
import subprocess
import sys
from collections.abc import Callable, Iterable, Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from kubedl.cli.phases import RUNNING, Phase, lines, phases
from kubedl.cli.progress import Progress
from kubedl.cli.terminal import Terminal
from kubedl.client import Job
from kubedl.entrypoints import command
from tests.unit.cli.conftest import ago
from tests.unit.client.api_server import ApiServer, ended, running

GOLDEN = Path(__file__).parent / "golden"
ROOT = Path(__file__).parents[3]
WIDTHS = (80, 100, 160)
GPU = "nvidia.com/gpu"
KUEUE = "/apis/kueue.x-k8s.io/v1beta2"
QUEUE = {"kueue.x-k8s.io/queue-name": "team-a"}
COMMANDS = {
    "list": ("list",),
    "list-wide": ("list", "-o", "wide"),
    "get": ("get", "clip-ft"),
    "why": ("why", "vit"),
    "logs": ("logs", "clip-ft"),
    "top-node": ("top", "node"),
    "top-job": ("top", "job", "clip-ft"),
    "serve-list": ("serve", "list"),
    "queue-list": ("queue", "list"),
}
EMPTY = (
    ("list", "--state", "nothing"),
    ("serve", "list", "-n", "empty"),
    ("queue", "list", "-n", "empty"),
    ("top", "node", "nothing"),
    ("get", "nothing"),
)
FOR_PROGRAMS = {
    ("list", "-o", "json"): "JobSummaryList",
    ("get", "clip-ft", "-o", "json"): "KubernetesObject",
    ("why", "vit", "-o", "json"): "Diagnosis",
    ("logs", "clip-ft", "-o", "json"): "LogLine",
    ("top", "node", "-o", "json"): "NodeUseList",
    ("top", "job", "clip-ft", "-o", "json"): "ReplicaUseList",
    ("serve", "list", "-o", "json"): "List",
    ("queue", "list", "-o", "json"): "List",
    ("wait", "done", "-o", "json"): "JobResultList",
    ("submit", "pytorch", "--name", "n", "--image", "i", "--check", "-o", "json"): "FitCheck",
}


@pytest.fixture
def _cluster(api: ApiServer) -> None:
    _jobs(api)
    _nodes_and_pods(api)
    _services(api)
    _queues(api)
    metrics = "GET /apis/metrics.k8s.io/v1beta1/namespaces/team/pods"
    api.refusals[metrics] = (404, {"kind": "Status", "reason": "NotFound", "code": 404, "message": "no metrics server"})


def _jobs(api: ApiServer) -> None:
    container: dict[str, Any] = {
        "name": "pytorch",
        "image": "team/torch:2.6",
        "command": ["torchrun", "train.py", "--epochs", "90"],
    }
    container |= {"resources": {"requests": {"cpu": "16", "memory": "200Gi"}, "limits": {GPU: "8"}}}
    template = {"spec": {"containers": [container]}}
    roles = {"Master": {"replicas": 1, "template": template}, "Worker": {"replicas": 3, "template": template}}
    long = "QuotaPending: couldn't assign flavors to pod set worker: insufficient unused quota for nvidia.com/gpu"
    api.job(
        "bert-large",
        metadata={"creationTimestamp": ago(minutes=14.5), "labels": QUEUE, "annotations": {"kubedl.io/user": "alice"}},
        status={"state": "Queuing", "ready": "0/4", "gpus": 32, "message": long},
    )
    api.job(
        "clip-ft",
        metadata={"creationTimestamp": ago(hours=2, minutes=11.5), "labels": QUEUE},
        spec={"backoffLimit": 3, "pytorchReplicaSpecs": roles, "modelVersion": {"modelName": "clip"}},
        status={"state": "Running", "ready": "3/4", "gpus": 32, "restarts": 1, "retries": 0},
    )
    api.job(
        "ctr-daily",
        "tfjobs",
        metadata={"creationTimestamp": ago(days=3.5)},
        status={"state": "Failed", "ready": "0/3", "restarts": 2, "message": "worker 1 failed with exit code 1"},
    )
    no_room = "0/2 nodes are available: 2 Insufficient nvidia.com/gpu."
    api.job("vit", metadata={"creationTimestamp": ago(hours=1.5)}, status=_waiting(no_room))
    path = api.pod(
        "vit",
        "worker",
        0,
        phase="Pending",
        conditions=[{"type": "PodScheduled", "status": "False", "message": no_room}],
    )
    api.objects[path]["spec"] = {"containers": [{"name": "pytorch", "resources": {"limits": {GPU: "16"}}}]}
    done = [{"type": "Succeeded", "status": "True"}]
    api.job("done", metadata={"creationTimestamp": ago(days=9.5)}, status={"state": "Succeeded", "conditions": done})


def _waiting(message: str) -> dict[str, Any]:
    said = {"type": "PodsReady", "status": "False", "reason": "Unschedulable", "message": message}
    return {"state": "Created", "ready": "0/1", "message": message, "conditions": [said]}


def _nodes_and_pods(api: ApiServer) -> None:
    room = {"cpu": "96", "memory": "960Gi", GPU: "8", "pods": "110"}
    for number, ready in ((3, "True"), (4, "False")):
        conditions = [{"type": "Ready", "status": ready, "lastTransitionTime": ago(hours=1.5)}]
        labels = {"nvidia.com/gpu.product": "NVIDIA-A100"}
        value = {"metadata": {"labels": labels}, "spec": {}, "status": {"allocatable": room, "conditions": conditions}}
        api.put(f"/api/v1/nodes/gpu-{number:02}", value)
    for role, index in (("master", 0), ("worker", 0), ("worker", 1)):
        bad = (role, index) == ("worker", 1)
        path = api.pod("clip-ft", role, index, **(ended(137, reason="OOMKilled") if bad else running()))
        wants = {"requests": {"cpu": "16", "memory": "200Gi"}, "limits": {GPU: "4"}}
        api.objects[path]["spec"] = {"nodeName": "gpu-03", "containers": [{"name": "pytorch", "resources": wants}]}
        api.objects[path]["metadata"]["creationTimestamp"] = ago(hours=1.5)
        text = f"2026-01-01T00:00:01Z init rank {index}\n2026-01-01T00:00:02Z step 10 loss 4.12\n"
        api.logs[f"clip-ft-{role}-{index}"] = [text]


def _services(api: ApiServer) -> None:
    stepping = {"phase": "Stepping", "candidate": "trees-8", "message": "step 1 of 3, 4m left"}
    known = {"replicas": 3, "readyReplicas": 3, "trafficPercent": 95, "modelVersion": "trees-7", "rollout": stepping}
    other = {"replicas": 1, "readyReplicas": 1, "trafficPercent": 5, "modelVersion": "forest-2"}
    status = {
        "conditions": [{"type": "Ready", "status": "True"}],
        "inferenceEndpoint": "http://flowers.team.svc:8000",
        "predictorStatuses": [{"name": "trees", **known}, {"name": "forest", **other}],
    }
    spec = {"framework": "MLServer", "predictors": [{"name": "trees"}, {"name": "forest"}]}
    head = {"apiVersion": "serving.kubedl.io/v1alpha1", "kind": "Inference"}
    api.put(
        "/apis/serving.kubedl.io/v1alpha1/namespaces/team/inferences/flowers", {**head, "spec": spec, "status": status}
    )


def _queues(api: ApiServer) -> None:
    head = {"apiVersion": "kueue.x-k8s.io/v1beta2", "kind": "LocalQueue"}
    api.put(f"{KUEUE}/namespaces/team/localqueues/team-a", {**head, "spec": {"clusterQueue": "all"}})
    resources = [{"name": GPU, "nominalQuota": "48"}, {"name": "cpu", "nominalQuota": "800"}]
    used = [{"name": GPU, "total": "42"}, {"name": "cpu", "total": "310"}]
    spec = {"resourceGroups": [{"flavors": [{"name": "a100", "resources": resources}]}]}
    status = {"flavorsUsage": [{"name": "a100", "resources": used}]}
    api.put(f"{KUEUE}/clusterqueues/all", {"spec": spec, "status": status})
    for name, admitted in (("a", "True"), ("b", "False")):
        value = {
            "metadata": {"creationTimestamp": ago(hours=2.5)},
            "spec": {"queueName": "team-a"},
            "status": {"conditions": [{"type": "Admitted", "status": admitted}]},
        }
        api.put(f"{KUEUE}/namespaces/team/workloads/{name}", value)


Show = Callable[..., str]


@pytest.fixture
def show(api: ApiServer, monkeypatch: pytest.MonkeyPatch) -> Show:
    """Runs a command on a terminal, and returns what that shows."""

    def show(words: tuple[str, ...], width: int, color: str) -> str:
        screen = _Screen()
        monkeypatch.setattr("sys.stdout", screen)
        monkeypatch.setenv("COLUMNS", str(width))
        command.main([*words, "--color", color, "-n", "team", "--server", api.url])
        return screen.getvalue()

    return show


class _Screen(io.StringIO):
    def isatty(self) -> bool:
        return True


@pytest.mark.usefixtures("_cluster")
@pytest.mark.parametrize("name", COMMANDS)
def test_output_is_as_it_was_looked_at(name: str, show: Show) -> None:
    _compare(name, lambda width, color: show(COMMANDS[name], width, color))


def test_phases_are_as_they_were_looked_at() -> None:
    """`submit --wait` while images are pulled, while a job runs, and when it has failed."""

    def drawn(width: int, color: str) -> str:
        terminal = Terminal(io.StringIO(), width, color == "always")
        parts = [lines(terminal, phases(job, pods, NOW), why, 2) for job, pods, why in _lives()]
        told = Progress(1200, 5000, (("loss", "0.81"),)).text(250.0, bar=True)
        parts.append(lines(terminal, [Phase(RUNNING, "now", 250.0, told)], "", 2))
        return "\n\n".join("\n".join(part) for part in parts) + "\n"

    _compare("submit-wait", drawn)


NOW = datetime(2026, 1, 1, 12, tzinfo=UTC)


def _lives() -> Iterator[tuple[Job, list[dict[str, Any]], str]]:
    meta = {"name": "bert", "namespace": "team", "creationTimestamp": "2026-01-01T11:50:00Z", "labels": QUEUE}
    roles = {"Worker": {"replicas": 2}}
    spec = {"pytorchReplicaSpecs": roles, "modelVersion": {"modelName": "bert"}}
    manifest = {"kind": "PyTorchJob", "metadata": meta, "spec": spec}
    why = "Waiting 10m in queue team-a: 32 GPUs are wanted and 6 of its 48 are free; 3rd in line."
    said = {"state": "Queuing", "ready": "0/2", "message": "QuotaPending: insufficient unused quota, 3rd in line"}
    yield Job.of({**manifest, "status": said}), [], why
    waits = [_pod(0, "11:51:20"), _pod(1, "")]
    yield Job.of({**manifest, "status": {"state": "Created", "ready": "0/2"}}), waits, ""
    pods = [_pod(0, "11:51:20"), _pod(1, "11:52:40")]
    yield Job.of({**manifest, "status": {"state": "Running", "ready": "2/2"}}), pods, ""
    failed = {
        "state": "Failed",
        "ready": "0/2",
        "message": "worker 1 ran out of memory",
        "conditions": [{"type": "Failed", "status": "True"}],
        "startTime": "2026-01-01T11:51:10Z",
        "completionTime": "2026-01-01T11:58:00Z",
    }
    yield Job.of({**manifest, "status": failed}), pods, ""


def _pod(index: int, started: str) -> dict[str, Any]:
    state = {"running": {"startedAt": f"2026-01-01T{started}Z"}} if started else {"waiting": {}}
    placed = {"type": "PodScheduled", "status": "True", "lastTransitionTime": "2026-01-01T11:51:12Z"}
    return {
        "metadata": {"name": f"bert-worker-{index}", "creationTimestamp": "2026-01-01T11:51:10Z"},
        "spec": {"nodeName": f"gpu-0{index + 3}"},
        "status": {"conditions": [placed], "containerStatuses": [{"state": state}]},
    }


def _compare(name: str, shown: Callable[[int, str], str]) -> None:
    """Compare with the file; colours are kept at one width, and at all widths change nothing but colours."""
    found: dict[str, list[str]] = {}  # text → widths
    for width in WIDTHS:
        plain, colored = shown(width, "never"), shown(width, "always")
        assert re.sub(r"\x1b\[\d+m", "", colored) == plain
        found.setdefault(plain, []).append(str(width))
    parts = [f"-- {', '.join(widths)} columns\n{plain}" for plain, widths in found.items()]
    parts.append(f"-- 100 columns, colours\n{shown(100, 'always')}".replace("\x1b", "\\e"))
    text, file = "\n".join(parts), GOLDEN / f"{name}.txt"
    if os.environ.get("KEEP_OUTPUT"):
        file.write_text(text)
    assert text == file.read_text()


@pytest.mark.usefixtures("_cluster")
@pytest.mark.parametrize("words", FOR_PROGRAMS, ids=lambda words: "-".join(words[:2]))
def test_output_for_programs_has_the_published_schema(
    words: tuple[str, ...], api: ApiServer, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    # It compiles grammars of addresses for a second when it is imported, for a format that no schema here has.
    monkeypatch.setitem(sys.modules, "rfc3987_syntax", None)
    import jsonschema  # type: ignore[import-untyped]  # noqa: PLC0415 - only here, and it loads slowly

    schema = json.loads((ROOT / "docs" / "reference" / "cli-output.json").read_text())
    chosen = {"$ref": f"#/$defs/{FOR_PROGRAMS[words]}", "$defs": _strict(schema["$defs"])}
    command.main([*words, "-n", "team", "--server", api.url])
    out = capsys.readouterr().out
    found = [json.loads(line) for line in out.splitlines()] if words[0] == "logs" else [json.loads(out)]
    assert found
    validator = jsonschema.validators.validator_for(chosen)(chosen)
    for one in found:
        validator.validate(one)


def _strict(definitions: dict[str, Any]) -> dict[str, Any]:
    """Fields may be added later, and are then in the schema; objects of Kubernetes have others."""
    own = {name: {"additionalProperties": False, **part} for name, part in definitions.items()}
    return own | {name: definitions[name] for name in ("KubernetesObject", "List")}


@pytest.mark.usefixtures("_cluster")
def test_standard_output_holds_data_only(api: ApiServer) -> None:
    """With standard error closed the same is printed, and nothing by commands that have only words to say."""
    answers = [_printed(api, COMMANDS.values(), ""), _printed(api, (*COMMANDS.values(), *EMPTY), "2>&-")]
    assert answers[0] == answers[1]
    assert answers[0][0] == 0


def _printed(api: ApiServer, commands: Iterable[tuple[str, ...]], closed: str) -> tuple[int, str]:
    """Run commands in a process of their own."""
    words = [[*one, "--server", api.url, *(() if "-n" in one else ("-n", "team"))] for one in commands]
    code = f"from kubedl.entrypoints.command import main; [main(one) for one in {words!r}]"
    done = subprocess.run(
        ["/bin/sh", "-c", f'exec "$0" -c "$1" {closed}', sys.executable, code],
        env={**os.environ, "PYTHONPATH": str(ROOT / "src")},
        capture_output=True,
        text=True,
        check=False,
    )
    return done.returncode, done.stdout
