"""Learn to read digits that are drawn badly, in as many processes as there are; rank 0 leaves the model behind."""

import os
from pathlib import Path

import torch
from digits import SHAPES
from network import network, tensor
from torch import distributed
from torch.nn.functional import cross_entropy
from torch.nn.parallel import DistributedDataParallel

STEPS, BATCH = 300, 64


def main() -> None:
    distributed.init_process_group("gloo")  # finds the others by MASTER_ADDR, RANK and WORLD_SIZE
    rank, world = distributed.get_rank(), distributed.get_world_size()
    print(f"rank {rank} of {world}", flush=True)

    generator = torch.Generator().manual_seed(rank)  # each process draws digits of its own
    shapes = torch.stack([tensor(shape) for shape in SHAPES])
    model = DistributedDataParallel(network())
    optimizer = torch.optim.Adam(model.parameters(), lr=0.01)
    for step in range(1, STEPS + 1):
        labels = torch.randint(10, (BATCH,), generator=generator)
        noise = torch.rand(BATCH, shapes.shape[1], generator=generator) < 0.08
        loss = cross_entropy(model((shapes[labels] - noise.float()).abs()), labels)
        optimizer.zero_grad()
        loss.backward()  # gradients are averaged over all processes here
        optimizer.step()
        if step % 100 == 0:
            print(f"step {step}: loss {loss.item():.3f}", flush=True)

    if rank == 0:
        place = Path(os.environ["KUBEDL_MODEL_PATH"]) / "digits.pt"
        torch.save(model.module.state_dict(), place)
        print(f"wrote {place}", flush=True)
    distributed.barrier()
    distributed.destroy_process_group()


if __name__ == "__main__":
    main()
