"""`kubedl open`."""

import click

from kubedl.cli.completing import JobName
from kubedl.cli.settings import Settings, declare

TENSORBOARD = 6006


@declare("open", short_help="Forward a port of a job or its TensorBoard")
@click.argument("name", metavar="JOB", type=JobName())
@click.option(
    "--port", type=click.IntRange(1, 65535), metavar="N", help="Port of a replica; by default the TensorBoard."
)
@click.option("-i", "--replica", metavar="REPLICA", help="Such as worker-0; by default the first that runs.")
@click.option(
    "--local-port", type=click.IntRange(1, 65535), metavar="N", help="Port of this machine; default the same."
)
def command(settings: Settings, name: str, port: int | None, replica: str | None, local_port: int | None) -> int:
    """Forward a port of this machine to a job's TensorBoard, or to a port of a replica, and print the address."""
    from kubedl.cli.kubectl import forward, running_pods

    if port is None:
        with settings.client() as client:
            job = client.get_job(name)
        if not job.spec.get("tensorBoard"):
            raise click.UsageError(f"{job.name} has no TensorBoard\nnext  --port N of a replica")
        return forward(settings, f"service/{job.name}-tensorboard-0", TENSORBOARD, local_port or TENSORBOARD)
    return forward(settings, f"pod/{running_pods(settings, name, replica)[0]}", port, local_port or port)
