"""Completion of names: jobs of the chosen namespace, from the server's own tables."""

from typing import TYPE_CHECKING, Any

import click

from kubedl.cli.settings import settings_of

if TYPE_CHECKING:
    from click.shell_completion import CompletionItem

SECONDS = 3.0  # a shell does not wait longer
MOST = 200


class JobName(click.ParamType[str]):
    """The name of a job."""

    name = "job"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> str:  # noqa: ANN401
        return str(value)

    def shell_complete(self, ctx: click.Context, param: click.Parameter, incomplete: str) -> "list[CompletionItem]":
        """Return names of jobs; nothing if the cluster does not answer soon."""
        from dataclasses import replace  # noqa: PLC0415

        from click.shell_completion import CompletionItem  # noqa: PLC0415

        settings = replace(settings_of(ctx), request_timeout=SECONDS, debug=False)
        try:
            with settings.client() as client:
                jobs = client.list_jobs()
        except Exception:  # noqa: BLE001 - a shell that completes must never show an error
            return []
        word, slash, start = incomplete.rpartition("/")
        return [
            CompletionItem(f"{word}{slash}{job.name}", help=f"{job.word} {job.state}".strip())
            for job in jobs
            if job.name.startswith(start) and (not slash or word in (job.word, job.kind.lower()))
        ][:MOST]
