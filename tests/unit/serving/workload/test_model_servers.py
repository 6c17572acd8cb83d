"""What a server is told beside the arguments that its user gives, and how the kubelet asks it."""

from typing import Any

import pytest

from kubedl.api.inference import Framework
from kubedl.serving.workload import model_servers

NAMED = ["--served-model-name", "llama", "/kubedl-model"]


def completed(framework: Framework, model: str = "llama", **fields: Any) -> dict[str, Any]:  # noqa: ANN401 - a container
    """A container of the user, with what is added to it."""
    container = {"name": "server", "env": [], "ports": [], **fields}
    model_servers.complete(framework, container, model, "/kubedl-model")
    model_servers.add_probes(framework, container)
    return container


@pytest.mark.parametrize(
    "own", [["--tensor-parallel-size=4"], ["--tensor-parallel-size", "4"], ["--config=/etc/vllm.yaml"]]
)
def test_vllm_with_arguments_of_its_own_serves_the_model(own: list[str]) -> None:
    """Without a path it would serve its default model, and say that it is healthy."""
    container = completed("vLLM", args=own)
    assert (container["command"], container["args"]) == (["vllm", "serve", "/kubedl-model"], [*own, *NAMED])


@pytest.mark.parametrize(
    "own", [["--model=/kubedl-model/awq"], ["--model", "other"], ["/kubedl-model/awq", "--tensor-parallel-size=4"]]
)
def test_vllm_that_is_told_of_a_model_is_left_alone(own: list[str]) -> None:
    container = completed("vLLM", args=own)
    assert (container.get("command"), container["args"]) == (None, own)


def test_a_name_that_the_user_gives_the_model_stays() -> None:
    own = ["--served_model_name=mine"]
    assert completed("vLLM", args=own)["args"] == own


@pytest.mark.parametrize("framework", ["vLLM", "TFServing", "Triton"])
def test_a_command_is_left_alone(framework: Framework) -> None:
    container = completed(framework, command=["sh", "-c", "start"])
    assert (container["command"], container.get("args")) == (["sh", "-c", "start"], None)


@pytest.mark.parametrize("framework", ["vLLM", "TFServing", "Triton"])
def test_without_a_model_version_arguments_are_left_alone(framework: Framework) -> None:
    """The image has the model, and its entry point knows where."""
    container = completed(framework, "", args=["--verbose"])
    assert (container.get("command"), container["args"]) == (None, ["--verbose"])


@pytest.mark.parametrize(
    ("own", "variables", "added"),
    [
        (["--enable_batching=true"], [], ["--model_name=llama", "--model_base_path=/kubedl-model"]),
        (["--model_name", "mine"], [], ["--model_base_path=/kubedl-model"]),
        (["--port=1"], [{"name": "MODEL_NAME", "value": "mine"}], ["--model_base_path=/kubedl-model"]),
        (["--port=1"], [{"name": "MODEL_BASE_PATH", "value": "/m"}], ["--model_name=llama"]),
        (["--model_config_file=/etc/models"], [], []),
    ],
)
def test_tf_serving_with_arguments_of_its_own_finds_the_model(
    own: list[str], variables: list[dict[str, str]], added: list[str]
) -> None:
    """Its start script would look for a directory with the model's name below the path."""
    assert completed("TFServing", args=own, env=variables)["args"] == [*own, *added]


def test_triton_with_arguments_of_its_own_finds_the_models() -> None:
    own = ["tritonserver", "--http-port=81"]
    assert completed("Triton", args=own)["args"] == [*own, "--model-repository=/kubedl-model"]
    named = ["tritonserver", "--model-repository=/m"]
    assert completed("Triton", args=named)["args"] == named


@pytest.mark.parametrize("framework", ["vLLM", "TFServing", "Triton", "MLServer", "Custom"])
def test_a_server_under_load_is_given_time(framework: Framework) -> None:
    """Ten seconds without an answer are no reason to leave; a start is noticed within a second."""
    container = completed(framework)
    ready, started = container["readinessProbe"], container["startupProbe"]
    assert ready["periodSeconds"] * (ready["failureThreshold"] - 1) >= 10
    assert ready["timeoutSeconds"] <= ready["periodSeconds"]
    assert started["periodSeconds"] == 1
    assert started["periodSeconds"] * started["failureThreshold"] >= 6 * 3600  # no slow model is killed
    assert "livenessProbe" not in container


@pytest.mark.parametrize(
    ("own", "added"),
    [
        ({"readinessProbe": {"exec": {}}}, set()),
        ({"startupProbe": {"exec": {}}}, {"readinessProbe"}),
        ({"livenessProbe": {"exec": {}}}, {"readinessProbe"}),
    ],
)
def test_probes_of_the_user_are_kept(own: dict[str, Any], added: set[str]) -> None:
    container = completed("MLServer", **own)
    assert {name for name in container if name.endswith("Probe")} == {*own, *added}
    assert own.items() <= container.items()
