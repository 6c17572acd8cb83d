"""The integral of 4 / (1 + x²) from 0 to 1, every rank a share of it; the sum is π.

The first run to find the file `fail` beside the checkpoints takes it away and fails.
"""

import os
import socket
from pathlib import Path

import numpy as np  # type: ignore[import-not-found,unused-ignore]
from mpi4py import MPI  # type: ignore[import-not-found]

from tests.e2e.training.workloads.pace import FAIL, FAILURE

INTERVALS = 1_000_000


def main() -> None:
    world = MPI.COMM_WORLD
    rank, size = world.Get_rank(), world.Get_size()
    # That it is there at all shows that a rank has the environment of its worker's container.
    directory = Path(os.environ["CHECKPOINTS"])
    hosts = world.gather(socket.gethostname(), root=0)
    if rank == 0:
        print(f"{size} ranks on {', '.join(sorted(hosts))}", flush=True)
        if (directory / FAIL).exists():
            (directory / FAIL).unlink()
            world.Abort(FAILURE)  # an exit would wait for the others, who wait for this rank's share
    middles = (np.arange(rank, INTERVALS, size) + 0.5) / INTERVALS
    share = float((4 / (1 + middles**2)).sum() / INTERVALS)
    total = world.reduce(share, op=MPI.SUM, root=0)
    if rank == 0:
        print(f"pi is {total:.12f}", flush=True)


if __name__ == "__main__":
    main()
