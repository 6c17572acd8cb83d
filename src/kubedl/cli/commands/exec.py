"""`kubedl exec`."""

import click

from kubedl.cli.completing import JobName
from kubedl.cli.settings import Settings, declare


@declare("exec", short_help="Run a command in a replica")
@click.argument("name", metavar="JOB", type=JobName())
@click.argument("words", metavar="-- COMMAND", nargs=-1, type=click.UNPROCESSED, required=True)
@click.option("-i", "--replica", metavar="REPLICA", help="Such as worker-0; by default the first that runs.")
@click.option("-c", "--container", default="", metavar="NAME", help="Container; by default the pod's first.")
@click.option("--all", "every", is_flag=True, help="In every replica that runs, one after the other.")
def command(
    settings: Settings, name: str, words: tuple[str, ...], replica: str | None, container: str, every: bool
) -> int:
    """Run a command in a replica. It is handed over to kubectl, with the same cluster and namespace."""
    from kubedl.cli.failures import INTERRUPTED
    from kubedl.cli.kubectl import run_in, running_pods

    pods, code = running_pods(settings, name, replica), 0
    for pod in pods if every else pods[:1]:
        ended = run_in(settings, pod, container, words, tty=False)
        code = max(code, ended)
        if ended == INTERRUPTED:  # Ctrl-C is meant for all of them
            break
    return code
