"""Linear regression with DistributedDataParallel over gloo; the same file runs directly and below torchrun.

Only rank 0 reads and writes checkpoints; the others hear from it, so ranks never disagree about the step.
"""

import faulthandler
import os
from datetime import timedelta
from pathlib import Path

import torch  # type: ignore[import-not-found]
from torch import distributed
from torch.nn.parallel import DistributedDataParallel  # type: ignore[import-not-found]

from tests.e2e.training.workloads.pace import Pace

TRUE_WEIGHTS = [[1.0], [-2.0], [3.0]]
TRUE_BIAS = 0.5
# Long enough for a slow machine, short enough that who lost a peer without a word fails soon.
COLLECTIVE_TIMEOUT = timedelta(seconds=20)
# Leaving takes a second. Who hangs there says in its log in which line: gloo's own stacks are lost with the pod.
LEAVING_SECONDS = 60


def main(kind: "type[Training] | None" = None) -> None:
    # Everybody is waited for with torch's own patience: images may still be on their way to a node.
    distributed.init_process_group("gloo")
    rank, world = distributed.get_rank(), distributed.get_world_size()
    print(f"rank {rank} of {world} meets at {os.environ['MASTER_ADDR']}", flush=True)
    training = (kind or Training)(Pace.from_environment(), rank, world)
    training.resume()
    while training.goes_on():
        training.step()
    training.conclude()
    faulthandler.dump_traceback_later(LEAVING_SECONDS)
    distributed.barrier()
    distributed.destroy_process_group()


class Training:
    """One rank's part of the training."""

    def __init__(self, pace: Pace, rank: int, world: int) -> None:
        self._pace, self._rank, self._world = pace, rank, world
        self._checkpoint = pace.directory / "ddp.pt"
        self._group = distributed.new_group(timeout=COLLECTIVE_TIMEOUT)
        inputs = torch.randn(64, 3, generator=torch.Generator().manual_seed(1))
        targets = inputs @ torch.tensor(TRUE_WEIGHTS) + TRUE_BIAS
        self._inputs, self._targets = inputs[rank::world], targets[rank::world]
        self._linear = torch.nn.Linear(3, 1)
        torch.nn.init.zeros_(self._linear.weight)
        torch.nn.init.zeros_(self._linear.bias)
        self.done = 0
        self._first_loss = self._loss = float("inf")

    def resume(self) -> None:
        """Go on where rank 0's last checkpoint ends."""
        if self._rank == 0 and self._checkpoint.exists():
            saved = torch.load(self._checkpoint, weights_only=True)
            self.done, self._first_loss = saved["done"], saved["first_loss"]
            self._linear.load_state_dict(saved["linear"])
        state = torch.tensor([float(self.done), self._first_loss], dtype=torch.float64)
        distributed.broadcast(state, src=0, group=self._group)
        self.done, self._first_loss = int(state[0].item()), state[1].item()
        print(f"resumed at step {self.done}" if self.done else "started at step 0", flush=True)
        self._optimizer = torch.optim.SGD(self._linear.parameters(), lr=0.2)
        # The first optimizer makes torch load half of itself: who is late with that is waited for patiently.
        distributed.barrier()
        # Its construction hands rank 0's weights to all.
        self._model = DistributedDataParallel(self._linear, process_group=self._group)

    def goes_on(self) -> bool:
        """What rank 0 says."""
        answer = torch.tensor([int(self._rank == 0 and self._pace.goes_on(self.done))])
        distributed.broadcast(answer, src=0, group=self._group)
        return bool(answer.item())

    def step(self) -> None:
        self._optimizer.zero_grad()
        loss = torch.nn.functional.mse_loss(self._model(self._inputs), self._targets)
        loss.backward()
        self._optimizer.step()
        mean = loss.detach().clone()
        distributed.all_reduce(mean, group=self._group)
        self._loss = mean.item() / self._world
        self.done += 1
        if self.done == 1:
            self._first_loss = self._loss
        print(f"step {self.done} loss {self._loss:.9f}", flush=True)
        if self._rank == 0:
            self.save()
        self._pace.rest()

    def conclude(self) -> None:
        """Fail unless the loss fell."""
        weights = [round(weight, 3) for weight in self._linear.weight[0].tolist()]
        print(
            f"finished after step {self.done}: loss {self._first_loss:.6f} -> {self._loss:.9f}, "
            f"weights {weights}, bias {self._linear.bias.item():.3f}",
            flush=True,
        )
        if not self._loss < self._first_loss / 100:
            raise SystemExit("the loss did not fall")

    def save(self) -> None:
        """Write a checkpoint; called in rank 0 after each step."""
        state = {"done": self.done, "first_loss": self._first_loss, "linear": self._linear.state_dict()}
        unfinished = Path(f"{self._checkpoint}.unfinished")
        torch.save(state, unfinished)
        unfinished.replace(self._checkpoint)  # whoever dies now leaves a whole checkpoint
        self._pace.saved(self.done)


if __name__ == "__main__":
    main()
