"""A model of 16 files packed and pushed, beside `skopeo copy` of the same image, in turn to registries of their own.

Both begin with everything on disk and end when the registry has confirmed the tag. A new version with one changed file
is then pushed through a proxy that counts what reaches the registry.
"""

import argparse
import json
import shutil
import statistics
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

import msgspec

from benchmarks import report
from benchmarks.creation import Figures
from benchmarks.environment import FULL, say
from harness.drivers.packer_process import Packer, write_model, write_shard
from harness.drivers.process import Process
from harness.drivers.registry import RealRegistry, real_registry
from harness.drivers.registry_fault_proxy import registry_proxy
from kubedl.models.pack_protocol import PackRequest, PackResult
from testbed.errors import TestbedError
from testbed.shell import run

FILES = 16
REPOSITORY = "model"
DEADLINE = 3600.0
SKOPEO = ("env", "NO_PROXY=*", "skopeo", "--insecure-policy", "copy", "--quiet", "--preserve-digests")


class Run(msgspec.Struct, frozen=True):
    """One process from its start to its end."""

    seconds: float
    cpu: float
    peak: int


def measure(size: int, rounds: int) -> Figures:
    """Pack and copy in turn, then a second version."""
    with tempfile.TemporaryDirectory(prefix="kubedl-bench-") as name:
        place = Path(name)
        write_model(place / "model", FILES, size // FILES)
        say(f"{FILES} files of {size // FILES >> 20} MiB are written")
        packed, copied = [], []
        for number in range(rounds):
            with _fresh_registry(place) as registry:
                packed.append(_packed(place, registry.address, "v1")[0])
                if not number:
                    image, layout = f"docker://{registry.address}/{REPOSITORY}:v1", f"oci:{place / 'layout'}:v1"
                    run(*SKOPEO, "--src-tls-verify=false", image, layout, timeout=DEADLINE)
            with _fresh_registry(place) as registry:
                copied.append(_copied(place, registry.address))
            say(f"round {number + 1}: packer {packed[-1].seconds:.1f} s, skopeo {copied[-1].seconds:.1f} s")
        second = _second_version(place, size // FILES)
    ratios = [copy.seconds / pack.seconds for pack, copy in zip(packed, copied, strict=True)]
    return {
        "benchmark": "packing",
        "MiB": size >> 20,
        "packer MB/s": _rate(size, packed),
        "skopeo MB/s": _rate(size, copied),
        "packer/skopeo": round(statistics.median(ratios), 2),
        "packer cpu s": round(statistics.median(turn.cpu for turn in packed), 1),
        "skopeo cpu s": round(statistics.median(turn.cpu for turn in copied), 1),
        "packer peak rss MB": round(max(turn.peak for turn in packed) / 1e6),
        "skopeo peak rss MB": round(max(turn.peak for turn in copied) / 1e6),
        **second,
    }


def main() -> int:
    """Measure, and print one JSON line."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.packing", description=__doc__)
    parser.add_argument("--mebibytes", type=int, default=8192 if FULL else 256)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--write", action="store_true", help="write docs/performance.md")
    chosen = parser.parse_args()
    figures = measure(chosen.mebibytes << 20, chosen.rounds)
    if chosen.write:
        head, row = list(figures)[1:], list(figures.values())[1:]
        report.write("packing", "python -m benchmarks.packing --write", report.table(head, [row]))
    print(json.dumps(figures))
    return 0


@contextmanager
def _fresh_registry(place: Path) -> Iterator[RealRegistry]:
    """A registry whose storage is gone before the next one is measured."""
    directory = place / "registry"
    directory.mkdir()
    try:
        with real_registry(directory) as registry:
            yield registry
    finally:
        shutil.rmtree(directory)


def _packed(place: Path, address: str, tag: str) -> tuple[Run, PackResult]:
    order = PackRequest(str(place / "model"), f"{address}/{REPOSITORY}", tag, "bench", "model", "mv", insecure=True)
    packer = Packer(order, place)
    done = _watched(packer)
    answer = packer.answered()
    if answer is None or not answer.digest:
        raise TestbedError(f"the packer ended with {answer}; its log:\n{packer.tail()}")
    return done, answer


def _copied(place: Path, address: str) -> Run:
    target = f"docker://{address}/{REPOSITORY}:v1"
    command = [*SKOPEO, "--dest-tls-verify=false", f"oci:{place / 'layout'}:v1", target]
    return _watched(Process(command, place / "skopeo.log", {}, place))


def _watched(process: Process) -> Run:
    """Time, processor time and the most memory of a process, read until it has ended."""
    began = time.monotonic()
    process.start()
    cpu, peak = 0.0, 0
    while process.alive:
        try:
            cpu, peak = process.cpu_seconds(), process.peak_rss_bytes()
        except (OSError, TestbedError, IndexError):
            break  # it has ended between two looks
        time.sleep(0.02)
    code = process.wait_ended(DEADLINE)
    if code:
        raise TestbedError(f"{process.name} ended with {code}:\n{process.tail()}")
    return Run(time.monotonic() - began, cpu, peak)


def _second_version(place: Path, size: int) -> Figures:
    with _fresh_registry(place) as registry, registry_proxy(registry.address) as proxy:
        _packed(place, registry.address, "v1")
        write_shard(place / "model" / "shard-00007.safetensors", size, "changed")
        _, answer = _packed(place, proxy.address, "v2")
        sent = proxy.bytes_sent()
    return {
        "second version: layers sent": answer.layers_uploaded,
        "second version: bytes at the registry": sent,
        "second version: bytes at the registry/bytes of the changed file": round(sent / size, 4),
    }


def _rate(size: int, turns: Sequence[Run]) -> float:
    return round(statistics.median(size / turn.seconds for turn in turns) / 1e6, 1)


if __name__ == "__main__":
    sys.exit(main())
