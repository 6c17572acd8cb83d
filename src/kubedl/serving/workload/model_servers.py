"""Known model servers: ports, readiness, and how they get the model's path.

The user's template has precedence. A port is the container port with that name, else the server's flag or environment
variable, else its default; an existing command or arguments are kept, and only appended to. A container with arguments
but no command still gets the model's path: without it vLLM serves its own default model, and the start script of TF
Serving reads another directory.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from kubedl.api.inference import Framework
from kubedl.serving.workload.template import Body

MODEL = "{model}"  # in a path: the name of the model
PATH = "{path}"  # in arguments: the path of the model
STARTING: Mapping[str, int] = {"periodSeconds": 1, "timeoutSeconds": 2, "failureThreshold": 86400}  # a day
SERVING: Mapping[str, int] = {"periodSeconds": 5, "timeoutSeconds": 5, "failureThreshold": 3}


@dataclass(frozen=True)
class Port:
    """A port of a server, and its flag or variable."""

    number: int  # the server's default
    flag: str = ""
    variable: str = ""


@dataclass(frozen=True)
class Flag:
    """A flag about the model, unless the user sets it or the equivalent environment variable."""

    arguments: tuple[str, ...]
    variable: str = ""


@dataclass(frozen=True)
class Server:
    """A known server."""

    http: Port
    grpc: Port
    ready: str = ""  # path that returns 200 when ready; empty: a TCP probe
    command: tuple[str, ...] = ()  # if the user sets no command
    arguments: tuple[str, ...] = ()  # if the user sets neither command nor arguments
    flags: tuple[Flag, ...] = ()  # if the user sets no command
    chosen_by: tuple[str, ...] = ()  # flags, with dashes, by which a user names the model: then nothing is added
    positional: bool = False  # whether a first argument that is not a flag does so too
    variables: tuple[tuple[str, str], ...] = ()
    model_flag: str = ""  # flag with the model's path
    model_variable: str = ""


SERVERS: Mapping[Framework, Server] = {
    "TFServing": Server(
        http=Port(8501, "--rest_api_port"),
        grpc=Port(8500, "--port"),
        ready=f"/v1/models/{MODEL}",
        arguments=("--port=9000", "--rest_api_port=8080"),
        flags=(
            Flag((f"--model_name={MODEL}",), "MODEL_NAME"),
            Flag((f"--model_base_path={PATH}",), "MODEL_BASE_PATH"),
        ),
        chosen_by=("--model-config-file",),
        variables=(("MODEL_BASE_PATH", PATH), ("MODEL_NAME", MODEL)),
        model_flag="--model_name",
        model_variable="MODEL_NAME",
    ),
    "Triton": Server(
        http=Port(8000, "--http-port"),
        grpc=Port(8001, "--grpc-port"),
        ready="/v2/health/ready",
        arguments=("tritonserver",),
        flags=(Flag((f"--model-repository={PATH}",)),),
        chosen_by=("--model-store",),  # its former name
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
        # By its name, and by its path, which clients used before it had a name.
        flags=(Flag(("--served-model-name", MODEL, PATH)),),
        chosen_by=("--model",),
        positional=True,
    ),
    "Custom": Server(http=Port(8080), grpc=Port(9000)),
}


def serving_container(spec: Body) -> Body:
    """Return the serving container: the one with a port named http, or the first."""
    containers: list[Body] = spec["containers"]
    named = (one for one in containers if any(port.get("name") == "http" for port in one["ports"]))
    return next(named, containers[0])


def complete(framework: Framework, container: Body, model: str, path: str) -> None:
    """Set the command, arguments and variables for the model, unless the user has."""
    server = SERVERS[framework]
    said = {MODEL: model or "model", PATH: path}
    given = list(container.get("args") or ())
    if not container.get("command") and (not given or (model and not _is_chosen(server, given))):
        if server.command:
            container["command"] = [_filled(word, said) for word in server.command]
        added = [*(() if given else server.arguments), *_missing(server, given, container)]
        if added:
            container["args"] = [*given, *(_filled(word, said) for word in added)]
    names = {variable.get("name") for variable in container["env"]}
    variables = [
        {"name": name, "value": _filled(value, said)}
        for name, value in server.variables
        if name not in names and (model or MODEL not in value)
    ]
    container["env"] = [*variables, *container["env"]]


def http_port(framework: Framework, container: Body) -> int:
    """Return the HTTP port."""
    return _port(SERVERS[framework].http, container, "http")


def grpc_port(framework: Framework, container: Body) -> int:
    """Return the gRPC port, if any."""
    return _port(SERVERS[framework].grpc, container, "grpc")


def add_probes(framework: Framework, container: Body) -> None:
    """Return the probes, unless the user sets them.

    A starting server is probed every second, so that it serves as soon as possible; a large model may take hours. Later
    probes are rare and have long timeouts: overloaded servers must not all become unready at once. A terminating server
    becomes unready without a probe. After startup, no default probe restarts it.
    """
    if container.get("readinessProbe"):
        return
    question = _question(framework, container)
    container["readinessProbe"] = {**question, **SERVING}
    if not container.get("startupProbe") and not container.get("livenessProbe"):
        container["startupProbe"] = {**question, **STARTING}


def with_arguments(container: Body, *words: str) -> None:
    """Append flags that the user has not set."""
    given = [*(container.get("command") or ()), *(container.get("args") or ())]
    present = {_name(word) for word in given}
    added = [word for word in words if _name(word) not in present]
    if added:
        container["args"] = [*(container.get("args") or ()), *added]


def _question(framework: Framework, container: Body) -> Body:
    server, port = SERVERS[framework], http_port(framework, container)
    if not server.ready:
        return {"tcpSocket": {"port": port}}
    # The variable is read by the start script of the image, which a command replaces.
    variable = "" if container.get("command") else server.model_variable
    model = _mentions(Port(0, server.model_flag, variable), container) or "default"
    return {"httpGet": {"path": _filled(server.ready, {MODEL: model}), "port": port}}


def _is_chosen(server: Server, given: Sequence[str]) -> bool:
    """Return whether the user's arguments name the model."""
    return (server.positional and not given[0].startswith("-")) or any(
        _name(word) in server.chosen_by for word in given
    )


def _missing(server: Server, given: Sequence[str], container: Body) -> list[str]:
    """Return the flags about the model that the user has not set."""
    present = {_name(word) for word in given}
    variables = {one.get("name") for one in container["env"]}
    flags = (one for one in server.flags if _name(one.arguments[0]) not in present and one.variable not in variables)
    return [word for flag in flags for word in flag.arguments]


def _name(word: str) -> str:
    """Return the name of a flag, normalised: some servers accept `_` and `-`."""
    return word.partition("=")[0].replace("_", "-") if word.startswith("--") else ""


def _port(port: Port, container: Body, name: str) -> int:
    named = [entry.get("containerPort") for entry in container["ports"] if entry.get("name") == name]
    if named and isinstance(named[0], int):
        return named[0]
    message = _mentions(port, container)
    return int(message) if message.isascii() and message.isdecimal() and 0 < int(message[:6]) < 65536 else port.number


def _mentions(port: Port, container: Body) -> str:
    """Return the value of a flag, as `--port=1` or `--port 1`, or of a variable."""
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
