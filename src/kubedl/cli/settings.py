"""Flags that every command has: which cluster, as whom, and how to print. They may stand before the command too."""

import os
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import click

from kubedl.cli import configuration

if TYPE_CHECKING:
    from kubedl.cli.terminal import Terminal
    from kubedl.client import HistoryDatabase, TrainingClient

_COLORS = ("auto", "always", "never")
_FIELDS = {"as": "as_user"}  # flags whose name is a word of Python


@dataclass(frozen=True)
class Settings:
    """The values of the global flags."""

    namespace: str | None = None
    context: str | None = None
    kubeconfig: str | None = None
    cluster: str | None = None
    user: str | None = None
    as_user: str | None = None
    as_group: Sequence[str] = ()
    token: str | None = None
    server: str | None = None
    request_timeout: float | None = None
    color: str | None = None
    debug: bool = False

    def chosen(self, key: str) -> str:
        """Return what a flag says, else what the environment or a file does; empty if none does."""
        given: str | None = getattr(self, _FIELDS.get(key, key))
        return given or configured(key)

    def client(self, history_database: "HistoryDatabase | None" = None) -> "TrainingClient":
        """Return a client of the chosen cluster. It looks deleted jobs up only where a database is given."""
        from kubedl.client import TrainingClient  # noqa: PLC0415 - help needs no client
        from kubedl.kube.sync_credentials import Overrides  # noqa: PLC0415

        if self.request_timeout:
            configuration.check("request-timeout", f"{self.request_timeout:g}")
        overrides = Overrides(
            kubeconfig=self.chosen("kubeconfig"),
            context=self.chosen("context"),
            cluster=self.chosen("cluster"),
            user=self.chosen("user"),
            server=self.chosen("server"),
            token=self.token or "",
            as_user=self.chosen("as"),
            as_groups=self.as_group,
        )
        return TrainingClient(
            namespace=self.chosen("namespace") or None,
            overrides=overrides,
            request_timeout=self.request_timeout or float(configured("request-timeout") or 30),
            on_call=_print_call if self.debug else _ignore_call,
            use_history=history_database is not None,  # its database needs an event loop
            history_database=history_database,
        )

    def terminal(self) -> "Terminal":
        """Return standard output."""
        from kubedl.cli.terminal import Terminal  # noqa: PLC0415

        return Terminal.of(sys.stdout, self.chosen("color") or "auto", os.environ)


def configured(key: str) -> str:
    """Return a setting of the environment or of a file; empty if there is none."""
    return configuration.text(key) or ""


def _print_call(method: str, path: str, result: str, seconds: float) -> None:
    click.echo(f"debug: {1000 * seconds:6.1f} ms  {method} {path}  {result}", err=True)


def _ignore_call(method: str, path: str, result: str, seconds: float) -> None:
    pass


def global_options() -> list[click.Parameter]:
    """Return the flags, in the order of the help."""
    return [
        click.Option(["-n", "--namespace"], metavar="NAME", help="Namespace; by default that of the context."),
        click.Option(["--context"], metavar="NAME", help="Context of the kubeconfig."),
        click.Option(["--kubeconfig"], metavar="FILE", help="Kubeconfig; by default $KUBECONFIG or ~/.kube/config."),
        click.Option(["--cluster"], metavar="NAME", help="Cluster of the kubeconfig."),
        click.Option(["--user"], metavar="NAME", help="User of the kubeconfig."),
        click.Option(["--as", "as_user"], metavar="USER", help="User to impersonate."),
        click.Option(["--as-group"], metavar="GROUP", multiple=True, help="Group to impersonate; may be repeated."),
        click.Option(["--token"], metavar="TOKEN", help="Bearer token."),
        click.Option(["--server"], metavar="URL", help="Address of the API server."),
        click.Option(["--request-timeout"], metavar="SECONDS", type=float, help="Seconds for one request; default 30."),
        click.Option(["--color"], type=click.Choice(_COLORS), help="Colours; by default on a terminal."),
        click.Option(["--debug"], is_flag=True, default=None, help="Print each request, and where an error arose."),
    ]


GLOBAL = frozenset(str(option.name) for option in global_options())


class Command(click.Command):
    """A command with the global flags. Its function gets the Settings first."""

    def __init__(self, *arguments: Any, **attributes: Any) -> None:  # noqa: ANN401 - those of click.Command
        attributes.setdefault("options_metavar", "[FLAGS]")
        attributes["params"] = [*(attributes.get("params") or ()), *global_options()]
        super().__init__(*arguments, **attributes)

    def invoke(self, ctx: click.Context) -> Any:  # noqa: ANN401 - the function's own
        ctx.params = {"settings": settings_of(ctx)} | {
            name: value for name, value in ctx.params.items() if name not in GLOBAL
        }
        return super().invoke(ctx)

    def format_options(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write the command's own flags first, then the global ones."""
        own: list[tuple[str, str]] = []
        shared: list[tuple[str, str]] = []
        for parameter in self.get_params(ctx):
            record = parameter.get_help_record(ctx) if isinstance(parameter, click.Option) else None
            if record is not None:
                (shared if parameter.name in GLOBAL else own).append(record)
        for title, records in (("Flags", own), ("Global flags", shared)):
            with formatter.section(title):
                formatter.write_dl(records, col_max=34)


def settings_of(ctx: click.Context) -> Settings:
    """Return the global flags of a command and of the groups before it; the nearest one counts."""
    found: dict[str, Any] = {}
    place: click.Context | None = ctx
    while place is not None:
        for name in GLOBAL:
            value = place.params.get(name)
            if value not in (None, ()) and name not in found:
                found[name] = value
        place = place.parent
    return Settings(**found)


def declare(name: str, **attributes: Any) -> Callable[[Callable[..., Any]], click.Command]:  # noqa: ANN401
    """Declare a command."""

    def make(function: Callable[..., Any]) -> click.Command:
        return click.command(name, cls=Command, **attributes)(function)

    return make
