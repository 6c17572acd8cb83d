"""`kubedl version`."""

import click

from kubedl.cli.settings import Settings, declare


@declare("version", short_help="Print the version")
@click.option("--client", "only_client", is_flag=True, help="Of this program only.")
def command(settings: Settings, only_client: bool) -> None:
    """Print the version of this program and of the API server."""
    from kubedl.cli.release import VERSION

    click.echo(f"kubedl {VERSION}")
    if not only_client:
        with settings.client() as client:
            click.echo(f"Kubernetes {client.server_version()} at {client.server}")
