"""Fits a line in any number of processes, which may change meanwhile: `torchrun train.py --checkpoints=DIRECTORY`.

Rank 0 saves every 1,000 steps and when somebody asks for it; every start continues from what was saved last.
"""

import argparse
from pathlib import Path

import torch
from torch import distributed
from torch.nn.parallel import DistributedDataParallel

from kubedl.training_runtime import Checkpoints

BATCH = 64  # of all processes together, so that the result does not depend on their number
EVERY = 1_000  # steps


def save(file: Path, step: int, model: torch.nn.Module) -> None:
    """Write a checkpoint that is there as a whole or not at all."""
    new = file.with_suffix(".new")
    torch.save({"step": step, "model": model.state_dict()}, new)
    new.replace(file)


def load(file: Path, model: torch.nn.Module) -> int:
    """Continue where rank 0 says; DistributedDataParallel gives its weights to the others. Plain SGD has no state."""
    step = torch.zeros(1, dtype=torch.int64)
    if distributed.get_rank() == 0 and file.exists():
        saved = torch.load(file, weights_only=True)
        model.load_state_dict(saved["model"])
        step[0] = saved["step"]
    distributed.broadcast(step, src=0)
    return int(step.item())


def main() -> None:
    """Train to the end."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--checkpoints", type=Path, required=True)
    parser.add_argument("--steps", type=int, default=100_000)
    words = parser.parse_args()
    distributed.init_process_group("gloo")
    rank, size = distributed.get_rank(), distributed.get_world_size()
    file, line = words.checkpoints / "state.pt", torch.nn.Linear(1, 1)
    step = load(file, line)
    model = DistributedDataParallel(line)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
    print(f"rank {rank} of {size} starts at step {step}")
    checkpoints = Checkpoints(words.steps) if rank == 0 else None
    while step < words.steps:
        inputs = torch.rand(max(BATCH // size, 1), 1)
        optimizer.zero_grad()
        torch.nn.functional.mse_loss(model(inputs), 3 * inputs + 1).backward()
        optimizer.step()
        step += 1
        if checkpoints is not None:  # the others wait for rank 0 in their next step
            checkpoints.reached(step)
            if checkpoints.wanted() or step % EVERY == 0:
                save(file, step, line)
                checkpoints.saved(step)
    if checkpoints is not None:
        save(file, step, line)
        checkpoints.close()
    distributed.destroy_process_group()


if __name__ == "__main__":
    main()
