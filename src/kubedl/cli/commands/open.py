"""`kubedl open`."""

import click

from kubedl.cli.completing import JobName
from kubedl.cli.settings import Settings, declare

TENSORBOARD = 6006


@declare("open", short_help="Open the console in a browser, or forward a port of a job")
@click.argument("name", metavar="[JOB]", type=JobName(), required=False)
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

    With a job, forward a port of this machine to its TensorBoard, or to a port of a replica, and print the address.
    """
    if name is None:
        if port is not None or replica is not None:
            raise click.UsageError("--port and --replica need a job\nnext  kubedl open JOB --port N")
        from kubedl.cli.local_console import run

        return run(settings, local_port, browser=not no_browser)
    from kubedl.cli.kubectl import forward, running_pods

    if port is None:
        with settings.client() as client:
            job = client.get_job(name)
        if not job.spec.get("tensorBoard"):
            raise click.UsageError(f"{job.name} has no TensorBoard\nnext  --port N of a replica")
        return forward(settings, f"service/{job.name}-tensorboard-0", TENSORBOARD, local_port or TENSORBOARD)
    return forward(settings, f"pod/{running_pods(settings, name, replica)[0]}", port, local_port or port)
