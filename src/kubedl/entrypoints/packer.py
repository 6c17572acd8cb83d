"""The packer: builds an image from a file or directory and pushes it; one process, `kubedl packer`.

The request is in the environment variable KUBEDL_PACKING_ORDER. Progress is written to standard output, and the result
to the termination message. Exit code 0: pushed; 2: permanent failure; 1: retryable failure.
"""

import argparse
import os
import signal
import sys
import traceback
from collections.abc import Sequence
from pathlib import Path

import msgspec

from kubedl.entrypoints.termination_message import write_termination_message
from kubedl.models.pack_protocol import ORDER_VARIABLE, PERMANENT, PackRequest, PackResult
from kubedl.models.packer.attestations import attaching
from kubedl.models.packer.pack import pack
from kubedl.models.packer.progress import report_retry
from kubedl.oci.credentials import read_credentials
from kubedl.oci.errors import ImageError
from kubedl.oci.reference import parse_reference
from kubedl.oci.registry import Registry

MOST_BYTES = 4096  # bytes: Kubernetes' limit for a termination message


def main(arguments: Sequence[str] | None = None) -> int:
    """Pack the model that the request names."""
    parser = argparse.ArgumentParser(prog="kubedl packer", description=__doc__)
    parser.add_argument("--termination-log", default="/dev/termination-log", help="file for the termination message")
    log = Path(parser.parse_args(arguments).termination_log)
    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, lambda *_: _stopped(log))
    answer, code = _packed()
    write_termination_message(log, termination_message(answer))
    return code


def termination_message(answer: PackResult, most: int = MOST_BYTES) -> bytes:
    """Encode the result as JSON within the limit; a long message is truncated."""
    content = msgspec.json.encode(answer)
    message = answer.message
    while len(content) > most and message:
        # A non-ASCII character takes two or more bytes and a control character six, so measure again after truncation.
        message = message[: max(0, len(message) - max(1, (len(content) - most) // 6))]
        content = msgspec.json.encode(msgspec.structs.replace(answer, message=f"{message}…"))
    return content


def _packed() -> tuple[PackResult, int]:
    try:
        order = _order()
        address = parse_reference(order.repository, order.tag)
        login = read_credentials(order.credentials, address)
        attach = attaching(order)
        with Registry(address, login, insecure=order.insecure, report=report_retry) as registry:
            return pack(order, registry, attach), 0
    except ImageError as error:
        return PackResult(reason=error.reason, message=error.message), PERMANENT if error.permanent else 1
    except Exception as error:  # noqa: BLE001  the answer must be given whatever is wrong
        traceback.print_exc()
        return PackResult(reason="InternalError", message=f"{type(error).__name__}; see the log of the build pod"), 1


def _order() -> PackRequest:
    try:
        return msgspec.json.decode(os.environ.get(ORDER_VARIABLE, ""), type=PackRequest)
    except msgspec.DecodeError as error:
        raise ImageError("BadOrder", f"{ORDER_VARIABLE} is not a valid request: {error}", permanent=True) from error


def _stopped(log: Path) -> None:
    """Exit without joining threads: they may wait for a registry for minutes, and there is nothing to clean up."""
    write_termination_message(
        log,
        termination_message(
            PackResult(reason="Stopped", message="the build pod was terminated before the image was complete")
        ),
    )
    os._exit(1)


if __name__ == "__main__":
    sys.exit(main())
