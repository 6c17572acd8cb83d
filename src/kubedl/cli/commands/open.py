"""`kubedl open`."""

from typing import Any

import click

from kubedl.cli.completing import JobName
from kubedl.cli.settings import Settings, declare

TENSORBOARD = 6006
SERVICE = ("serve/", "inference/")


@declare("open", short_help="Open the console, or forward a port of a job or a service")
@click.argument("name", metavar="[JOB|serve/SERVICE]", type=JobName(), required=False)
@click.option(
    "--port", type=click.IntRange(1, 65535), metavar="N", help="Port of a replica; by default the TensorBoard."
)
@click.option("-i", "--replica", metavar="REPLICA", help="Such as worker-0; by default the first that runs.")
@click.option(
    "--local-port", type=click.IntRange(1, 65535), metavar="N", help="Port of this machine; default the same."
)
@click.option("--no-browser", is_flag=True, help="Print the address of the console only.")
def command(
    settings: Settings,
    name: str | None,
    port: int | None,
    replica: str | None,
    local_port: int | None,
    no_browser: bool,
) -> int:
    """Open the console, on this machine and with your kubeconfig, until Ctrl-C.

    With a name, forward a port of this machine and print the address: of a job, to its TensorBoard, or to --port of a
    replica; of a service, to its servers.
    """
    if name is None:
        if port is not None or replica is not None:
            raise click.UsageError("--port and --replica need a job\nnext  kubedl open JOB --port N")
        from kubedl.cli.local_console import run

        return run(settings, local_port, browser=not no_browser)
    from kubedl.cli.kubectl import forward, running_pods

    if name.startswith(SERVICE):
        return _open_service(settings, name.partition("/")[2], port, local_port)
    if port is None:
        with settings.client() as client:
            job = client.get_job(name)
        if not job.spec.get("tensorBoard"):
            raise click.UsageError(f"{job.name} has no TensorBoard\nnext  --port N of a replica")
        return forward(settings, f"service/{job.name}-tensorboard-0", TENSORBOARD, local_port or TENSORBOARD)
    return forward(settings, f"pod/{running_pods(settings, name, replica)[0]}", port, local_port or port)


def _open_service(settings: Settings, name: str, port: int | None, local_port: int | None) -> int:
    """Forward a port of a service; this machine's is the same, or 8080 for one that only root may open."""
    from kubedl.cli.kubectl import forward
    from kubedl.client.objects import INFERENCES, SERVICES

    with settings.client() as client:
        predictors = client.objects.get(INFERENCES, name)["spec"].get("predictors") or [{"name": ""}]
        target = name
        found = client.objects.get_if_there(SERVICES, name)
        if found is None or not _is_of_service(found):  # a job of the same name has it
            target = f"{name}-{predictors[0]['name']}"
            found = client.objects.get(SERVICES, target)
    chosen = port or int(found["spec"]["ports"][0]["port"])
    return forward(settings, f"service/{target}", chosen, local_port or (chosen if chosen >= 1024 else 8080))


def _is_of_service(found: dict[str, Any]) -> bool:
    return any(owner.get("kind") == "Inference" for owner in found["metadata"].get("ownerReferences") or ())
