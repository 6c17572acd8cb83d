"""Ships a directory of this machine with a job: `run`, and `submit --code`."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import click

from kubedl.cli.submit.flags import Code
from kubedl.client import Job, TrainingClient

PROGRAM = ("python3", "/kubedl-files/code.pyz")


def words_of(command: tuple[str, ...], shell: str) -> list[str]:
    """Return a command as words; one argument is a line for the shell."""
    return [shell, "-c", command[0]] if len(command) == 1 else list(command)


def create_with_code(
    client: TrainingClient, manifest: dict[str, Any], code: Code, files: Mapping[str, bytes] | None = None
) -> Job:
    """Create a job whose pods run a command in a copy of a directory; says what is shipped."""
    from kubedl.client.code_archive import files_of  # noqa: PLC0415 - only if code is shipped

    directory = Path(code.directory)
    names, secret = files_of(directory)
    size = sum((directory / name).stat().st_size for name in names)
    left = f"; left out, as they look like keys: {', '.join(secret[:5])}" if secret else ""
    count = f"{len(names)} file{'s' if len(names) != 1 else ''}"
    click.echo(f"ships {count}, {size // 1024 + 1} KiB, of {directory.resolve().name}{left}", err=True)
    return client.run_directory(manifest, directory, list(code.command), files=files)
