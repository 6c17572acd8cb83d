"""`kubedl serve submit`: what flags make of an Inference; and `serve logs`."""

import json
from typing import Any

import pytest

from kubedl.api.inference import Inference
from kubedl.cli.serve import arena
from kubedl.kube import codec
from tests.unit.cli.conftest import Run
from tests.unit.client.api_server import ApiServer, running

PATH = "/apis/serving.kubedl.io/v1alpha1/namespaces/team/inferences"
BASE = ("--name", "flowers", "--image", "i")
# Flags of Arena's serve (0.15.5): all servers', TensorFlow's, Triton's and custom ones'.
ARENA = {
    *("--name", "--image", "--image-pull-policy", "--imagePullPolicy", "--gpus", "--gpumemory", "--gpucore", "--cpu"),
    *("--memory", "--replicas", "--env", "--enable-istio", "--enableIstio", "--expose-service", "--exposeService"),
    *("--servingName", "--servingVersion", "--version", "--data", "--data-subpath-expr", "--data-dir", "--empty-dir"),
    *("--empty-dir-subpath-expr", "--annotation", "--label", "--toleration", "--selector", "--config-file", "--shell"),
    *("--port", "--restful-port", "--restfulPort", "--model-name", "--modelName", "--model-path", "--modelPath"),
    *("--model-config-file", "--modelConfigFile", "--monitoring-config-file", "--version-policy", "--versionPolicy"),
    *("--model-repository", "--http-port", "--grpc-port", "--metric-port", "--allow-metrics", "--command"),
}


def _predictor(run: Run, *words: str) -> dict[str, Any]:
    answer = run("serve", "submit", *words, "--dry-run", "-o", "json")
    assert answer.code == 0, answer.err
    codec.decode(answer.out.encode(), Inference)  # it has the fields of the kind
    (found,) = json.loads(answer.out)["spec"]["predictors"]
    return dict(found)


def _container(run: Run, *words: str) -> dict[str, Any]:
    return dict(_predictor(run, *words)["template"]["spec"]["containers"][0])


def test_it_is_created(run: Run, api: ApiServer) -> None:
    answer = run("serve", "submit", "mlserver", *BASE, "--model-version", "v1", "--queue", "q", "--label", "a=b")
    assert (answer.code, answer.out) == (0, "inference/flowers created in team\n")
    assert answer.err == "kubedl serve get flowers shows when it is ready\n"
    made = api.objects[f"{PATH}/flowers"]
    assert made["metadata"]["labels"] == {"a": "b", "kueue.x-k8s.io/queue-name": "q"}
    assert made["spec"]["framework"] == "MLServer"
    assert made["spec"]["predictors"][0]["modelVersion"] == "v1"
    taken = run("serve", "submit", "mlserver", *BASE)
    assert taken.err.startswith("error: flowers is taken: service in team\n  why   a name is free again")
    dry = run("serve", "submit", "custom", "--name", "b", "--image", "i", "--dry-run=server")
    assert (dry.out, f"{PATH}/b" in api.objects) == ("inference/b would be created in team\n", False)


def test_scaling_batching_and_gateway(run: Run) -> None:
    words = ("--max-replicas", "5", "--min-replicas", "2", "--target-cpu", "80", "--batch-size", "8")
    found = _predictor(run, "triton", *BASE, "--model-version", "v", *words, "--batch-timeout", "5")
    assert found["autoScale"] == {"minReplicas": 2, "maxReplicas": 5, "cpu": 80}
    assert found["batching"] == {"batchSize": 8, "timeoutMilliseconds": 5}
    answer = run("serve", "submit", "custom", *BASE, "--gateway", "net/front", "--dry-run", "-o", "json")
    assert json.loads(answer.out)["spec"]["gateway"] == {"name": "front", "namespace": "net"}


def test_pods(run: Run) -> None:
    words = ("--gpus", "1", "--cpu", "2", "--memory", "4Gi", "--device", "x/y=1", "--env", "A=1", "--data", "c:/d:ro")
    found = _container(run, "custom", *BASE, *words, "--restricted", "--http-port", "80", "--share-memory", "1Gi")
    assert found["resources"] == {
        "requests": {"cpu": "2", "memory": "4Gi"},
        "limits": {"cpu": "2", "memory": "4Gi", "x/y": "1", "nvidia.com/gpu": "1"},
    }
    assert found["ports"] == [{"name": "http", "containerPort": 80}]
    assert [one["mountPath"] for one in found["volumeMounts"]] == ["/d", "/dev/shm"]  # noqa: S108 - a mount
    assert found["securityContext"]["allowPrivilegeEscalation"] is False


@pytest.mark.parametrize(
    ("words", "command", "arguments"),
    [
        (("vllm", *BASE, "--", "--max-model-len=4096", "-x"), None, ["--max-model-len=4096", "-x"]),
        (("custom", *BASE, "python server.py"), ["sh", "-c", "python server.py"], None),
        (("custom", *BASE, "--", "python", "server.py"), ["python", "server.py"], None),
        (("triton", *BASE, "--model-repository", "/m"), None, ["tritonserver", "--model-repository=/m"]),
        (
            ("tensorflow", *BASE, "--model-name", "m", "--model-path", "/m", "--port", "8500"),
            None,
            ["--port=8500", "--rest_api_port=8080", "--model_name=m", "--model_base_path=/m"],
        ),
        (("tf", *BASE, "--model-version", "v", "--model-path", "/m"), None, None),
    ],
)
def test_words_of_the_server(
    run: Run, words: tuple[str, ...], command: list[str] | None, arguments: list[str] | None
) -> None:
    """Of a ModelVersion the operator tells the server."""
    place = words.index("--") if "--" in words else len(words)
    answer = run("serve", "submit", *words[:place], "--dry-run", "-o", "json", *words[place:])
    (found,) = json.loads(answer.out)["spec"]["predictors"][0]["template"]["spec"]["containers"]
    assert (found.get("command"), found.get("args")) == (command, arguments)


