"""The packer as a process that can be killed, and models for it to pack."""

import os
import random
import sys
from collections.abc import Mapping
from pathlib import Path

import msgspec

from harness.drivers.environment import SOURCE
from harness.drivers.forkserver import ROOT
from harness.drivers.process import Process
from kubedl.models.pack_protocol import ORDER_VARIABLE, PackRequest, PackResult

DEADLINE = 600.0


class Packer(Process):
    """One run; its answer is in a file of its own, as Kubernetes would read it."""

    def __init__(self, order: PackRequest, directory: Path, environment: Mapping[str, str] | None = None) -> None:
        self._answer = directory / "termination-log"
        self._answer.unlink(missing_ok=True)
        source = os.environ.get(SOURCE, str(ROOT / "src"))
        settings = {
            ORDER_VARIABLE: msgspec.json.encode(order).decode(),
            "PYTHONPATH": source,
            **(environment or {}),
        }
        command = [sys.executable, "-m", "kubedl.entrypoints.packer", "--termination-log", str(self._answer)]
        super().__init__(command, directory / "packer.log", settings, directory)

    def answered(self) -> PackResult | None:
        """Return its termination message, if it wrote one."""
        if not self._answer.exists() or not (content := self._answer.read_bytes()):
            return None
        return msgspec.json.decode(content, type=PackResult)


def packed(
    order: PackRequest, directory: Path, environment: Mapping[str, str] | None = None
) -> tuple[int, PackResult | None]:
    """Run it to its end: exit code and answer."""
    packer = Packer(order, directory, environment)
    packer.start()
    code = packer.wait_ended(DEADLINE)
    return code, packer.answered()


def write_model(directory: Path, files: int, size: int, seed: int = 0) -> None:
    """Files that no two have in common, and that cannot be made smaller."""
    directory.mkdir(parents=True, exist_ok=True)
    for number in range(files):
        write_shard(directory / f"shard-{number:05}.safetensors", size, f"{seed}/{number}")
    (directory / "config.json").write_text('{"layers": 2}\n')


def write_shard(file: Path, size: int, seed: str) -> None:
    """One file of random bytes, in pieces."""
    draw = random.Random(seed)  # noqa: S311  the same every time, on purpose
    with file.open("wb") as stream:
        left = size
        while left:
            stream.write(draw.randbytes(min(left, 8 << 20)))
            left -= min(left, 8 << 20)
