"""`kubedl whoami`."""

import click

from kubedl.cli.settings import Settings, declare


@declare("whoami", short_help="Say who the server takes you for")
def command(settings: Settings) -> None:
    """Say which cluster is talked to, and who the server takes you for."""
    with settings.client() as client:
        user, groups = client.whoami()
        click.echo(f"{user} in {client.namespace} of {client.server}")
    if groups:
        click.echo(f"groups: {', '.join(groups)}", err=True)
