"""Long logs in a real Chromium: from the archive, and one rank while it is written.

The API server with its log and the storage are played; `proofs.console.logs` shows more of them, of real nodes.
"""

import asyncio
import json
from pathlib import Path

import pytest

from tests.browser.log_world import (
    LINES,
    NAME,
    NAMESPACE,
    NEEDLE,
    NEEDLE_LINE,
    NEEDLE_RANK,
    RANKS,
    UID,
    Kubelet,
    log_console,
)
from tests.browser.log_world import line as written
from tests.browser.scripts import running
from tests.unit.console.world import World

LIMIT = 120.0  # seconds
FIRST_LINES = 2_000  # of rank 0, when somebody begins to look
ROTATED_TO = 4_000
LOOKED = (1, 3)  # ranks
RULES = {"gaps shown": 1, "addresses that lead elsewhere": 0, "lines with another number": 0, "lines found": 1}


async def test_a_long_log(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """First lines, jumps, search; a rotated log has a gap; the address of a line is good when job and pod are gone."""
    monkeypatch.setenv("AWS_ACCESS_KEY_ID", "reader")
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "of-a-played-storage")
    world, kubelet = World(), Kubelet([written(0, number) for number in range(1, FIRST_LINES + 1)])
    world.reviewer.tokens["token-of-ada"] = "ada"
    world.reviewer.allow("ada", NAMESPACE)
    async with log_console(world, kubelet, tmp_path) as address:
        order = {"logs": RANKS, "looked": LOOKED, "lines": LINES}
        order |= {"needle": NEEDLE, "needleRank": NEEDLE_RANK, "needleLine": NEEDLE_LINE}
        order |= {"job": f"/jobs/{NAMESPACE}/pytorchjob/{NAME}", "uid": UID, "before": FIRST_LINES, "after": ROTATED_TO}
        given = {"CONSOLE": address, "TOKEN": "token-of-ada", "ORDER": json.dumps(order)}
        async with running("logs", LIMIT, **given) as process:
            await _reached(process, "following")
            kubelet.rotate([written(0, number) for number in range(ROTATED_TO, ROTATED_TO + 100)])
            _tell(process)
            await _reached(process, "chosen")
            world.delete_job(NAMESPACE, NAME)
            for pod in list(world.stores.pods):
                world.stores.pods.remove(pod.metadata.key)
            _tell(process)
            printed, errors = await process.communicate()
    *lines, last = printed.decode().splitlines() or [""]
    assert last == "done", errors.decode()
    figures = json.loads(lines[-1])
    assert {name: figures[name] for name in RULES} == RULES


async def _reached(process: asyncio.subprocess.Process, step: str) -> None:
    assert process.stdout is not None
    assert process.stderr is not None
    found = (await process.stdout.readline()).decode().strip()
    assert found == step, (await process.stderr.read()).decode()


def _tell(process: asyncio.subprocess.Process) -> None:
    assert process.stdin is not None
    process.stdin.write(b"go\n")
