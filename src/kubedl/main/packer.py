"""The packer: a file or a directory becomes an image in a registry, one process, `kubedl packer`.

It takes its order from the environment variable KUBEDL_PACKING_ORDER, tells on standard output how far it is, and
leaves its answer in the file that Kubernetes reads as the container's last words. Exit code 0: there is an image;
2: there is none, and trying again would not help; 1: trying again may help.
"""

import argparse
import os
import signal
import sys
import traceback
from collections.abc import Sequence
from pathlib import Path

import msgspec

from kubedl.main.last_words import leave
from kubedl.models.order import ORDER_VARIABLE, PERMANENT, Answer, Order
from kubedl.models.packer.address import parse
from kubedl.models.packer.failure import PackingError
from kubedl.models.packer.lineage import attaching
from kubedl.models.packer.login import read_login
from kubedl.models.packer.pack import pack
from kubedl.models.packer.registry import Registry

MOST_BYTES = 4096  # that Kubernetes takes of last words


def main(arguments: Sequence[str] | None = None) -> int:
    """Pack what the order names."""
    parser = argparse.ArgumentParser(prog="kubedl packer", description=__doc__)
    parser.add_argument("--termination-log", default="/dev/termination-log", help="the file that gets the answer")
    log = Path(parser.parse_args(arguments).termination_log)
    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, lambda *_: _stopped(log))
    answer, code = _packed()
    leave(log, last_words(answer))
    return code


def last_words(answer: Answer, most: int = MOST_BYTES) -> bytes:
    """The answer as JSON that fits; of a message that is too long the beginning is kept."""
    content = msgspec.json.encode(answer)
    message = answer.message
    while len(content) > most and message:
        # An umlaut takes two bytes and a control character six, so what is left over is measured again.
        message = message[: max(0, len(message) - max(1, (len(content) - most) // 6))]
        content = msgspec.json.encode(msgspec.structs.replace(answer, message=f"{message}…"))
    return content


def _packed() -> tuple[Answer, int]:
    try:
        order = _order()
        address = parse(order.repository, order.tag)
        login = read_login(order.credentials, address)
        attach = attaching(order)
        with Registry(address, login, insecure=order.insecure) as registry:
            return pack(order, registry, attach), 0
    except PackingError as error:
        return Answer(reason=error.reason, message=error.message), PERMANENT if error.permanent else 1
    except Exception as error:  # noqa: BLE001  the answer must be given whatever is wrong
        traceback.print_exc()
        return Answer(reason="InternalError", message=f"{type(error).__name__}; the build pod's log has more"), 1


def _order() -> Order:
    try:
        return msgspec.json.decode(os.environ.get(ORDER_VARIABLE, ""), type=Order)
    except msgspec.DecodeError as error:
        raise PackingError("BadOrder", f"{ORDER_VARIABLE} holds no order: {error}", permanent=True) from error


def _stopped(log: Path) -> None:
    """Threads that wait for a registry would keep us for minutes, and nothing needs to be put in order."""
    leave(log, last_words(Answer(reason="Stopped", message="the build pod was told to end before the image was done")))
    os._exit(1)


if __name__ == "__main__":
    sys.exit(main())
