"""Flags and settings that name the database of the history."""

import os
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import click

from kubedl.cli import configuration
from kubedl.cli.settings import Settings

if TYPE_CHECKING:
    from kubedl.client.history_database import HistoryDatabase
    from kubedl.client.history_operations import History

VARIABLE, CLUSTER = "KUBEDL_HISTORY_DATABASE", "KUBEDL_HISTORY_CLUSTER"


def options(function: Callable[..., Any]) -> Callable[..., Any]:
    """Add the flags that name the database."""
    file = click.option("--database-file", metavar="FILE", help=f"File with the address; by default ${VARIABLE}.")
    named = click.option(
        "--history-cluster", metavar="NAME", help=f"The cluster's name in it; by default ${CLUSTER}, or kubedl."
    )
    return file(named(function))


def database(file: str | None = None, cluster: str | None = None) -> "HistoryDatabase":
    """Return the database of the flags, else of the environment, else of the settings."""
    from kubedl.client.history_database import HistoryDatabase  # noqa: PLC0415 - help needs none

    known = "" if os.environ.get(VARIABLE) else configuration.text("history-database-file")
    return HistoryDatabase(file or known or "", cluster or configuration.text("history-cluster") or "")


def history(settings: Settings, file: str | None, cluster: str | None, *, all_namespaces: bool = False) -> "History":
    """Return the history. A kubeconfig is read only if it must say what the namespace is."""
    from kubedl.client.history_operations import History, HistoryOperations, here  # noqa: PLC0415

    place = "" if all_namespaces else _namespace(settings)
    return History(HistoryOperations(here, database(file, cluster), place))


def _namespace(settings: Settings) -> str:
    if settings.namespace:
        return settings.namespace
    with settings.client() as client:
        return client.namespace
