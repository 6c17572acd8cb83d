"""`kubedl attach`."""

import click

from kubedl.cli.completing import JobName
from kubedl.cli.settings import Settings, declare


@declare("attach", short_help="Open a shell in a replica")
@click.argument("name", metavar="JOB", type=JobName())
@click.option("-i", "--replica", metavar="REPLICA", help="Such as worker-0; by default the first that runs.")
@click.option("-c", "--container", default="", metavar="NAME", help="Container; by default the pod's first.")
@click.option("--shell", default="sh", metavar="SHELL", help="Shell; default sh.")
def command(settings: Settings, name: str, replica: str | None, container: str, shell: str) -> int:
    """Open a shell in a replica. It is handed over to kubectl, with the same cluster and namespace."""
    from kubedl.cli.kubectl import run_in, running_pods

    return run_in(settings, running_pods(settings, name, replica)[0], container, (shell,), tty=True)
