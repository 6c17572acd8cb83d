"""Gradient boosting on every rank's own rows; together they must find the model that one process finds on all rows.

Bit by bit: three decimals and many bins make every value its own bin, so that no cut depends on who has which rows; and
logistic gradients are so near to each other in size that their sums are exact, whatever the order.
"""

import contextlib
import hashlib
import os
import socket
import time

import numpy  # type: ignore[import-not-found,unused-ignore]
import xgboost  # type: ignore[import-not-found]
from xgboost import collective
from xgboost.tracker import RabitTracker  # type: ignore[import-not-found]

ROWS = 2000
ROUNDS = 10
PARAMETERS = {"objective": "binary:logistic", "tree_method": "hist", "max_bin": 1024, "max_depth": 3, "nthread": 1}


def main() -> None:
    rank, world = int(os.environ["DMLC_TASK_ID"]), int(os.environ["DMLC_NUM_WORKER"])
    address, port = os.environ["DMLC_TRACKER_URI"], int(os.environ["DMLC_TRACKER_PORT"])
    known(address)
    tracker = RabitTracker(n_workers=world, host_ip="0.0.0.0", port=port, sortby="task") if rank == 0 else None  # noqa: S104
    if tracker is not None:
        tracker.start()
    random = numpy.random.RandomState(7)
    inputs = random.rand(ROWS, 4).round(3)
    targets = (inputs @ numpy.array([3.0, 1.0, -1.0, 0.5]) > 1).astype(int)
    with collective.CommunicatorContext(
        dmlc_communicator="rabit",
        dmlc_tracker_uri=address,
        dmlc_tracker_port=port,
        dmlc_task_id=str(rank),
        dmlc_retry=30,  # while images may still be on their way to a node
        dmlc_timeout=300,
    ):
        print(f"rank {collective.get_rank()} of {collective.get_world_size()}", flush=True)
        together = digest(inputs[rank::world], targets[rank::world])
    if tracker is not None:
        tracker.wait_for(60)
    alone = digest(inputs, targets)
    print(f"model {together}, of one process {alone}", flush=True)
    if together != alone:
        raise SystemExit("the models differ")


def known(name: str) -> None:
    """Wait until a name is known: XGBoost looks it up once, and one of a pod takes a moment to come."""
    for _ in range(120):
        with contextlib.suppress(socket.gaierror):
            socket.getaddrinfo(name, None)
            return
        time.sleep(0.5)


def digest(inputs: object, targets: object) -> str:
    """Of the whole model as JSON."""
    model = xgboost.train(PARAMETERS, xgboost.DMatrix(inputs, targets), ROUNDS)
    return hashlib.sha256(model.save_raw("json")).hexdigest()[:16]


if __name__ == "__main__":
    main()
