"""`kubedl completion`."""

import click

from kubedl.cli.settings import Settings, declare

SHELLS = ("bash", "zsh", "fish")


@declare("completion", short_help="Print the completion of a shell")
@click.argument("shell", type=click.Choice(SHELLS))
def command(settings: Settings, shell: str) -> None:
    """Print a script that completes commands, flags and names of jobs.

    For bash: source <(kubedl completion bash)
    """
    from click.shell_completion import get_completion_class

    from kubedl.cli.main import kubedl

    made = get_completion_class(shell)
    assert made is not None  # noqa: S101 - click knows these shells
    click.echo(made(kubedl, {}, "kubedl", "_KUBEDL_COMPLETE").source())
