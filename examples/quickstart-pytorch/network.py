"""The network, and a drawing as a tensor: what training and serving share."""

import torch
from digits import COLUMNS, ROWS, points


def network() -> torch.nn.Module:
    """Thirty-five points in, ten digits out."""
    return torch.nn.Sequential(torch.nn.Linear(ROWS * COLUMNS, 64), torch.nn.ReLU(), torch.nn.Linear(64, 10))


def tensor(drawing: str) -> torch.Tensor:
    """A drawing of dots and hashes as numbers."""
    return torch.tensor(points(drawing))
