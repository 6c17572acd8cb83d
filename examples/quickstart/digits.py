"""The shapes of the digits, and a drawing as numbers: what training and serving share."""

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


def points(drawing: str) -> list[float]:
    """A drawing of dots and hashes as numbers."""
    lines = [line.ljust(COLUMNS, ".")[:COLUMNS] for line in drawing.split()][:ROWS]
    lines += ["." * COLUMNS] * (ROWS - len(lines))
    return [float(sign == "#") for line in lines for sign in line]