def test_every_flag_of_arena_is_kept_renamed_or_refused(run: Run) -> None:
    shown = run("serve", "submit", "custom", "--help").out
    ours = {word.rstrip(",") for word in shown.split() if word.startswith("--")}
    assert {*arena.RENAMED, *arena.REFUSED, *ours} >= ARENA
    assert set(arena.RENAMED.values()) <= ours
    for flag, refusal in arena.REFUSED.items():
        refused = run("serve", "submit", "custom", *BASE, flag, "1")
        assert (refused.code, refused.out) == (2, "")
        assert refused.err.startswith(f"error: {flag}: {refusal.why}\n  next  ")


@pytest.mark.parametrize(
    ("words", "what", "step"),
    [
        (("caffe", *BASE), "there is no server called caffe", "tfserving, triton, mlserver, vllm, custom"),
        (("kserve", *BASE), "serve submit kserve is not here", "it has its own objects"),
        (("vllm", "--name", "x"), "no --image", "--image IMAGE"),
        (("vllm", *BASE, "--min-replicas", "2"), "autoscaling needs a bound", "--max-replicas N"),
        (("vllm", *BASE, "--max-replicas", "2", "--replicas", "1"), "--replicas is a number", "one of them"),
        (("vllm", *BASE, "--model-name", "m"), "--model-name: vLLM finds models", "leave it out"),
        (("vllm", *BASE, "--model-path", "/m"), "--model-path: vLLM is not told of it", "--model-version NAME"),
        (("tf", *BASE, "--model-name", "m"), "--model-name needs --model-path", "--model-path PATH"),
        (("vllm", *BASE, "--loader", "InitCopy"), "--loader loads a ModelVersion", "--model-version NAME"),
        (("vllm", *BASE, "--batch-timeout", "1"), "--batch-timeout needs --batch-size", "--batch-size N"),
    ],
)
def test_mistakes(run: Run, api: ApiServer, words: tuple[str, ...], what: str, step: str) -> None:
    answer = run("serve", "submit", *words)
    assert (answer.code, answer.out) == (2, "")
    assert answer.err.startswith(f"error: {what}")
    assert f"  next  {step}" in answer.err
    assert not api.calls


class TestLogs:
    """Of the servers of one service."""

    @pytest.fixture(autouse=True)
    def service(self, api: ApiServer) -> None:
        ready = {"type": "Ready", "status": "False", "message": "no pod is ready"}
        spec = {"predictors": [{"name": "main"}, {"name": "other"}]}
        api.put(f"{PATH}/flowers", {"spec": spec, "status": {"conditions": [ready]}})

    @staticmethod
    def _pod(api: ApiServer, predictor: str, end: str, uid: str = "uid-flowers") -> None:
        name, start = f"flowers-{predictor}-7d-{end}", "serving.kubedl.io"
        labels = {f"{start}/inference": "flowers", f"{start}/inference-uid": uid, f"{start}/predictor": predictor}
        spec = {"containers": [{"name": "pytorch"}]}
        api.put(
            f"/api/v1/namespaces/team/pods/{name}",
            {"metadata": {"labels": labels}, "spec": spec, "status": running()},
        )
        api.logs[name] = [f"2026-01-01T00:00:00Z hello from {end}\n"]

    def test_every_line_has_its_server(self, run: Run, api: ApiServer) -> None:
        self._pod(api, "other", "b")
        self._pod(api, "main", "a")
        self._pod(api, "main", "former", uid="another")
        assert run("serve", "logs", "flowers").out == "[main-a] hello from a\n[other-b] hello from b\n"
        assert run("serve", "logs", "flowers", "--predictor", "other").out == "[other-b] hello from b\n"

    def test_followed_until_the_service_is_deleted(self, run: Run, api: ApiServer) -> None:
        self._pod(api, "main", "a")

        def write(chunk: Any) -> None:  # noqa: ANN401 - of the stand-in
            chunk(b"2026-01-01T00:00:00Z one\n")
            api.delete(f"{PATH}/flowers")

        api.logs["flowers-main-7d-a"] = [write]
        answer = run("serve", "logs", "-f", "flowers")
        assert answer.out == "[main-a] one\n"
        assert "-- flowers was deleted --" in answer.err

    def test_mistakes(self, run: Run) -> None:
        empty = run("serve", "logs", "flowers")
        assert (empty.code, empty.err) == (
            1,
            "error: flowers has no servers yet\n  why   no pod is ready\n  next  kubedl serve get flowers\n",
        )
        assert run("serve", "logs", "flowers", "--predictor", "x").err.startswith(
            "error: flowers has no predictor called x\n  why   it has main, other\n"
        )
        assert run("serve", "logs", "nothing").err.endswith("next  kubedl serve list\n")
