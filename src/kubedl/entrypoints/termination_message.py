"""Writes the container's termination message."""

import sys
from pathlib import Path


def write_termination_message(log: Path, content: bytes) -> None:
    """Write the text to the termination message file, and log it."""
    print(content.decode(), file=sys.stderr, flush=True)
    try:
        log.write_bytes(content)
    except OSError as error:
        print(f"cannot write the termination message to {log}: {error}", file=sys.stderr, flush=True)
