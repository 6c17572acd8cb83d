"""The servers that are known: where they listen, how they say that they are ready, how they are told of the model.

What the user wrote wins. A port is the container's port of that name, or what the server is told by its flag or its
variable, or the server's own default; a command or arguments that are there are kept, and only added to.
"""

from collections.abc import Mapping
from dataclasses import dataclass

from kubedl.api.inference import Framework
from kubedl.serving.template import Body

MODEL = "{model}"  # in a path: the model's name
PATH = "{path}"  # in arguments: where the model is


@dataclass(frozen=True)
class Port:
    """One of a server's ports, and how it is said to it."""

    number: int  # the server's default
    flag: str = ""
    variable: str = ""


@dataclass(frozen=True)
class Server:
    """What is known of a server."""

    http: Port
    grpc: Port
    ready: str = ""  # the path that answers 200 when it is ready; none: that it listens must do
    command: tuple[str, ...] = ()  # where the user gives neither command nor arguments
    arguments: tuple[str, ...] = ()  # likewise
    variables: tuple[tuple[str, str], ...] = ()
    model_flag: str = ""  # that names the model
    model_variable: str = ""


SERVERS: Mapping[Framework, Server] = {
    "TFServing": Server(
        http=Port(8501, "--rest_api_port"),
        grpc=Port(8500, "--port"),
        ready=f"/v1/models/{MODEL}",
        arguments=("--port=9000", "--rest_api_port=8080", f"--model_name={MODEL}", f"--model_base_path={PATH}"),
        variables=(("MODEL_BASE_PATH", PATH), ("MODEL_NAME", MODEL)),
        model_flag="--model_name",
        model_variable="MODEL_NAME",
    ),
    "Triton": Server(
        http=Port(8000, "--http-port"),
        grpc=Port(8001, "--grpc-port"),
        ready="/v2/health/ready",
        arguments=("tritonserver", f"--model-repository={PATH}"),
    ),
    "MLServer": Server(
        http=Port(8080, variable="MLSERVER_HTTP_PORT"),
        grpc=Port(8081, variable="MLSERVER_GRPC_PORT"),
        ready="/v2/health/ready",
        variables=(("MLSERVER_MODELS_DIR", PATH),),
    ),
    "vLLM": Server(
        http=Port(8000, "--port"),
        grpc=Port(9000),
        ready="/health",
        command=("vllm", "serve", PATH),
    ),
    "Custom": Server(http=Port(8080), grpc=Port(9000)),
}


def serving_container(spec: Body) -> Body:
    """The container that answers: the one with a port called http, or the first."""
    containers: list[Body] = spec["containers"]
    named = (one for one in containers if any(port.get("name") == "http" for port in one["ports"]))
    return next(named, containers[0])


def complete(framework: Framework, container: Body, model: str, path: str) -> None:
    """Tell the server of the model, as far as the user has not."""
    server = SERVERS[framework]
    said = {MODEL: model or "model", PATH: path}
    if not container.get("command") and not container.get("args"):
        if server.command:
            container["command"] = [_filled(word, said) for word in server.command]
        if server.arguments:
            container["args"] = [_filled(word, said) for word in server.arguments]
    names = {variable.get("name") for variable in container["env"]}
    added = [
        {"name": name, "value": _filled(value, said)}
        for name, value in server.variables
        if name not in names and (model or MODEL not in value)
    ]
    container["env"] = [*added, *container["env"]]


def http_port(framework: Framework, container: Body) -> int:
    """Where the server answers HTTP."""
    return _port(SERVERS[framework].http, container, "http")


def grpc_port(framework: Framework, container: Body) -> int:
    """Where it answers gRPC, if it does."""
    return _port(SERVERS[framework].grpc, container, "grpc")


def readiness(framework: Framework, container: Body) -> Body:
    """The probe of a container that has none of its own."""
    server, port = SERVERS[framework], http_port(framework, container)
    often = {"periodSeconds": 1, "timeoutSeconds": 2, "failureThreshold": 2}
    if not server.ready:
        return {"tcpSocket": {"port": port}, **often}
    # The variable is read by the start script of the server's image, which a command takes the place of.
    variable = "" if container.get("command") else server.model_variable
    model = _told(Port(0, server.model_flag, variable), container) or "default"
    return {"httpGet": {"path": _filled(server.ready, {MODEL: model}), "port": port}, **often}


def with_arguments(container: Body, *words: str) -> None:
    """Add flags that the user has not given."""
    given = [*(container.get("command") or ()), *(container.get("args") or ())]
    present = {word.partition("=")[0] for word in given}
    added = [word for word in words if word.partition("=")[0] not in present]
    if added:
        container["args"] = [*(container.get("args") or ()), *added]


def _port(port: Port, container: Body, name: str) -> int:
    named = [entry["containerPort"] for entry in container["ports"] if entry.get("name") == name]
    if named and isinstance(named[0], int):
        return named[0]
    told = _told(port, container)
    return int(told) if told.isascii() and told.isdecimal() and 0 < int(told[:6]) < 65536 else port.number


def _told(port: Port, container: Body) -> str:
    """What the server is told by flag, as `--port=1` or `--port 1`, or by variable."""
    words = [*(container.get("command") or ()), *(container.get("args") or ())]
    for number, word in enumerate(words):
        if port.flag and word.startswith(f"{port.flag}="):
            return str(word.partition("=")[2])
        if port.flag and word == port.flag and number + 1 < len(words):
            return str(words[number + 1])
    values = [one.get("value") or "" for one in container["env"] if port.variable and one.get("name") == port.variable]
    return str(values[-1]) if values else ""


def _filled(text: str, said: Mapping[str, str]) -> str:
    for mark, value in said.items():
        text = text.replace(mark, value)
    return text
