"""`--config-file FILE[:PATH]`: files of this machine that are mounted in every pod."""

from collections.abc import Sequence
from pathlib import Path

import click

MOST_BYTES = 900 * 1024


def read_files(values: Sequence[str]) -> dict[str, bytes]:
    """Return the contents of files by their paths in pods; without a path it is the same as here."""
    found: dict[str, bytes] = {}
    for value in values:
        local, colon, path = value.rpartition(":")
        if not colon or not path.startswith("/"):
            local, path = value, ""
        place = path or str(Path(local).absolute())
        if place in found:
            raise click.UsageError(f"--config-file: {place[:200]} is there twice\nnext  FILE:/another/path")
        found[place] = _read(local)
    return found


def _read(local: str) -> bytes:
    from kubedl.client.code_archive import looks_secret  # noqa: PLC0415 - help needs none

    file = Path(local)
    if looks_secret(local):
        raise click.UsageError(
            f"--config-file: {local[:200]} looks like a key, and many may read a ConfigMap\n"
            "next  a Secret: --env NAME=secret:SECRET/KEY"
        )
    if not file.is_file():
        raise click.UsageError(f"--config-file: there is no file {local[:200]}\nnext  FILE, or FILE:/path/in/the/pods")
    try:
        if file.stat().st_size > MOST_BYTES:
            raise click.UsageError(
                f"--config-file: {local[:200]} is larger than {MOST_BYTES // 1024} KiB\nnext  --data CLAIM:/path"
            )
        return file.read_bytes()
    except OSError as error:
        raise click.UsageError(f"--config-file: cannot read {local[:200]}: {error.strerror}\nnext  check it") from error
