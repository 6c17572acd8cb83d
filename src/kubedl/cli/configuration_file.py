"""Changes one value of a file of settings, and leaves its other lines and comments as they are."""

import json
import os
from pathlib import Path

import click

from kubedl.cli import configuration


def write(file: str, key: str, value: str | None) -> bool:
    """Set a value, or remove it; returns whether that changed the file. Raises UsageError if lines cannot tell."""
    path = Path(file)
    try:
        before = path.read_bytes() if path.exists() else b""
        wanted = configuration.parsed(before, file)
        had = wanted.pop(key, None)
        if value is not None:
            wanted[key] = value
        if had == value:
            return False
        after = _changed(before.decode(), key, value)
        if configuration.parsed(after.encode(), file) != wanted:  # a value of several lines, a table
            raise click.UsageError(f"{file}: the line of {key} is not understood\nnext  edit the file by hand")
        _replace(path, after)
    except OSError as error:
        raise click.UsageError(f"cannot write {file}: {error.strerror}\nnext  check the file") from error
    return True


def _changed(text: str, key: str, value: str | None) -> str:
    line = [f"{key} = {json.dumps(value, ensure_ascii=False)}"] if value is not None else []
    lines = text.splitlines()
    for place, one in enumerate(lines):
        if one.partition("=")[0].strip().strip("\"'") == key and "=" in one:
            return _joined([*lines[:place], *line, *lines[place + 1 :]])
    return _joined([*lines, *line])


def _joined(lines: list[str]) -> str:
    return "".join(f"{one}\n" for one in lines)


def _replace(path: Path, text: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    fresh = path.with_name(f".{path.name}.{os.getpid()}")
    try:
        fresh.write_text(text, encoding="utf-8")
        fresh.replace(path)
    finally:
        fresh.unlink(missing_ok=True)
