"""What training and serving share: the shapes of the digits, and the network that tells them apart."""

import torch

ROWS, COLUMNS = 7, 5
SHAPES = (
    ".###. #...# #..## #.#.# ##..# #...# .###.",
    "..#.. .##.. ..#.. ..#.. ..#.. ..#.. .###.",
    ".###. #...# ....# ...#. ..#.. .#... #####",
    "##### ...#. ..#.. ...#. ....# #...# .###.",
    "...#. ..##. .#.#. #..#. ##### ...#. ...#.",
    "##### #.... ####. ....# ....# #...# .###.",
    "..##. .#... #.... ####. #...# #...# .###.",
    "##### ....# ...#. ..#.. .#... .#... .#...",
    ".###. #...# #...# .###. #...# #...# .###.",
    ".###. #...# #...# .#### ....# ...#. .##..",
)


def network() -> torch.nn.Module:
    """Thirty-five points in, ten digits out."""
    return torch.nn.Sequential(torch.nn.Linear(ROWS * COLUMNS, 64), torch.nn.ReLU(), torch.nn.Linear(64, 10))


def points(drawing: str) -> torch.Tensor:
    """A drawing of dots and hashes as numbers."""
    lines = [line.ljust(COLUMNS, ".")[:COLUMNS] for line in drawing.split()][:ROWS]
    lines += ["." * COLUMNS] * (ROWS - len(lines))
    return torch.tensor([float(sign == "#") for line in lines for sign in line])
