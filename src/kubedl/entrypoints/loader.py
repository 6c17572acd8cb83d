"""The loader: puts the model where the server reads it; one process, `kubedl loader`, in an init container.

With --mounted the model image is a volume and is verified; with --image the model is pulled from its registry. Exit
code 0: the model is complete; 2: permanent failure; 1: retryable failure. The cause is written to the termination
message.
"""

import argparse
import json
import os
import signal
import sys
import traceback
from collections.abc import Sequence
from pathlib import Path

from kubedl.entrypoints.termination_message import write_termination_message
from kubedl.serving.loader import server_config, verify
from kubedl.serving.loader.errors import LoadingError

PERMANENT = 2
MOST_CHARACTERS = 2000


def main(arguments: Sequence[str] | None = None) -> int:
    """Load the model that the arguments name."""
    options = parser().parse_args(arguments)
    # The first process of a container ignores a signal without a handler, and would be killed after the grace period.
    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, lambda *_: os._exit(1))
    reason, message, code = "", "", 0
    try:
        _load(options)
    except LoadingError as error:
        reason, message, code = error.reason, error.message, PERMANENT if error.permanent else 1
    except OSError as error:
        reason, message, code = "LoadingFailed", str(error), 1
    except Exception as error:  # noqa: BLE001  on any error the server must not start, and the cause is reported
        traceback.print_exc()
        reason, message, code = "InternalError", f"{type(error).__name__}: {error}", 1
    if code:
        result = json.dumps({"reason": reason, "message": message[:MOST_CHARACTERS]})
        write_termination_message(Path(options.termination_log), result.encode())
    return code


def parser() -> argparse.ArgumentParser:
    """Return the parser of the command line."""
    parser = argparse.ArgumentParser(prog="kubedl loader", description=__doc__)
    source = parser.add_mutually_exclusive_group(required=True)
    source.add_argument("--mounted", type=Path, help="mount path of the model image")
    source.add_argument("--image", help="model image, as REPOSITORY@sha256:…")
    parser.add_argument("--target", type=Path, required=True, help="directory that the server reads the model from")
    parser.add_argument("--credentials", default="", help="credentials file in the format of `docker login`")
    parser.add_argument("--insecure", action="store_true", help="use plain HTTP, or do not verify the certificate")
    parser.add_argument("--triton-batching", type=_numbers, help="SIZE[,MICROSECONDS]")
    parser.add_argument("--mlserver-batching", type=_numbers, help="SIZE,SECONDS")
    parser.add_argument("--termination-log", default="/dev/termination-log", help="file for the termination message")
    return parser


def _load(options: argparse.Namespace) -> None:
    if options.mounted is not None:
        count = verify.verify(options.mounted)
        verify.link(options.mounted, options.target)
        print(f"{count} files verified", flush=True)
    else:
        _fetch(options)
    if options.triton_batching is not None:
        size, *wait = options.triton_batching
        server_config.triton(options.target, int(size), int(wait[0]) if wait else None)
    if options.mlserver_batching is not None:
        size, seconds = options.mlserver_batching
        server_config.mlserver(options.target, int(size), seconds)


def _fetch(options: argparse.Namespace) -> None:
    # Imported only here: the check of a mounted image must not wait for these imports.
    from kubedl.oci.credentials import read_credentials  # noqa: PLC0415
    from kubedl.oci.errors import ImageError  # noqa: PLC0415
    from kubedl.oci.reference import parse_reference  # noqa: PLC0415
    from kubedl.oci.registry import Registry  # noqa: PLC0415
    from kubedl.serving.loader.pull import unpack  # noqa: PLC0415

    repository, _, digest = options.image.partition("@")
    try:
        address = parse_reference(repository, "latest")
        login = read_credentials(options.credentials, address)
        with Registry(address, login, insecure=options.insecure, reading=True) as registry:
            unpack(registry, digest, options.target)
    except ImageError as error:
        raise LoadingError(error.reason, error.message, permanent=error.permanent) from error


def _numbers(text: str) -> list[float]:
    return [float(part) for part in text.split(",")]


if __name__ == "__main__":
    sys.exit(main())
