"""The loader: a model is put where a server looks for it, one process, `kubedl loader`, before the server starts.

With --mounted the model's image is a volume, which is proved to be there; with --image it is fetched from its registry.
Exit code 0: the model is there, as it was packed; 2: it is not; 1: trying again may help. Why is left in the file that
Kubernetes reads as the container's last words.
"""

import argparse
import json
import sys
import traceback
from collections.abc import Sequence
from pathlib import Path

from kubedl.main.last_words import leave
from kubedl.serving.loader import mounted, settings
from kubedl.serving.loader.failure import LoadingError

PERMANENT = 2
MOST_CHARACTERS = 2000


def main(arguments: Sequence[str] | None = None) -> int:
    """Load what the arguments name."""
    options = parser().parse_args(arguments)
    reason, message, code = "", "", 0
    try:
        _load(options)
    except LoadingError as error:
        reason, message, code = error.reason, error.message, PERMANENT if error.permanent else 1
    except OSError as error:
        reason, message, code = "LoadingFailed", str(error), 1
    except Exception as error:  # noqa: BLE001  whatever is wrong, the server must not start and somebody must know why
        traceback.print_exc()
        reason, message, code = "InternalError", f"{type(error).__name__}: {error}", 1
    if code:
        words = json.dumps({"reason": reason, "message": message[:MOST_CHARACTERS]})
        leave(Path(options.termination_log), words.encode())
    return code


def parser() -> argparse.ArgumentParser:
    """What it can be told."""
    made = argparse.ArgumentParser(prog="kubedl loader", description=__doc__)
    source = made.add_mutually_exclusive_group(required=True)
    source.add_argument("--mounted", type=Path, help="where the model's image is mounted")
    source.add_argument("--image", help="the model's image, as REPOSITORY@sha256:…")
    made.add_argument("--target", type=Path, required=True, help="the directory in which the server looks")
    made.add_argument("--credentials", default="", help="a file as `docker login` writes it")
    made.add_argument("--insecure", action="store_true", help="over plain HTTP, or with any certificate")
    made.add_argument("--triton-batching", type=_numbers, help="SIZE[,MICROSECONDS]")
    made.add_argument("--mlserver-batching", type=_numbers, help="SIZE,SECONDS")
    made.add_argument("--termination-log", default="/dev/termination-log", help="the file that gets the answer")
    return made


def _load(options: argparse.Namespace) -> None:
    if options.mounted is not None:
        count = mounted.prove(options.mounted)
        mounted.link(options.mounted, options.target)
        print(f"{count} files are there", flush=True)
    else:
        _fetch(options)
    if options.triton_batching is not None:
        size, *wait = options.triton_batching
        settings.triton(options.target, int(size), int(wait[0]) if wait else None)
    if options.mlserver_batching is not None:
        size, seconds = options.mlserver_batching
        settings.mlserver(options.target, int(size), seconds)


def _fetch(options: argparse.Namespace) -> None:
    # Only here: where the image is mounted nobody waits for all of this.
    from kubedl.models.packer.address import parse  # noqa: PLC0415
    from kubedl.models.packer.failure import PackingError  # noqa: PLC0415
    from kubedl.models.packer.login import read_login  # noqa: PLC0415
    from kubedl.models.packer.registry import Registry  # noqa: PLC0415
    from kubedl.models.unpack import unpack  # noqa: PLC0415

    repository, _, digest = options.image.partition("@")
    try:
        address = parse(repository, "latest")
        login = read_login(options.credentials, address)
        with Registry(address, login, insecure=options.insecure, reading=True) as registry:
            unpack(registry, digest, options.target)
    except PackingError as error:
        raise LoadingError(error.reason, error.message, permanent=error.permanent) from error


def _numbers(text: str) -> list[float]:
    return [float(part) for part in text.split(",")]


if __name__ == "__main__":
    sys.exit(main())
