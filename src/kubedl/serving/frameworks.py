"""The servers that are known: where they listen, how they say that they are ready, how they are told of the model.

What the user wrote wins. A port is the container's port of that name, or what the server is told by its flag or its
variable, or the server's own default; a command or arguments that are there are kept, and only added to. A container
with arguments and no command still gets the model's path: without it vLLM serves its own default model, and the start
script of TF Serving looks in another directory.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from kubedl.api.inference import Framework
from kubedl.serving.template import Body

MODEL = "{model}"  # in a path: the model's name
PATH = "{path}"  # in arguments: where the model is
STARTING: Mapping[str, int] = {"periodSeconds": 1, "timeoutSeconds": 2, "failureThreshold": 86400}  # a day
SERVING: Mapping[str, int] = {"periodSeconds": 5, "timeoutSeconds": 5, "failureThreshold": 3}


@dataclass(frozen=True)
class Port:
    """One of a server's ports, and how it is said to it."""

    number: int  # the server's default
    flag: str = ""
    variable: str = ""


@dataclass(frozen=True)
class Flag:
    """A flag about the model, unless the user gives it, or the variable that says the same."""

    words: tuple[str, ...]
    variable: str = ""


@dataclass(frozen=True)
class Server:
    """What is known of a server."""

    http: Port
    grpc: Port
    ready: str = ""  # the path that answers 200 when it is ready; none: that it listens must do
    command: tuple[str, ...] = ()  # where the user gives no command
    arguments: tuple[str, ...] = ()  # where the user gives neither command nor arguments
    flags: tuple[Flag, ...] = ()  # where the user gives no command
    chosen_by: tuple[str, ...] = ()  # flags, with dashes, by which a user names the model: then nothing is added
    positional: bool = False  # whether a first argument that is no flag does so too
    variables: tuple[tuple[str, str], ...] = ()
    model_flag: str = ""  # that names the model
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
        # By its name, and by its path, as clients had to call it before it had a name.
        flags=(Flag(("--served-model-name", MODEL, PATH)),),
        chosen_by=("--model",),
        positional=True,
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
    """Where the server answers HTTP."""
    return _port(SERVERS[framework].http, container, "http")


def grpc_port(framework: Framework, container: Body) -> int:
    """Where it answers gRPC, if it does."""
    return _port(SERVERS[framework].grpc, container, "grpc")


def add_probes(framework: Framework, container: Body) -> None:
    """How the kubelet knows that the server answers, where the user does not say it.

    A server that starts is asked every second, so that it serves as soon as it can; a large model may take hours. Later
    it is asked seldom and has time to answer: servers that are overloaded must not leave all together. A server that
    ends leaves at once, without a probe. Once it has started, no probe of ours restarts it.
    """
    if container.get("readinessProbe"):
        return
    question = _question(framework, container)
    container["readinessProbe"] = {**question, **SERVING}
    if not container.get("startupProbe") and not container.get("livenessProbe"):
        container["startupProbe"] = {**question, **STARTING}


def with_arguments(container: Body, *words: str) -> None:
    """Add flags that the user has not given."""
    given = [*(container.get("command") or ()), *(container.get("args") or ())]
    present = {_name(word) for word in given}
    added = [word for word in words if _name(word) not in present]
    if added:
        container["args"] = [*(container.get("args") or ()), *added]


def _question(framework: Framework, container: Body) -> Body:
    server, port = SERVERS[framework], http_port(framework, container)
    if not server.ready:
        return {"tcpSocket": {"port": port}}
    # The variable is read by the start script of the server's image, which a command takes the place of.
    variable = "" if container.get("command") else server.model_variable
    model = _told(Port(0, server.model_flag, variable), container) or "default"
    return {"httpGet": {"path": _filled(server.ready, {MODEL: model}), "port": port}}


def _is_chosen(server: Server, given: Sequence[str]) -> bool:
    """Whether the user's arguments say which model is served."""
    return (server.positional and not given[0].startswith("-")) or any(
        _name(word) in server.chosen_by for word in given
    )


def _missing(server: Server, given: Sequence[str], container: Body) -> list[str]:
    """The flags about the model that the user has not given."""
    present = {_name(word) for word in given}
    variables = {one.get("name") for one in container["env"]}
    flags = (one for one in server.flags if _name(one.words[0]) not in present and one.variable not in variables)
    return [word for flag in flags for word in flag.words]


def _name(word: str) -> str:
    """The name of a flag; some servers take it with `_` and with `-`."""
    return word.partition("=")[0].replace("_", "-") if word.startswith("--") else ""


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
