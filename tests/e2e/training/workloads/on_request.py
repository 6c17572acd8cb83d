"""The training of ddp.py, which saves when it is asked and never else: what was not saved then is lost."""

from training_runtime import Checkpoints  # type: ignore[import-not-found]  # copied beside this file

from tests.e2e.training.workloads.ddp import Training, main
from tests.e2e.training.workloads.pace import Pace


class AskedTraining(Training):
    """Rank 0 answers the operator."""

    def __init__(self, pace: Pace, rank: int, world: int) -> None:
        super().__init__(pace, rank, world)
        self._checkpoints = Checkpoints() if rank == 0 else None

    def save(self) -> None:
        """Save if somebody waits for it; called in rank 0 after each step."""
        if self._checkpoints is None:
            return
        self._checkpoints.reached(self.done)
        if self._checkpoints.wanted():
            super().save()
            self._checkpoints.saved(self.done)


if __name__ == "__main__":
    main(AskedTraining)
