"""How long a training runs, and where it keeps its checkpoints; told by the environment.

A held training goes on after its steps until the test puts the file `release` beside the checkpoints.
So a test breaks something in the middle, waits for the repair as long as that takes, and then lets
the job end: no race between the fault and the last step.
"""

import os
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Self

RELEASE = "release"
PROGRESS = "progress"
FAIL = "fail"  # a file that makes one run fail, with this code
FAILURE = 7


@dataclass(frozen=True)
class Pace:
    """The knobs of one training."""

    steps: int
    step_seconds: float
    held: bool
    directory: Path

    @classmethod
    def from_environment(cls) -> Self:
        return cls(
            steps=int(os.environ.get("STEPS", "20")),
            step_seconds=float(os.environ.get("STEP_SECONDS", "0")),
            held=os.environ.get("HELD", "") == "yes",
            directory=Path(os.environ["CHECKPOINTS"]),
        )

    def goes_on(self, done: int) -> bool:
        """Whether another step is to be made. One replica asks and tells the others: they would not agree."""
        return done < self.steps or (self.held and not (self.directory / RELEASE).exists())

    def saved(self, done: int) -> None:
        """Tell the test how far the last whole checkpoint reaches."""
        unfinished = self.directory / f"{PROGRESS}.unfinished"
        unfinished.write_text(str(done))
        unfinished.replace(self.directory / PROGRESS)

    def rest(self) -> None:
        """Make a step last as long as the test wants."""
        time.sleep(self.step_seconds)
