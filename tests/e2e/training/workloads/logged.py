"""A training that logs one curve the way TensorBoard reads it, and then waits until it is released."""

import os
import time
from pathlib import Path

from tensorboard.compat.proto.event_pb2 import Event  # type: ignore[import-not-found]
from tensorboard.compat.proto.summary_pb2 import Summary  # type: ignore[import-not-found]
from tensorboard.summary.writer.event_file_writer import EventFileWriter  # type: ignore[import-not-found]

from tests.e2e.training.workloads.pace import RELEASE

checkpoints = Path(os.environ["CHECKPOINTS"])
writer = EventFileWriter(str(checkpoints / "logs"))
for step in range(10):
    summary = Summary(value=[Summary.Value(tag="loss", simple_value=1 / (step + 1))])
    writer.add_event(Event(wall_time=time.time(), step=step, summary=summary))
writer.close()
print("logged", flush=True)
while not (checkpoints / RELEASE).exists():
    time.sleep(0.2)
