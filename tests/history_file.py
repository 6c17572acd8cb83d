"""The history in a file of SQLite: migrations take about a second, so a process runs them once, and tests copy."""

from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory

from harness.drivers.databases import create_tables


@cache
def tables() -> bytes:
    """A database without rows, with the newest schema."""
    with TemporaryDirectory() as directory:
        file = Path(directory, "history.db")
        create_tables(f"sqlite:///{file}")
        return file.read_bytes()
