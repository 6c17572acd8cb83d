"""`kubedl doctor`."""

import click

from kubedl.cli.settings import Settings, declare

MARKS = {"ok": ("ok", "green"), "off": ("off", "yellow"), "broken": ("BROKEN", "red")}


@declare("doctor", short_help="Check cluster, rights and parts")
def command(settings: Settings) -> int:
    """Check the cluster, your rights in the namespace, and the parts that KubeDL works with.

    The exit code is 0 if all is there, 3 if something optional is off, and 1 if something is broken.
    """
    from kubedl.cli.history_database import database
    from kubedl.cli.terminal import printable
    from kubedl.client.checks import run_checks

    terminal = settings.terminal()
    states = set()
    with settings.client(database()) as client:
        for check in run_checks(client):
            mark, color = MARKS[check.state]
            states.add(check.state)
            terminal.write(f"{terminal.paint(f'{mark:6}', color)}  {check.part:11}  {printable(check.words)}")
            if check.fix:
                terminal.write(f"        {'':11}  {terminal.paint('next', 'dim')}  {printable(check.fix)}")
    click.echo("", err=True, nl=False)
    return 1 if "broken" in states else 3 if "off" in states else 0
