"""The flags of `serve submit`."""

from dataclasses import dataclass

import click

LOADERS = ("Auto", "ImageVolume", "InitCopy")


@dataclass(frozen=True)
class ServeFlags:
    """Their values, by the names of the flags."""

    framework: str
    name: str
    image: str
    command: tuple[str, ...] = ()
    predictor: str = "main"
    model_version: str | None = None
    model_name: str | None = None
    model_path: str | None = None
    loader: str | None = None
    replicas: int | None = None
    min_replicas: int | None = None
    max_replicas: int | None = None
    target_cpu: int | None = None
    batch_size: int | None = None
    batch_timeout: int | None = None
    gateway: str | None = None
    http_port: int | None = None
    grpc_port: int | None = None
    gpus: int | None = None
    device: tuple[str, ...] = ()
    cpu: str | None = None
    memory: str | None = None
    share_memory: str | None = None
    env: tuple[str, ...] = ()
    data: tuple[str, ...] = ()
    data_dir: tuple[str, ...] = ()
    working_dir: str | None = None
    shell: str = "sh"
    label: tuple[str, ...] = ()
    annotation: tuple[str, ...] = ()
    selector: tuple[str, ...] = ()
    toleration: tuple[str, ...] = ()
    queue: str | None = None
    service_account: str | None = None
    image_pull_secret: tuple[str, ...] = ()
    image_pull_policy: str | None = None
    restricted: bool = False


def serve_options() -> list[click.Parameter]:
    """Return the flags in the order of the help."""
    return [
        click.Option(["--name"], required=True, metavar="NAME", help="Name of the service."),
        click.Option(["--image"], required=True, metavar="IMAGE", help="Image of the server."),
        *_model_options(),
        *_traffic_options(),
        *_pod_options(),
    ]


def _model_options() -> list[click.Parameter]:
    return [
        click.Option(["--model-version"], metavar="NAME", help="ModelVersion to serve; kubedl model list has them."),
        click.Option(["--model-path"], metavar="PATH", help="Where the server finds the model; default /kubedl-model."),
        click.Option(["--model-name"], metavar="NAME", help="Name of a model that is no ModelVersion (TFServing)."),
        click.Option(["--loader"], type=click.Choice(LOADERS), help="How the model gets into the pods; default Auto."),
        click.Option(["--batch-size"], type=click.IntRange(1), metavar="N", help="Requests in a batch, at most."),
        click.Option(
            ["--batch-timeout"], type=click.IntRange(0), metavar="MS", help="Milliseconds that a batch waits to fill."
        ),
    ]


def _traffic_options() -> list[click.Parameter]:
    return [
        click.Option(["--predictor"], default="main", metavar="NAME", help="Name of its predictor; default main."),
        click.Option(["--replicas"], type=click.IntRange(0, 1000), metavar="N", help="Servers; default 1."),
        click.Option(["--min-replicas"], type=click.IntRange(1, 1000), metavar="N", help="At least, with autoscaling."),
        click.Option(["--max-replicas"], type=click.IntRange(1, 1000), metavar="N", help="At most, with autoscaling."),
        click.Option(["--target-cpu"], type=click.IntRange(1, 1000), metavar="PERCENT", help="CPU use to scale at."),
        click.Option(["--gateway"], metavar="[NAMESPACE/]NAME", help="Gateway; by default the operator's."),
        click.Option(["--http-port"], type=click.IntRange(1, 65535), metavar="N", help="Port of the server for HTTP."),
        click.Option(["--grpc-port"], type=click.IntRange(1, 65535), metavar="N", help="Port of the server for gRPC."),
    ]


def _pod_options() -> list[click.Parameter]:
    return [
        click.Option(["--gpus"], type=click.IntRange(0), metavar="N", help="GPUs (nvidia.com/gpu) of each server."),
        _many("--device", "NAME=COUNT", "Other devices of each server, such as amd.com/gpu=1."),
        click.Option(["--cpu"], metavar="QUANTITY", help="CPUs of each server, requested and at most."),
        click.Option(["--memory"], metavar="QUANTITY", help="Memory of each server, requested and at most."),
        click.Option(["--share-memory"], metavar="QUANTITY", help="Size of /dev/shm."),
        _many(
            "-e", "--env", "NAME=VALUE", "Variable; NAME takes it from the shell, NAME=secret:SECRET/KEY a Secret's."
        ),
        _many("-d", "--data", "CLAIM:PATH[:ro]", "Claim to mount; CLAIM/DIRECTORY:PATH mounts a part of it."),
        _many("--data-dir", "HOST:PATH", "Directory of the node to mount."),
        click.Option(["--working-dir"], metavar="PATH", help="Working directory; by default that of the image."),
        click.Option(
            ["--shell"], default="sh", metavar="SHELL", help="Shell of a command of one argument; default sh."
        ),
        _many("-l", "--label", "NAME=VALUE", "Label of the service and its pods."),
        _many("-a", "--annotation", "NAME=VALUE", "Annotation of the service and its pods."),
        _many("--selector", "NAME=VALUE", "Label that nodes must have."),
        _many("--toleration", "TAINT", "Taint to tolerate: all, KEY, KEY=VALUE or KEY=VALUE:EFFECT."),
        click.Option(["--queue"], metavar="NAME", help="Queue of Kueue that its servers wait in."),
        click.Option(["--service-account"], metavar="NAME", help="ServiceAccount of the pods."),
        _many("--image-pull-secret", "NAME", "Secret to pull images with."),
        click.Option(
            ["--image-pull-policy"], type=click.Choice(("Always", "IfNotPresent", "Never")), help="When to pull."
        ),
        click.Option(["--restricted"], is_flag=True, help="Security context of Pod Security restricted."),
    ]


def _many(*names_and_text: str) -> click.Option:
    """Return a flag that may be repeated: its names, its value, its help."""
    *names, value, text = names_and_text
    return click.Option(names, multiple=True, metavar=value, help=f"{text} May be repeated.")
